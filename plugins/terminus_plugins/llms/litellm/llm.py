"""The LLM ``litellm``: any provider that litellm knows, and any server that speaks OpenAI's API."""

from __future__ import annotations

import logging
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import anyio

from terminus_core import (
    LLM,
    ConfigError,
    ContextLengthExceededError,
    LLMError,
    Message,
    RequestFailure,
    Usage,
    mask_text,
    secret_texts,
    secret_variables,
)
from terminus_plugins.llms.common.tokens import estimate_tokens

from .answers import choice_fault, replay_fields, to_response
from .arguments import call_arguments, optional_fields, well_formed, with_readable_calls
from .faults import TransientFault, explain, explain_answer
from .hearing import Hearing, ListeningClient
from .library import begin_import
from .lookup import Prices, look_up, price
from .settings import LiteLLMConfig
from .threads import run_in_daemon_thread
from .unread import as_chat

if TYPE_CHECKING:
    from collections.abc import Callable

    from terminus_core import LLMRequest, LLMResponse

logger = logging.getLogger(__name__)

_GRACE_SEC = 5.0
"""The client's own limit counts each wait for bytes; this much later the whole request is given up."""


_MOST_REPLAYED = 1000
"""Answers whose signed reasoning is kept: a provider wants that of the newest turns, in whatever chat they stand."""

_NO_PRICE = "%s: the price is not known, the cost is not counted"


class _FieldsRefusedError(Exception):
    """The provider does not take these optional fields."""

    def __init__(self, fields: set[str]) -> None:
        super().__init__(fields)
        self.fields = fields


class LiteLLM(LLM):
    """One model through litellm; its import starts when this is made, and runs beside what comes next.

    Args:
        config: the settings of ``[llm.litellm]``.

    Raises:
        ConfigError: no model is named.

    Attributes:
        context_limit: tokens of the context window, ``None`` until :meth:`prepare` or if unknown.
        output_limit: tokens that one answer may have, likewise.
        knows_price: whether costs can be told, ``False`` until :meth:`prepare`.
        supports_images: whether the model takes images, likewise.
    """

    name: ClassVar[str] = "litellm"

    Config = LiteLLMConfig

    def __init__(self, config: LiteLLMConfig) -> None:
        if not config.model:
            raise ConfigError("llm 'litellm' needs a model, such as --model openai/gpt-5")
        self.model_name = config.model
        self.context_limit: int | None = config.model_info.get("max_input_tokens")
        self.output_limit: int | None = config.model_info.get("max_output_tokens")
        self.knows_price = {"input_cost_per_token", "output_cost_per_token"} <= config.model_info.keys()
        self.supports_images = bool(config.model_info.get("supports_vision"))
        self._config = config
        self._litellm: Any = None
        self._client: ListeningClient | None = None
        self._arguments: dict[str, Any] = {}
        self._refused: set[str] = set()  # optional fields that the provider does not take
        self._replay: dict[str, dict[str, Any]] = {}  # what goes back with a reasoning text that is in the chat
        self._prices: Prices | None = None
        self._warned: set[str] = set()
        begin_import()

    async def prepare(self) -> None:
        """Wait for the import, look the model up; the core calls it before the first request.

        Raises:
            ConfigError: the extra is missing, or litellm does not know the model's provider.
            LLMError: the provider's key is not set; the line names its variable.
        """
        if self._litellm is None:
            await run_in_daemon_thread(self._look_up, "prepare litellm")

    def _look_up(self) -> None:
        litellm = begin_import().result()
        facts = look_up(litellm, self._config)
        self.context_limit, self.output_limit = facts.context_limit, facts.output_limit
        self.knows_price, self._prices = facts.prices is not None, facts.prices
        self.supports_images = facts.supports_images
        self._arguments = facts.arguments
        if facts.by_responses:
            kwargs = self._config.llm_kwargs | self._config.llm_call_kwargs
            self._client = ListeningClient(kwargs.get("ssl_verify"))
        self._litellm = litellm

    async def call(self, request: LLMRequest) -> LLMResponse:
        """Ask the model, at most ``max_attempts`` times, and once more for each optional field that it refuses.

        Raises:
            ConfigError: as :meth:`prepare`.
            ContextLengthExceededError: the request is too long for the model.
            LLMError: the provider failed for good.
        """
        await self.prepare()
        import tenacity  # noqa: PLC0415 - it comes with the extra

        backoff = tenacity.wait_exponential_jitter(initial=1, max=30)

        def pause(state: tenacity.RetryCallState) -> float:
            fault = state.outcome.exception() if state.outcome else None
            asked = fault.pause_sec if isinstance(fault, TransientFault) else None
            return backoff(state) if asked is None else asked

        def on_failure(state: tenacity.RetryCallState) -> None:
            failure = RequestFailure(
                reason=str(state.outcome.exception() if state.outcome else ""),
                attempt=state.attempt_number,
                max_attempts=self._config.max_attempts,
                pause_sec=state.next_action.sleep if state.next_action else 0.0,
            )
            request.on_failure(failure)

        n_sent = 0

        def on_request() -> None:
            nonlocal n_sent
            n_sent += 1
            request.on_attempt(n_sent)

        retrying = tenacity.AsyncRetrying(
            sleep=anyio.sleep,
            stop=tenacity.stop_after_attempt(self._config.max_attempts),
            wait=pause,
            retry=tenacity.retry_if_exception_type(TransientFault),
            before_sleep=on_failure,
            reraise=True,
        )
        try:
            return await retrying(self._attempt, request, on_request)
        except TransientFault as fault:
            requests = f"{n_sent} requests" if n_sent > 1 else "1 request"
            raise LLMError(f"{self.model_name}: {fault} (after {requests})") from None

    def count_tokens(self, messages: list[Message]) -> int:
        """An estimate from the texts' length: no tokenizer runs, nothing blocks."""
        return estimate_tokens(messages)

    # -- one request ---------------------------------------------------------------------------------------------------

    async def _attempt(self, request: LLMRequest, on_request: Callable[[], None]) -> LLMResponse:
        while True:
            on_request()
            try:
                with anyio.fail_after(self._config.timeout_sec + _GRACE_SEC):
                    return await run_in_daemon_thread(lambda: self._ask(request), "litellm request")
            except TimeoutError:
                raise TransientFault("no answer within the time limit") from None
            except _FieldsRefusedError as refusal:  # no fault of the request: at once again, without
                names = ", ".join(sorted(refusal.fields))
                self._warn_once(f"%s does not take {names}: asked without")
                self._refused = self._refused | refusal.fields

    def _ask(self, request: LLMRequest) -> LLMResponse:
        """Send one request; runs in a thread."""
        refused = self._refused
        arguments = self._arguments | call_arguments(
            self._config, without=refused, max_output_tokens=request.max_output_tokens
        )
        messages = [
            well_formed(
                {**with_readable_calls(message), **self._replay.get(message.get("reasoning_content") or "", {})}
            )
            for message in request.messages
        ]
        hearing = Hearing()
        arguments = {"logger_fn": hearing.tell, **arguments}
        if self._client:
            self._client.tell(hearing)
            arguments = {"client": self._client.handler, **arguments}
        answer = None
        try:
            answer = self._litellm.completion(messages=messages, tools=request.tools, **arguments)
            data: dict[str, Any] = answer.model_dump(warnings=False)
            response = to_response(data)
        except Exception as error:  # noqa: BLE001 - litellm raises all sorts
            heard = hearing.answer or {}
            unread = None if heard.get("error") else as_chat(heard)
            if unread is None:
                # The cause may quote a key: it does not go along.
                raise self._named(explain(error, self._mask, hearing), refused) from None
            data, response = unread, to_response(unread)
        if told := choice_fault(data):
            raise self._named(explain_answer(told, self._mask), refused)
        if response is None:
            raise TransientFault("the provider sent an answer without choices")
        if response.reasoning_content:
            self._remember(response.reasoning_content, replay_fields(data))
        self._add_cost(response, answer, request.messages)
        return response

    def _mask(self, text: str) -> str:
        return mask_text(text, (*secret_texts(self._config.model_dump()), *secret_variables(os.environ)))

    def _named(self, fault: TransientFault | LLMError, without: set[str]) -> Exception:
        if isinstance(fault, TransientFault):
            return fault
        if not isinstance(fault, ContextLengthExceededError):
            sent = optional_fields(self._config) - without
            refused = {field for field in sent if re.search(rf"\b(extra_body|{field})\b", str(fault))}
            if refused:
                return _FieldsRefusedError(refused)
        return type(fault)(f"{self.model_name}: {fault}")

    def _remember(self, reasoning: str, fields: dict[str, Any]) -> None:
        """Keep ``fields`` for when the reasoning comes back in the chat; the oldest are forgotten."""
        if fields:
            self._replay[reasoning] = fields
            if len(self._replay) > _MOST_REPLAYED:
                del self._replay[next(iter(self._replay))]

    def _add_cost(self, response: LLMResponse, answer: Any, messages: list[Message]) -> None:
        """Tell what ``response`` cost; what the provider did not count is estimated, but not told as its count."""
        usage = replace(response.usage) if response.usage else Usage()
        if self._prices is None:
            if response.usage:
                self._warn_once(_NO_PRICE)
            return
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            self._warn_once("%s: the provider does not tell all its tokens, the cost is an estimate")
            answer = None
            if usage.prompt_tokens is None:
                usage.prompt_tokens = self.count_tokens(messages)
            if usage.completion_tokens is None:
                usage.completion_tokens = self.count_tokens([_as_message(response)])
        try:
            cost = price(self._litellm, self._config, self._prices, answer, usage)
        except Exception:  # noqa: BLE001 - the price of an answer is not worth the answer
            self._warn_once(_NO_PRICE)
            return
        if cost > 0:
            response.usage = response.usage or Usage()
            response.usage.cost_usd = cost

    def _warn_once(self, warning: str) -> None:
        if warning not in self._warned:
            self._warned.add(warning)
            logger.warning(warning, self.model_name)


def _as_message(response: LLMResponse) -> Message:
    message = Message(role="assistant", content=response.content)
    if response.reasoning_content:
        message["reasoning_content"] = response.reasoning_content
    if response.tool_calls:
        message["tool_calls"] = response.tool_calls
    return message
