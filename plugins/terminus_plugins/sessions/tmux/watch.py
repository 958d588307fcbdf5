"""Watching a shell: when it is ready, when a command has ended, when it is gone."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import anyio

from terminus_core import EnvironmentFailedError, SessionClosedError
from terminus_plugins.sessions.tmux.channel import Goal
from terminus_plugins.sessions.tmux.prompt import PromptState
from terminus_plugins.sessions.tmux.shell import KEEPERS

if TYPE_CHECKING:
    from terminus_plugins.sessions.tmux.config import TmuxConfig
    from terminus_plugins.sessions.tmux.keys import Keys
    from terminus_plugins.sessions.tmux.pane import Pane

SETTLE_SEC = 0.1
"""Quiet after a prompt that ends a wait, where the marks alone cannot tell (several lines, keys for a program)."""
QUIET_SEC = 2.0
"""Quiet after which a shell without marks counts as ready."""
PROMPT_QUIET_SEC = 0.5
"""The same, if it shows something that may be a prompt."""
SILENT_BASH_SEC = 5.0
"""The same for a bash, whose start-up files may have silenced the marks, or may just be slow."""
POLL_SEC = 0.05
"""How often a shell without marks is asked whether it is back."""


class ShellWatch:
    """Follows the shell in a pane.

    Attributes:
        prompt: what the shell has said about itself.
        dead: the shell has ended, and tmux has confirmed it.
        home: name of the shell's program, as tmux tells it.
        is_blind: marks may be missing since the last one.
    """

    def __init__(self, pane: Pane, config: TmuxConfig, token: str) -> None:
        self.prompt = PromptState(token)
        self.dead = False
        self._unconfirmed = False
        self.home = ""
        self.is_blind = False
        self._pane = pane
        self._config = config
        self._spoke = False
        self._last_output = time.monotonic()
        self._changed: anyio.Event | None = None  # for whoever sleeps

    def restart(self, token: str) -> None:
        """Another shell has been started, whose end mark carries ``token``."""
        self.prompt.restart(token)
        self.dead = False
        self._unconfirmed = False
        self._spoke = False
        self._last_output = time.monotonic()

    def wrote(self, ago: float = 0.0) -> None:
        """Something was written to the pane, ``ago`` seconds before now."""
        self._last_output = time.monotonic() - ago
        if not self._spoke:
            self._spoke = True
            self.on_change()

    def told(self) -> None:
        """The shell has said something about itself."""
        self.is_blind = False
        self.on_change()

    def gap(self) -> None:
        """Output may be missing from here on."""
        self.is_blind = True
        self._last_output = time.monotonic()
        self.on_change()

    def on_change(self) -> None:
        """Wake whoever waits for something to happen."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def is_over(self) -> bool:
        """Whether the shell or tmux is gone, as far as has been told.

        An end mark counts when tmux confirms it: only the keeper, which starts right after the mark, runs in the pane.
        """
        if self.dead or self._pane.channel.ended:
            return True
        if self.prompt.end_status is None:
            return False
        for attempt in range(1 if self._unconfirmed else 6):
            if await self._pane.tell("#{pane_current_command}") in KEEPERS:
                self.dead = True
                return True
            await anyio.sleep(0.01 * 2**attempt)
        self._unconfirmed = True  # something else still runs in the pane: asked again with the next call
        return False

    # -- waits ---------------------------------------------------------------------------------------------------------

    async def wait(self, seconds: float, goal: Goal | None = None) -> bool:
        """Wait at most ``seconds``; ``True`` if the goal (see :meth:`end_of`) or the session's end came before."""
        deadline = time.monotonic() + seconds
        while not await self.is_over():
            pause = self._pause(goal) if goal else math.inf
            if pause <= 0:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            await self._sleep(min(left, pause), goal)
        return True

    async def wait_for_end(self, keys: Keys, seconds: float, *, was_idle: bool) -> bool:
        """Wait at most ``seconds`` for the end of the command that was typed; ``True`` if it has ended."""
        started = time.monotonic()
        goal = self.end_of(keys, was_idle=was_idle, jobs=False)
        home_since = math.inf
        while (now := time.monotonic()) - started < seconds and not await self.is_over():
            pause = POLL_SEC
            if self.prompt.shell is not None and not self.is_blind:
                pause = self._pause(goal)
                if pause <= 0:
                    return True
            # A shell that does not tell: in the foreground again, and quiet; not just between two programs of one line.
            elif now - max(started, self._last_output) < SETTLE_SEC or not await self._is_home():
                home_since = math.inf
            elif (home_since := min(home_since, now)) <= now - SETTLE_SEC:
                return True
            await self._sleep(min(pause, started + seconds - now), goal)
        return await self.is_over()

    async def _is_home(self) -> bool:
        """Whether the shell itself is in the foreground."""
        return await self._pane.tell("#{pane_current_command}") == self.home

    def end_of(self, keys: Keys, *, was_idle: bool, jobs: bool) -> Goal:
        """The end of what was typed, as a goal of a wait.

        Args:
            keys: what was typed.
            was_idle: whether the shell was at its prompt then.
            jobs: whether a background job keeps a wait from ending.
        """
        prompts = keys.enters if was_idle and keys.plain else 0
        # Between two lines a shell that does not tell when it begins looks as if it had ended.
        quiet = self.prompt.begins or not keys.enters
        return Goal((self.prompt.shell or b"").decode(), prompts, jobs, quiet)

    def _pause(self, goal: Goal) -> float:
        """How long to wait until the goal may be reached: 0, it is."""
        prompt = self.prompt
        if not prompt.idle or (goal.jobs and prompt.jobs):
            return math.inf
        if 0 < goal.prompts <= prompt.prompts:
            return 0.0
        if not (goal.quiet or prompt.begins):
            return math.inf
        return self._last_output + SETTLE_SEC - time.monotonic()

    async def wait_until_ready(self) -> None:
        """Wait until the shell reads.

        Raises:
            EnvironmentFailedError: it does not, within ``start_timeout_sec``.
            SessionClosedError: it has ended.
        """
        started = time.monotonic()
        limit = self._config.start_timeout_sec
        while (left := started + limit - time.monotonic()) > 0:
            if await self.is_over():
                status = self.prompt.end_status
                told = "" if status is None else f" with status {status}"
                raise SessionClosedError(f"the shell ended{told} before it was ready")
            pause = await self._ready_in(time.monotonic() - max(self._last_output, started))
            if pause <= 0:
                self.home = await self._pane.tell("#{pane_current_command}")
                return
            await self._sleep(min(pause, left), Goal("", 1, jobs=False, quiet=True))
        raise EnvironmentFailedError(
            f"the shell showed no prompt within {limit:g} seconds: look at its start-up files, "
            "or raise start_timeout_sec in [session.tmux]"
        )

    async def _ready_in(self, quiet: float) -> float:
        """How long to wait until the shell may have shown that it reads: 0, it has."""
        if self.prompt.idle:
            return 0.0
        if self.prompt.reading:  # a line editor, whose prompt follows at once
            return SETTLE_SEC - quiet
        marks = self._config.expects_marks
        spoken = SILENT_BASH_SEC if marks else PROMPT_QUIET_SEC
        enough = spoken if self._spoke or marks else QUIET_SEC
        if quiet < enough or (quiet >= QUIET_SEC and not marks):
            return enough - quiet
        return POLL_SEC if await self._pane.tell("#{cursor_x}") == "0" else 0.0

    async def _sleep(self, seconds: float, goal: Goal | None = None) -> None:
        """Sleep until something changes, or for ``seconds``."""
        self._changed = self._changed or anyio.Event()
        await self._pane.channel.sleep(seconds, self._changed, goal)
