"""``python -m terminus_core`` is the command ``terminus``."""

import os
import sys

if __name__ == "__main__":
    # Python puts the working folder first: what lies there must not pass for an installed distribution.
    if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 - pathlib is not needed otherwise
        del sys.path[0]
    from terminus_core.cli import main

    sys.exit(main())
