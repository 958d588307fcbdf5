"""Where the program starts: ``python -m terminus_core`` is the command ``terminus``."""

import _signal  # type: ignore[import-not-found]  # `signal` itself takes a moment to import

_IS_HEEDED = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
if _IS_HEEDED:
    # While modules are imported, and at the very end, Ctrl-C ends the program as it ends any other: no traceback.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import os  # noqa: E402 - see above
import sys  # noqa: E402


def main() -> int:
    """Run the command line and give its exit code."""
    # Python puts the working folder first: what lies there must not pass for an installed distribution.
    if __name__ == "__main__" and not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 - light
        del sys.path[0]
    from terminus_core.cli import main as run  # noqa: PLC0415 - as above

    code = run()
    if _IS_HEEDED:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    return code


if __name__ == "__main__":
    sys.exit(main())
