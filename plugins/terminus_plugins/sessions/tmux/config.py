"""Settings of the tmux session backend."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class TmuxConfig(BaseModel):
    """Settings: ``[session.tmux]``."""

    model_config = ConfigDict(extra="forbid")

    pane_width: int = Field(default=160, ge=2, le=10_000, description="columns of the terminal")
    pane_height: int = Field(default=40, ge=2, le=10_000, description="rows of the terminal")
    history_limit: int = Field(default=50_000, ge=100, description="rows that tmux keeps above the screen")
    max_rows: int = Field(default=5000, ge=100, description="new rows that one look gives at most: the newest")
    wait: Literal["prompt", "fixed"] = Field(
        default="prompt", description="prompt: back as soon as the shell is at its prompt; fixed: wait in full"
    )
    keep_sec: float = Field(
        default=0, ge=0, description="seconds that the terminal of an agent that was killed is left alone"
    )
    leave_running: bool = Field(
        default=False, description="leave the terminal and what runs in it when the run is over: background jobs too"
    )
    shell: str = Field(
        default="", description="command line of the shell; empty: bash --login, or sh -l where there is no bash"
    )
    tmux_path: str = Field(default="", description="tmux to use; empty: found on PATH and in the usual places")
    answer_timeout_sec: float = Field(default=30, gt=0, description="seconds until tmux counts as hanging")
    reconnect_timeout_sec: float = Field(
        default=60, ge=0, description="seconds that a lost connection to tmux may take to be repaired"
    )
    start_timeout_sec: float = Field(default=60, gt=0, description="seconds that the shell may take to start")

    @property
    def expects_marks(self) -> bool:
        """Whether the shell is a bash, which will tell when it is at its prompt."""
        return not self.shell or re.search(r"(?:^|[\s/])bash(?:\s|$)", self.shell) is not None
