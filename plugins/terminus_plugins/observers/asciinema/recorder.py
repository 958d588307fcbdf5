"""What is recorded when: between the session's events, the run's markers and the file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import Marker, ParseResult, Run, SessionEvent, hookimpl
from terminus_plugins.observers.asciinema.cast_file import CastFile

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDING_FILE = "recording.cast"
PLAN_CHARACTERS = 60
TITLE_CHARACTERS = 200


class AsciinemaConfig(BaseModel):
    """Settings of the recorder, ``[observer.asciinema]``."""

    model_config = ConfigDict(extra="forbid")

    format: Literal[2, 3] = Field(2, description="asciicast format of the file; asciinema 2 plays only 2")
    input: bool = Field(default=False, description="record what is typed too; it can hold secrets")
    max_bytes: int = Field(100_000_000, ge=1000, description="size at which the recording stops")
    idle_time_limit: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="seconds to which players shorten a pause"
    )


class AsciinemaObserver:
    """Records the terminal into ``recording.cast`` of the run's folder, as it happens, with the run's markers.

    It listens to the session's own bytes: nothing is installed or written where the agent works. All that happened
    before a step is in the file when the step has been recorded, and everything else 0.2 seconds later at most; with
    ``redact``, what may be the beginning of a secret waits for more.
    """

    name: ClassVar[str] = "asciinema"
    Config: ClassVar[type[BaseModel]] = AsciinemaConfig

    def __init__(self, config: AsciinemaConfig | None = None) -> None:
        self._config = config or AsciinemaConfig()
        self._file: CastFile | None = None
        self._begun = False
        self._unlisten: Callable[[], None] | None = None
        self._plan = ""
        self._columns = 80
        self._redact: Callable[[str], str]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._unlisten is not None:
            self._unlisten()
        if self._file is not None:
            self._file.close()

    # -- events ----------------------------------------------------------------------------------------------

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Open the file and listen to the terminal."""
        self._begin(run)

    @hookimpl
    def terminus_response_received(self, reply: ParseResult) -> None:
        """Keep the plan for the marker of this episode."""
        self._plan = _first_words(reply.plan or reply.analysis, PLAN_CHARACTERS)

    @hookimpl
    def terminus_record_marker(self, run: Run, marker: Marker) -> None:
        """Write the marker; an episode's says what it is about."""
        self._begin(run)
        label = marker.label
        if marker.kind == "episode" and self._plan:
            label = f"{label} \N{MIDDLE DOT} {self._plan}"
        if self._file is not None:
            self._file.event(time.monotonic(), "m", label)

    @hookimpl
    def terminus_step_recorded(self) -> None:
        """What belongs to a step on disk is on disk too."""
        if self._file is not None:
            self._file.flush()

    # -- the terminal ----------------------------------------------------------------------------------------

    def _begin(self, run: Run) -> None:
        """Once, at the first event: whoever is told of the start before us may set a marker."""
        if self._begun or run.session is None:
            return
        self._begun = True
        self._redact = run.redact
        header: dict[str, object] = {"title": _first_words(run.redact(run.instruction), TITLE_CHARACTERS)}
        if self._config.idle_time_limit is not None:
            header["idle_time_limit"] = self._config.idle_time_limit
        path = run.logs_dir / RECORDING_FILE
        self._file = CastFile(
            path,
            version=self._config.format,
            max_bytes=self._config.max_bytes,
            header=header,
            redact=run.redact if run.hooks.redacts else None,
        )
        run.files.append(path)
        self._unlisten = run.session.listen(self._on_session_event)

    def _on_session_event(self, event: SessionEvent) -> None:
        file = self._file
        if file is None:
            return
        if event.kind == "output":
            file.output(event.time, cast("bytes", event.data))
        elif event.kind == "screen":
            file.screen(event.time, cast("bytes", event.data), self._columns)
        elif event.kind == "resize":
            self._columns, rows = cast("tuple[int, int]", event.data)
            file.resize(event.time, self._columns, rows)
        elif event.kind == "gap":
            file.cut_output()
            file.event(event.time, "m", f"Connection gap: {event.data!s}")
        elif self._config.input:
            file.event(event.time, "i", self._redact(cast("bytes", event.data).decode("utf-8", "replace")))


def _first_words(text: str, length: int) -> str:
    """The beginning of ``text`` on one line, cut between words where that is possible."""
    line = " ".join(text[: 4 * length].split())
    if len(line) <= length:
        return line
    head = line[:length]
    return (head.rpartition(" ")[0] or head) + "\N{HORIZONTAL ELLIPSIS}"
