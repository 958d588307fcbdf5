"""What is known of a model before it is asked: its provider, key, limits and price."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from terminus_core import ConfigError, LLMError

if TYPE_CHECKING:
    from terminus_core import Usage

    from .settings import LiteLLMConfig

_KEY_ENDINGS = ("_API_KEY", "_API_TOKEN")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for one token."""

    prompt: float
    completion: float
    cached: float

    def of(self, prompt: int, completion: int, cached: int) -> float:
        """What these tokens cost; some providers count cached ones beside the prompt's, not among them."""
        return max(prompt - cached, 0) * self.prompt + cached * self.cached + completion * self.completion


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts of one configured model.

    Attributes:
        arguments: what a call needs beside the settings: the model as litellm wants it named, perhaps a key.
        context_limit: tokens of the context window, ``None`` if unknown.
        output_limit: tokens of one answer, ``None`` if unknown.
        prices: what tokens cost, ``None`` if unknown.
        supports_images: whether messages may hold images.
        by_responses: whether its provider is asked through a Responses API, which litellm else does by its chat.
    """

    arguments: dict[str, Any]
    context_limit: int | None
    output_limit: int | None
    prices: Prices | None
    supports_images: bool
    by_responses: bool


def look_up(litellm: Any, config: LiteLLMConfig) -> ModelFacts:
    """Ask litellm; no request is sent, save that it may ask an Ollama server about its model. Blocks.

    Raises:
        ConfigError: no provider is known by the model's name.
        LLMError: the provider's key is not set.
    """
    model = config.model or ""
    try:
        bare_name, provider, _, _ = litellm.get_llm_provider(model, api_base=config.api_base)
    except Exception as error:
        raise ConfigError(
            f"model {model!r} names no provider that litellm knows: write PROVIDER/MODEL, such as openai/{model}"
        ) from error
    arguments = {"model": f"{provider}/responses/{bare_name}" if config.api == "responses" else model}
    if not {"api_key", "azure_ad_token"} & {*config.llm_kwargs, *config.llm_call_kwargs}:
        arguments |= _key_arguments(litellm, config, provider)
    known = _known(litellm, config) | config.model_info
    return ModelFacts(
        arguments=arguments,
        context_limit=known.get("max_input_tokens") or known.get("max_tokens"),
        output_limit=known.get("max_output_tokens"),
        prices=_prices(known),
        supports_images=bool(known.get("supports_vision")),
        by_responses="responses" in (config.api, known.get("mode")) and _has_responses(litellm, provider, bare_name),
    )


def price(litellm: Any, config: LiteLLMConfig, prices: Prices, answer: Any, usage: Usage) -> float:
    """US dollars of one answer.

    Args:
        litellm: the module.
        config: prices that stand there win over what litellm knows beside prices of tokens.
        prices: of the model's tokens.
        answer: as litellm read it; ``None``: the tokens in ``usage`` alone decide.
        usage: with its prompt and completion tokens.

    Raises:
        Exception: whatever litellm raises where it knows no price.
    """
    if answer is not None and not any("_cost" in name for name in config.model_info):
        return float(litellm.completion_cost(completion_response=answer, model=config.model))
    return prices.of(usage.prompt_tokens or 0, usage.completion_tokens or 0, usage.cache_tokens or 0)


def _has_responses(litellm: Any, provider: str, model: str) -> bool:
    with suppress(Exception):  # a provider that litellm knows no more of
        manager = litellm.ProviderConfigManager
        return manager.get_provider_responses_api_config(litellm.LlmProviders(provider), model) is not None
    return False


def _prices(known: dict[str, Any]) -> Prices | None:
    prompt, completion = known.get("input_cost_per_token"), known.get("output_cost_per_token")
    if prompt is None or completion is None:
        return None
    cached = known.get("cache_read_input_token_cost")
    return Prices(prompt, completion, prompt if cached is None else cached)


def _key_arguments(litellm: Any, config: LiteLLMConfig, provider: str) -> dict[str, str]:
    missing: list[str] = litellm.validate_environment(config.model)["missing_keys"] or _empty_keys(litellm, provider)
    # Providers that can do with other credentials (a role, a login) name more than a key here.
    if not missing or not all(name.endswith(_KEY_ENDINGS) for name in missing):
        return {}
    if config.api_base:
        return {"api_key": "none"}  # a server of the user's own; clients insist on some key
    raise LLMError(f"{config.model}: {' or '.join(missing)} is not set")


def _empty_keys(litellm: Any, provider: str) -> list[str]:
    """The provider's variables if they are set but empty, and no other one holds its key: litellm takes them as set."""
    stem = _bare(provider)
    ours = {name: value for name, value in os.environ.items() if _bare(name).startswith(stem)}
    keys = {name: value.strip() for name, value in ours.items() if name.endswith((*_KEY_ENDINGS, "_AUTH_TOKEN"))}
    if not keys or any(keys.values()):
        return []
    with suppress(Exception):  # a provider that litellm knows no more of
        about = litellm.ProviderConfigManager.get_provider_model_info("", litellm.LlmProviders(provider))
        if about and (about.get_api_key() or "").strip():
            return []
    return sorted(keys)


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def _known(litellm: Any, config: LiteLLMConfig) -> dict[str, Any]:
    """What litellm holds; a price of 0 that it made up for want of one is left out."""
    try:
        info = dict(litellm.get_model_info(config.model, api_base=config.api_base))
    except Exception:  # noqa: BLE001 - an unknown model, in many classes
        return {}
    if not info.get("input_cost_per_token") and "input_cost_per_token" not in litellm.model_cost.get(info["key"], {}):
        info["input_cost_per_token"] = None
    return info
