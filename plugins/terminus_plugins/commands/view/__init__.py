"""``terminus view``: what happened in a run, as a page to open in a browser."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from terminus_core import ConfigError
from terminus_core.cli import Lines


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[PATH]")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the page there.")
@click.option("--serve", is_flag=True, help="Serve the page on loopback instead: also for runs that are going on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port of --serve; a free one.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
def view(path: Path | None, output: Path | None, serve: bool, port: int, opens: bool) -> int:
    """Make a page of what happened in a run.

    PATH is a run's folder, any ATIF trajectory file, or a folder with runs: those become a table to pick from. Without
    it: the newest run. The page is one file that needs no network, by default report.html beside the run; its address
    is printed.
    """
    from terminus_core.cli import read_runs_dir  # noqa: PLC0415 - heavy
    from terminus_plugins.commands.view.runs import find_runs, newest_run  # noqa: PLC0415 - heavy

    target = path or newest_run(read_runs_dir())
    places = find_runs(target)
    if target.is_file():
        _refuse_other_files(target)
    if serve:
        return _serve(target, port, opens=opens)
    from terminus_plugins.commands.view.page import find_player, write_page  # noqa: PLC0415 - heavy

    lines = Lines(sys.stderr)
    page = (output or (target if target.is_dir() else target.parent) / "report.html").absolute()
    try:
        left_out = write_page(places, page, target.absolute().name)
    except OSError as error:
        raise ConfigError(f"cannot write {page}: {error.strerror or error}") from None
    for line in left_out:
        lines.write(line)
    if find_player() is None and any(place.recording for place in places):
        lines.write("recordings are not shown without the player: pip install 'terminus-agent[view]'")
    Lines(sys.stdout).write(str(page))
    if opens:
        _open(page.as_uri())
    return 0


def _refuse_other_files(path: Path) -> None:
    """A page without anything on it would be no answer."""
    from terminus_plugins.commands.common.documents import DocumentError, read_documents  # noqa: PLC0415 - heavy

    try:
        read_documents(path)
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None


def _serve(target: Path, port: int, *, opens: bool) -> int:
    from terminus_plugins.commands.view.server import ReportServer  # noqa: PLC0415 - heavy

    try:
        server = ReportServer(target, port)
    except OSError as error:
        raise ConfigError(f"cannot serve on port {port}: {error.strerror or error}") from None
    with server:
        Lines(sys.stdout).write(server.url)
        Lines(sys.stderr).write("serving until Ctrl-C; the address holds a secret, only you can open it")
        if opens:
            _open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _open(address: str) -> None:
    import webbrowser  # noqa: PLC0415 - not needed otherwise

    webbrowser.open(address)
