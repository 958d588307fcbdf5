"""The channel of an environment that has no byte streams: each round with tmux is one ``exec``.

Command lists are kept until an answer is wanted or a wait begins; then all of them, the wait, and the look that will
be asked for next go in one shell command line. The wait ends inside it, where the shell tells that it is at its prompt.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import anyio
from anyio import to_thread

from terminus_core import EnvironmentFailedError, SessionClosedError
from terminus_plugins.sessions.tmux.channel import Channel, Foresight, Goal, Request
from terminus_plugins.sessions.tmux.exec_script import Round, RoundScript, Step
from terminus_plugins.sessions.tmux.path_marks import PathMarks
from terminus_plugins.sessions.tmux.protocol import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from terminus_core import Environment
    from terminus_plugins.sessions.tmux.shell import Place

LONGEST_LINE = 32_000
"""Characters of command lists in one command line; more go as a file: no argument may have more than 128 kB."""
LONGEST_WAIT_SEC = 60.0
"""Of one ``exec``; a longer wait takes several."""


class ExecRequest(Request):
    """A command list that is sent when its answer is wanted.

    Attributes:
        begun: tmux has begun to run it.
        dropped: the round failed or was cancelled, which its sender has been told: it may have been run, and no
            answer will come.
    """

    __slots__ = ("_flush", "begun", "dropped")

    def __init__(
        self, expected: int, then: Callable[[Sequence[Reply]], None] | None, flush: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(expected, then)
        self.begun = self.dropped = False
        self._flush = flush

    async def wait(self) -> list[Reply]:
        """See :class:`Request`."""
        if not self.finished:
            await self._flush()
            if self.dropped:
                raise TimeoutError("the round with tmux was given up")
        return [] if self.dropped else self.result()

    def drop(self) -> None:
        """Give it up."""
        self.dropped = self.finished = True


class ExecChannel(Channel):
    """Carries command lists by ``exec``.

    Args:
        environment: where tmux is.
        place: where its server is.
        user: whose tmux it is.
        answer_timeout: see :class:`Channel`.
        on_marks: called when anything has changed since the last round, with what the shell has said about itself,
            its exit status (``""``: it lives), and the seconds that have passed since the newest change.
        on_end: called when the server is found gone.
    """

    streams = False

    def __init__(  # noqa: PLR0913 - what it speaks through, and whom it tells
        self,
        environment: Environment,
        place: Place,
        *,
        user: str | None,
        answer_timeout: float,
        on_marks: Callable[[bytes, str, float], None],
        on_end: Callable[[], None],
    ) -> None:
        self.answer_timeout = answer_timeout
        self.ended: Literal["exit", "lost"] | None = None
        self._environment = environment
        self._place = place
        self._user = user
        self._on_marks = on_marks
        self._on_end = on_end
        self._marks = PathMarks()
        self._state = ";0;0;0;"
        self._steps: list[Step] = []
        self._foresight: Foresight | None = None
        self._look: list[Reply] | None = None
        self._lock = anyio.Lock()

    def post(
        self,
        *commands: str,
        then: Callable[[Sequence[Reply]], None] | None = None,
        once: bool = False,  # noqa: ARG002 - no list is ever sent again
        soon: bool = False,  # noqa: ARG002 - all of them go with the next
    ) -> ExecRequest:
        """See :class:`Channel`. Nothing is sent before somebody wants an answer, or waits."""
        request = ExecRequest(len(commands), then, self._flush)
        self._look = None
        if self.ended is not None:
            request.fail(_closed())
            return request
        if not self._steps or self._steps[-1].seconds > 0:
            self._steps.append(Step())
        self._steps[-1].lists.append((commands, request))
        return request

    def foresee(self, look: Foresight) -> None:
        """See :class:`Channel`."""
        self._foresight = look

    def foreseen(self) -> list[Reply] | None:
        """See :class:`Channel`."""
        look, self._look = self._look, None
        return look

    def defer(self, seconds: float, goal: Goal | None) -> bool:
        """See :class:`Channel`."""
        if sum(step.seconds for step in self._steps) + seconds > LONGEST_WAIT_SEC:
            return False
        self._wait(seconds, goal)
        return True

    async def sleep(self, seconds: float, changed: anyio.Event, goal: Goal | None) -> None:
        """See :class:`Channel`."""
        if not changed.is_set() and seconds > 0:
            self._wait(min(seconds, LONGEST_WAIT_SEC), goal)
            await self._flush()

    def _wait(self, seconds: float, goal: Goal | None) -> None:
        if not self._steps or self._steps[-1].seconds > 0:
            self._steps.append(Step())
        self._steps[-1].seconds, self._steps[-1].goal = seconds, goal

    # -- a round -------------------------------------------------------------------------------------------------------

    async def _flush(self) -> None:
        """Send what is waiting to be sent.

        Raises:
            TimeoutError, EnvironmentFailedError: tmux or the environment does not answer.
        """
        async with self._lock:
            steps, self._steps = self._steps, []
            if not steps:
                return
            requests = [request for step in steps for _, request in step.lists]
            try:
                told, noise = await self._round(steps)
            except BaseException:
                for request in requests:
                    request.drop()
                raise
            self._take(told, noise, [request for request in requests if not request.finished])

    def _take(self, told: Round, noise: str, unanswered: list[ExecRequest]) -> None:
        """Tell what came back, beside the answers."""
        for request in unanswered:
            if request.begun and not told.gone:
                request.add(Reply(ok=False, lines=[noise.encode()]))
            else:
                request.fail(_closed())
        if told.gone:
            self.ended = "exit"
            self._on_end()
        elif told.state is not None and told.state != self._state:
            self._state = told.state
            ended, _, _, _, path = told.state.split(";", 4)
            self._on_marks(self._marks.take(path), ended, told.quiet)

    async def _round(self, steps: list[Step]) -> tuple[Round, str]:
        """One exec; gives what came back, and the words of an error."""
        mark = secrets.token_hex(8)
        script = RoundScript(
            self._place,
            mark,
            state=self._state,
            path=self._marks.path,
            number=self._marks.number,
        )
        waits = sum(step.seconds for step in steps)
        for step in steps:
            lines = script.lines(step)
            script.add(step, lines, await self._upload(lines) if len(lines) > LONGEST_LINE else "")
        command = script.finish(self._foresight if waits else None)
        try:
            result = await self._environment.exec(command, user=self._user, timeout_sec=waits + self.answer_timeout)
        except TimeoutError as error:
            raise TimeoutError(f"tmux has not answered for {self.answer_timeout:g} seconds") from error
        told = script.read(result.stdout)
        noise = told.noise or result.stderr.strip()
        if not told.begun:
            why = noise or f"status {result.return_code}"
            raise EnvironmentFailedError(f"the environment does not run commands any more: {why}")
        self._look = told.look if waits and told.look else None
        return told, noise

    async def _upload(self, lines: str) -> str:
        """Put long command lists into the private folder."""
        target = f"{self._place.folder}/{secrets.token_hex(8)}"
        with TemporaryDirectory(prefix="terminus-") as folder:
            source = Path(folder, "lists")
            await to_thread.run_sync(_write, source, lines)
            await self._environment.upload_file(source, target)
        return target


def _closed() -> SessionClosedError:
    return SessionClosedError("the terminal session has ended")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")
    path.chmod(0o644)  # whose tmux it is may be another user; the folders on both sides are private
