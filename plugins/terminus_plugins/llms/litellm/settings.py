"""The settings of the LLM ``litellm``, checked before anything is asked."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError, field_validator

from terminus_core import is_secret_name

from .arguments import OUTPUT_LIMITS, OWNED

_TOKENS = TypeAdapter(Annotated[int, Field(gt=0)])
_DOLLARS = TypeAdapter(Annotated[FiniteFloat, Field(ge=0)])
_TOKENS_NAME = re.compile(r"^max(_\w+)?_tokens$")
_PRICE_NAME = re.compile(r"_cost(_|$)")
_HEADERS = ("headers", "extra_headers")


class LiteLLMConfig(BaseModel):
    """Settings of ``[llm.litellm]``; keyword arguments go to ``litellm.completion`` as they are."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="as litellm names it, such as openai/gpt-5; mostly from [agent] model")
    api: Literal["chat", "responses"] = Field("chat", description="OpenAI's chat completions, or its Responses API")
    api_base: str | None = Field(None, description="URL of the server, such as http://localhost:8000/v1")
    temperature: float | None = Field(None, description="sampling temperature; unset: the provider's own")
    reasoning_effort: str | None = Field(None, description="how much to reason, in the provider's words")
    max_thinking_tokens: int | None = Field(
        None, gt=0, description="tokens that thinking may take, for providers that take such a budget"
    )
    model_info: dict[str, Any] = Field(
        {},
        description="what litellm does not know, by litellm's names: max_input_tokens, max_output_tokens, "
        "input_cost_per_token, output_cost_per_token, cache_read_input_token_cost (US dollars), supports_vision",
    )
    llm_kwargs: dict[str, Any] = Field(
        {}, description="keyword arguments for every call, such as api_key or extra_headers"
    )
    llm_call_kwargs: dict[str, Any] = Field(
        {}, description="more of them, which win over llm_kwargs; extra_body is merged"
    )
    timeout_sec: float = Field(600, gt=0, description="seconds until a request without an answer counts as failed")
    max_attempts: int = Field(3, ge=1, description="requests in all for one answer, if they fail")
    collect_rollout_details: bool = Field(default=False, description="ask for token ids (vLLM) and log-probabilities")
    session_id: str | None = Field(
        None, description="sent along in the request's body, for servers that keep a session on one worker"
    )

    @field_validator("llm_kwargs", "llm_call_kwargs")
    @classmethod
    def _check_kwargs(cls, kwargs: dict[str, Any]) -> dict[str, Any]:
        for name in sorted(OWNED.keys() & kwargs.keys()):
            raise ValueError(f"{name!r} may not stand here: it is {OWNED[name]}")
        if not isinstance(kwargs.get("extra_body"), dict | None):
            raise ValueError("'extra_body' must be a table")  # noqa: TRY004 - what pydantic makes an error of
        checked = _secrets_as_text(kwargs)
        for name in _HEADERS:
            if isinstance(kwargs.get(name), dict):
                checked[name] = _secrets_as_text(kwargs[name])
        for name in OUTPUT_LIMITS:
            if kwargs.get(name) is not None:
                checked[name] = _number(name, kwargs[name], _TOKENS)
        return checked

    @field_validator("model_info")
    @classmethod
    def _check_info(cls, info: dict[str, Any]) -> dict[str, Any]:
        checked = {name: value for name, value in info.items() if value is not None}
        for name, value in checked.items():
            if _TOKENS_NAME.search(name):
                checked[name] = _number(name, value, _TOKENS)
            elif _PRICE_NAME.search(name) and not isinstance(value, dict | list):
                checked[name] = _number(name, value, _DOLLARS)
        return checked


def _number(name: str, value: Any, kind: TypeAdapter[Any]) -> Any:
    """``value``, which may be a number as a text: YAML takes ``1e-6`` for one."""
    try:
        return kind.validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{name!r}: {error.errors()[0]['msg']}, not {value!r}") from None


def _secrets_as_text(values: dict[str, Any]) -> dict[str, Any]:
    """``values`` with keys made of digits alone as text: settings are read as numbers where they look like some."""
    return {
        name: str(value) if is_secret_name(name) and type(value) in {int, float} else value
        for name, value in values.items()
    }
