"""The settings of the LLM ``litellm``, checked before anything is asked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from .arguments import OWNED


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
    max_attempts: int = Field(3, ge=1, description="requests in all for one answer")
    collect_rollout_details: bool = Field(default=False, description="ask for token ids (vLLM) and log-probabilities")
    session_id: str | None = Field(
        None, description="sent along in the request's body, for servers that keep a session on one worker"
    )

    @field_validator("llm_kwargs", "llm_call_kwargs")
    @classmethod
    def _leave_ours(cls, kwargs: dict[str, Any]) -> dict[str, Any]:
        for name in sorted(OWNED.keys() & kwargs.keys()):
            raise ValueError(f"{name!r} may not stand here: it is {OWNED[name]}")
        return kwargs
