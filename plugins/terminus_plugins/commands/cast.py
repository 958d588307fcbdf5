"""``terminus cast``: work on recordings."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from terminus_core import ConfigError
from terminus_core.cli import Lines

_FILE = click.Path(path_type=Path)


@click.group()
def cast() -> None:
    """Work on recordings of the terminal (asciicast)."""


@cast.command()
@click.argument("file", type=_FILE)
@click.option("--trajectory", type=_FILE, required=True, metavar="FILE", help="The run's ATIF trajectory.")
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Write there instead of over the recording.")
@click.option("--offset", type=float, default=0.0, metavar="SEC", help="Seconds to add to each marker's time.")
def markers(file: Path, trajectory: Path, output: Path | None, offset: float) -> int:
    """Put a marker for each episode into a recording made elsewhere.

    Times come from the trajectory's timestamps and the recording's own; --offset corrects clocks that differ. Formats
    2 and 3. The recording is replaced only when the new one is whole.
    """
    from terminus_plugins.commands.common.cast_alignment import episode_markers  # noqa: PLC0415 - heavy
    from terminus_plugins.commands.common.cast_file import CastError, add_markers, read_cast  # noqa: PLC0415 - heavy
    from terminus_plugins.commands.common.coercion import number_or_none  # noqa: PLC0415 - heavy
    from terminus_plugins.commands.common.documents import DocumentError, read_steps  # noqa: PLC0415 - heavy

    if number_or_none(offset) is None:
        raise ConfigError(f"--offset {offset}: clocks do not differ by that")
    lines = Lines(sys.stderr)
    try:
        steps = read_steps(trajectory)
        recording = read_cast(file)
        started = recording.started
        if started is None:
            started = next((step["time"] for step in steps if step["time"] is not None), 0.0)
            lines.write(f"{file} does not say when it was made: taken as begun with the first step (see --offset)")
        found = episode_markers(steps, started - offset, recording.markers)
        n_added, warnings = add_markers(file, found, output)
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    except CastError as error:
        raise ConfigError(f"{file} is left as it was: {error}") from None
    except OSError as error:
        raise ConfigError(f"{error.filename or file}: {error.strerror or error}") from None
    for warning in warnings:
        lines.write(f"{file}: {warning}")
    Lines(sys.stdout).write(f"{output or file}: {n_added} {'marker' if n_added == 1 else 'markers'} added")
    return 0
