"""The LLM ``scripted``: replies from a list, a JSON Lines file, or a finished run; no key, no network.

One reply a line, an object with the fields of :class:`~terminus_core.LLMResponse`, all optional, or a bare text::

    {"content": "…", "usage": {"prompt_tokens": 812, "completion_tokens": 40}, "finish_reason": "stop"}
    {"error": "the provider is on fire"}
    {"error": "context_length_exceeded"}

An ``error`` line fails like a provider for good; ``context_length_exceeded`` (alone or as its first word) like one
whose window is too small. A run's folder is replayed from the ``replies.jsonl`` in it, up to its last whole line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from anyio.lowlevel import checkpoint
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from terminus_core import LLM, ConfigError, ContextLengthExceededError, LLMError, LLMResponse, Usage, hookimpl
from terminus_plugins.llms.common.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from terminus_core import LLMRequest, Message

REPLIES_FILE = "replies.jsonl"
_TOO_LONG = "context_length_exceeded"


class _Usage(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    cache_tokens: int | None = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str | None = ""
    reasoning_content: str | None = None
    model_name: str = ""
    usage: _Usage | None = None
    tool_calls: list[dict[str, Any]] | None = None
    finish_reason: str | None = "stop"
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] = {}
    error: str | None = None

    def response(self, model_name: str) -> LLMResponse:
        """What the run gets of it."""
        fields: dict[str, Any] = dict(self)
        del fields["error"]
        fields["content"] = self.content or ""
        fields["model_name"] = self.model_name or model_name
        fields["usage"] = Usage(**dict(self.usage)) if self.usage else None
        return LLMResponse(**fields)


class ScriptedLLM(LLM):
    """A model that says what it was told to say, reply by reply.

    Args:
        config: the settings of ``[llm.scripted]``, or just the replies: ``Agent(llm=ScriptedLLM(["…", "…"]))``.

    Raises:
        ConfigError: there are no replies, they cannot be read, or one is not a reply (the text says which).

    Attributes:
        knows_price: costs are those that the replies state.
    """

    name: ClassVar[str] = "scripted"

    class Config(BaseModel):
        """Settings."""

        model_config = ConfigDict(extra="forbid")

        replies: list[str | dict[str, Any]] | Path | None = Field(
            None, description="a JSON Lines file, a list of its lines' values, or a run's folder"
        )
        model: str = Field("scripted", description="the name that answers carry unless they bring their own")
        context_limit: int | None = Field(
            None, gt=0, description="tokens of the window that the run is to believe in; unset: unknown"
        )
        output_limit: int | None = Field(None, gt=0, description="tokens that one answer may have, likewise")
        supports_images: bool = Field(
            default=False, description="whether the run is to believe that images can be sent"
        )

    def __init__(self, config: Config | Iterable[str | dict[str, Any]]) -> None:
        if not isinstance(config, ScriptedLLM.Config):
            config = ScriptedLLM.Config(replies=list(config))
        if config.replies is None:
            raise ConfigError("llm 'scripted' needs replies: --set llm.scripted.replies=FILE")
        self.model_name = config.model
        self.context_limit = config.context_limit
        self.output_limit = config.output_limit
        self.knows_price = True
        self.supports_images = config.supports_images
        replies = [(each.error, each.response(config.model)) for each in _read(config.replies)]
        self._count = len(replies)
        self._next = iter(replies)

    async def call(self, request: LLMRequest) -> LLMResponse:
        """The next reply.

        Raises:
            ContextLengthExceededError: the script says so.
            LLMError: the script says so, or has no more replies.
        """
        request.on_attempt(1)
        await checkpoint()
        error, response = next(self._next, (f"the script has no more than {self._count} replies", None))
        if response is None or error is not None:
            kind = ContextLengthExceededError if str(error).startswith(_TOO_LONG) else LLMError
            raise kind(f"{self.model_name}: {error}")
        return response

    def count_tokens(self, messages: list[Message]) -> int:
        """An estimate from the texts' length."""
        return estimate_tokens(messages)


def _read(replies: list[str | dict[str, Any]] | Path) -> Iterator[_Reply]:
    if isinstance(replies, list):
        for number, value in enumerate(replies, 1):
            yield _reply(value, f"reply {number}")
        return
    path = replies.expanduser()
    is_run = path.is_dir()
    path = path / REPLIES_FILE if is_run else path
    try:
        data = path.read_bytes()
        text = (_whole_lines(data) if is_run else data).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"llm 'scripted': {path} cannot be read: {error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path}:{number}"
            try:
                value = json.loads(line)
            except ValueError as error:
                raise ConfigError(f"{where}: not JSON: {error}") from error
            yield _reply(value, where)


def _whole_lines(data: bytes) -> bytes:
    """Without the last line, if a run that was killed has not finished it."""
    whole, _, last = data.rpartition(b"\n")
    try:
        json.loads(last)
    except ValueError:
        return whole
    return data


def _reply(value: Any, where: str) -> _Reply:
    if isinstance(value, str):
        return _Reply(content=value)
    try:
        return _Reply.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{where}: not a reply: {f'{place}: ' if place else ''}{first['msg']}") from error


@hookimpl
def terminus_register_llms() -> list[type[LLM]]:
    """Bring ``scripted``."""
    return [ScriptedLLM]
