"""ATIF, the Agent Trajectory Interchange Format, version 1.8, as pydantic models.

The format is Harbor's RFC 0001 ("Agent Trajectory Interchange Format"). Field names and rules are the format's; a
document that these models accept is accepted by the package ``atif`` and by Harbor.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from mimetypes import guess_type
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

_AUDIO_ALIASES = {
    "audio/mp3": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
}
"""Other names of media types, read as the format's own."""


class _Record(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", protected_namespaces=())


class ImageSource(_Record):
    """An image stored beside the trajectory; ``path`` is relative to the document, absolute, or a URL."""

    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    path: str

    @classmethod
    def of(cls, url: str) -> ImageSource:
        """Where an image of a chat message lies: one that the message holds, in a file named after its content.

        Args:
            url: ``data:image/png;base64,…``, or an address, which stands for itself.

        Raises:
            ValueError: it is none of the format's media types.
        """
        if not url.startswith("data:"):
            return cls.model_validate({"media_type": guess_type(url)[0], "path": url})
        media_type, _, data = url.removeprefix("data:").partition(";base64,")
        digest = blake2b(data.encode(), digest_size=8).hexdigest()
        path = f"images/{digest}.{media_type.removeprefix('image/')}"
        return cls.model_validate({"media_type": media_type, "path": path})


class AudioSource(_Record):
    """A sound stored beside the trajectory (since v1.8)."""

    media_type: Literal[
        "audio/wav",
        "audio/mpeg",
        "audio/mp4",
        "audio/aac",
        "audio/ogg",
        "audio/flac",
        "audio/webm",
        "audio/aiff",
    ]
    path: str
    duration_sec: float | None = Field(default=None, ge=0)

    @field_validator("media_type", mode="before")
    @classmethod
    def _one_name_for_each_type(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        name = value.strip().lower()
        return _AUDIO_ALIASES.get(name, name)


class ContentPart(_Record):
    """One part of a message or of an observation (since v1.6)."""

    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: ImageSource | AudioSource | None = None

    @model_validator(mode="after")
    def _payload_fits_type(self) -> ContentPart:
        kinds: dict[str, type[Any]] = {"text": type(None), "image": ImageSource, "audio": AudioSource}
        wanted = kinds[self.type]
        if (self.text is not None) != (self.type == "text") or not isinstance(self.source, wanted):
            raise ValueError(
                f"a {self.type!r} part has {'`text`' if self.type == 'text' else 'a fitting `source`'} only"
            )
        return self


class ToolCall(_Record):
    """One thing that the agent asked for."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class SubagentTrajectoryRef(_Record):
    """A pointer at another document; at least one of ``trajectory_id`` and ``trajectory_path`` is set."""

    trajectory_id: str | None = None
    trajectory_path: str | None = None
    session_id: str | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _resolvable(self) -> SubagentTrajectoryRef:
        if self.trajectory_id is None and self.trajectory_path is None:
            raise ValueError("a subagent reference needs `trajectory_id` or `trajectory_path`")
        return self


class ObservationResult(_Record):
    """What came back from one call, or from all of a turn."""

    source_call_id: str | None = None
    content: str | list[ContentPart] | None = None
    subagent_trajectory_ref: list[SubagentTrajectoryRef] | None = None
    extra: dict[str, Any] | None = None


class Observation(_Record):
    """What the environment answered in a step."""

    results: list[ObservationResult]


class Metrics(_Record):
    """Tokens, cost and token ids of the model call of one step; what the provider did not give is absent."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class Step(_Record):
    """One record of a trajectory: a prompt, an event of the system, or one whole turn of the agent."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    message: str | list[ContentPart]
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    extra: dict[str, Any] | None = None
    llm_call_count: int | None = Field(default=None, ge=0)
    is_copied_context: bool | None = None

    @field_validator("timestamp")
    @classmethod
    def _iso_8601(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                datetime.fromisoformat(value.replace("Z", "+00:00"))  # noqa: FURB162 - refuses a Z elsewhere
            except ValueError:
                raise ValueError(f"timestamp must be ISO 8601, got {value!r}") from None
        return value

    @model_validator(mode="after")
    def _fields_fit_source(self) -> Step:
        agent_only = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")
        if self.source != "agent":
            for name in agent_only:
                if getattr(self, name) is not None:
                    raise ValueError(f"`{name}` belongs to steps of source 'agent', not {self.source!r}")
        elif self.llm_call_count == 0 and (self.metrics is not None or self.reasoning_content is not None):
            raise ValueError("`metrics` and `reasoning_content` are absent where `llm_call_count` is 0")
        return self

    @model_validator(mode="after")
    def _results_name_own_calls(self) -> Step:
        if self.observation is not None and self.tool_calls is not None:
            known = {call.tool_call_id for call in self.tool_calls}
            for result in self.observation.results:
                if result.source_call_id is not None and result.source_call_id not in known:
                    raise ValueError(
                        f"observation.results[*].source_call_id {result.source_call_id!r} names no tool call of step "
                        f"{self.step_id}"
                    )
        return self


class Agent(_Record):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class FinalMetrics(_Record):
    """Sums over a whole document."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class Trajectory(_Record):
    """A whole document."""

    VERSION: ClassVar[str] = "ATIF-v1.8"
    """The version that these models are, for ``schema_version``."""

    schema_version: str
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: list[Step]
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: dict[str, Any] | None = None
    subagent_trajectories: list[Trajectory] | None = None

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read a document.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not a valid trajectory; the text says why.
        """
        return cls.model_validate_json(Path(path).read_bytes())

    @model_validator(mode="after")
    def _steps_are_numbered(self) -> Trajectory:
        for number, step in enumerate(self.steps, start=1):
            if step.step_id != number:
                raise ValueError(f"steps[{number - 1}].step_id is {step.step_id}, {number} would be right")
        return self

    @model_validator(mode="after")
    def _totals_fit_steps(self) -> Trajectory:
        total = self.final_metrics.total_steps if self.final_metrics else None
        if total is not None and total != len(self.steps) and not self.notes:
            raise ValueError(f"final_metrics.total_steps is {total}, but there are {len(self.steps)} steps")
        return self

    @model_validator(mode="after")
    def _embedded_have_ids(self) -> Trajectory:
        ids = [each.trajectory_id for each in self.subagent_trajectories or []]
        if None in ids or len(ids) != len(set(ids)):
            raise ValueError("each of subagent_trajectories needs a `trajectory_id` of its own")
        return self
