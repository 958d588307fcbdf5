"""The observer ``otel``: a trace for each run, by OpenTelemetry's conventions for generative AI.

One span for the run (``invoke_agent``), below it one for each request to the model (``chat``) and one for each command
and tool (``execute_tool``). Spans go by OTLP over HTTP to the collector that the usual ``OTEL_EXPORTER_OTLP_*``
variables name, or to the program's own tracer provider if it has set one.
"""

from __future__ import annotations

import json
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Self

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from terminus_core import (
    ConfigError,
    LLMResponse,
    Marker,
    Message,
    RequestFailure,
    Run,
    RunResult,
    Step,
    Subagent,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

    from terminus_core.trajectory import ToolCall

AGENT_NAME = "terminus-core"
DISTRIBUTION = "terminus-agent"
DEFAULT_TOOL = "bash_command"
"""What a command is called where the step records no tool calls."""
EXPORT_SEC = 5
"""The longest that one export may take, retries included; so long at most the end of a run waits."""
OTHER = "_OTHER"
"""The conventions' word for an error that has no name of its own."""

_PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Providers whose name before the ``/`` of a model is not the conventions' own."""


class OtelConfig(BaseModel):
    """Settings of the traces, ``[observer.otel]``; the ``OTEL_*`` variables set all the rest."""

    model_config = ConfigDict(extra="forbid")

    endpoint: str | None = Field(
        None, description="where traces go, such as http://localhost:4318/v1/traces; unset: as OTEL_* variables say"
    )
    service_name: str = Field("terminus", description="service.name of the traces")
    content: bool = Field(default=False, description="put prompts, answers and keystrokes into the spans")


class OtelObserver:
    """Makes the trace of one run.

    Args:
        config: settings.
        tracer_provider: where spans go; by default the program's own provider, else one that exports by OTLP.

    Raises:
        ConfigError: the libraries are not installed; the text names the extra.
    """

    name: ClassVar[str] = "otel"
    Config: ClassVar[type[BaseModel]] = OtelConfig

    def __init__(self, config: OtelConfig | None = None, *, tracer_provider: TracerProvider | None = None) -> None:
        for library in ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
            if not _is_there(library):
                raise ConfigError(f"observer 'otel' needs an extra ({library}): pip install 'terminus-agent[otel]'")
        self._config = config or OtelConfig()
        self._given = tracer_provider
        self._own: TracerProvider | None = None
        self._tracer: Tracer | None = None
        self._root: Span | None = None
        self._chat: Span | None = None
        self._prompt: list[Message] = []
        self._sent: list[tuple[int, int]] = []  # begin and end of each command of this turn, nanoseconds
        self._free_since = 0  # when the last thing of this turn ended

    async def __aenter__(self) -> Self:
        # The libraries take a third of a second to load.
        self._tracer = await to_thread.run_sync(self._open)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._own is not None:
            await to_thread.run_sync(self._own.shutdown, abandon_on_cancel=True)

    def _open(self) -> Tracer:
        from opentelemetry import trace  # noqa: PLC0415 - heavy: loaded when it is used
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - as above
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

        set_by_program = trace.get_tracer_provider()
        provider = self._given or (set_by_program if isinstance(set_by_program, TracerProvider) else None)
        if provider is None:
            resource = Resource.create({"service.name": self._config.service_name})
            provider = self._own = TracerProvider(resource=resource, shutdown_on_exit=False)
            exporter = OTLPSpanExporter(endpoint=self._config.endpoint, timeout=EXPORT_SEC)
            provider.add_span_processor(BatchSpanProcessor(exporter))
        return provider.get_tracer("terminus_core", _version())

    # -- the run ---------------------------------------------------------------------------------------------

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Begin the run's span."""
        if self._tracer is None:
            return
        self._root = self._tracer.start_span(
            f"invoke_agent {AGENT_NAME}",
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": _provider(run),
                "gen_ai.agent.name": AGENT_NAME,
                "gen_ai.agent.version": _version(),
                "gen_ai.conversation.id": run.session_id,
                "gen_ai.request.model": run.llm.model_name,
                "terminus.environment": run.environment.name,
                "terminus.parser": run.parser.name,
            },
        )
        if self._config.content:
            self._root.set_attribute("gen_ai.input.messages", _messages([("user", run.redact(run.instruction))]))

    @hookimpl
    def terminus_run_finished(self, result: RunResult) -> None:
        """End the run's span with its totals; a request that is still open has failed."""
        if self._root is None:
            return
        error_type = type(result.error).__name__ if result.error else OTHER
        self._end_chat(failed=error_type, reason=result.reason)
        _set(
            self._root,
            {
                **_usage(result.totals.prompt_tokens, result.totals.completion_tokens, result.totals.cache_tokens),
                "terminus.cost_usd": result.totals.cost_usd,
                "terminus.episodes": result.n_episodes,
                "terminus.status": result.status,
                "terminus.reason": result.reason,
            },
        )
        if result.status == "error":
            _fail(self._root, error_type, result.reason)
        self._root.end()

    @hookimpl
    def terminus_record_marker(self, marker: Marker) -> None:
        """Note it in the run's span; an episode's is told by its spans already."""
        if self._root is not None and marker.kind != "episode":
            attributes: dict[str, str | int] = {
                "terminus.label": marker.label,
                "terminus.kind": marker.kind,
                "terminus.episode": marker.episode,
            }
            self._root.add_event("terminus.marker", attributes)

    # -- requests --------------------------------------------------------------------------------------------

    @hookimpl
    def terminus_prepare_messages(self, messages: list[Message]) -> None:
        """Keep what is new of the request, if content is wanted; nothing is changed."""
        if self._config.content:
            begin = next((i for i in range(len(messages), 0, -1) if messages[i - 1]["role"] == "assistant"), 0)
            self._prompt = messages[begin:]

    @hookimpl
    def terminus_request_failed(self, failure: RequestFailure) -> None:
        """End the request's span with the reason."""
        if self._chat is not None:
            self._chat.add_event("terminus.retry", {"terminus.pause_sec": failure.pause_sec})
        self._end_chat(failed=OTHER, reason=failure.reason)

    @hookimpl
    def terminus_request_started(self, run: Run, attempt: int) -> None:
        """Begin a request's span; one that is still open has failed and is tried again."""
        self._end_chat(failed=OTHER)
        if self._tracer is None or self._root is None:
            return
        self._chat = self._child(
            f"chat {run.llm.model_name}",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": _provider(run),
                "gen_ai.conversation.id": run.session_id,
                "gen_ai.request.model": run.llm.model_name,
                "terminus.episode": run.n_episodes,
                "terminus.attempt": attempt,
            },
        )
        if self._prompt:
            # Where this filter stands among the others is not known: what masks secrets may come after it.
            prompt = [(message["role"], run.redact(_text(message["content"]))) for message in self._prompt]
            self._chat.set_attribute("gen_ai.input.messages", _messages(prompt))

    @hookimpl
    def terminus_response_received(self, response: LLMResponse) -> None:
        """End the request's span."""
        self._end_chat(response)

    @hookimpl
    def terminus_subagent_finished(self, subagent: Subagent) -> None:
        """End the span of a request beside the chat."""
        if self._chat is not None:
            self._chat.set_attribute("terminus.purpose", subagent.kind)
        self._end_chat(subagent.response)

    def _end_chat(self, response: LLMResponse | None = None, *, failed: str = "", reason: str = "") -> None:
        self._free_since = time.time_ns()
        if self._chat is None:
            return
        if response is not None:
            usage = response.usage
            _set(
                self._chat,
                {
                    "gen_ai.response.model": response.model_name or None,
                    "gen_ai.response.finish_reasons": [response.finish_reason] if response.finish_reason else None,
                    **(_usage(usage.prompt_tokens, usage.completion_tokens, usage.cache_tokens) if usage else {}),
                    "terminus.cost_usd": usage.cost_usd if usage else None,
                },
            )
            if self._config.content:
                self._chat.set_attribute("gen_ai.output.messages", _messages([("assistant", response.content)]))
        else:
            _fail(self._chat, failed, reason)
        self._chat.end(self._free_since)
        self._chat = None

    # -- commands and tools ----------------------------------------------------------------------------------

    @hookimpl
    def terminus_command_sent(self) -> None:
        """Keep its times until the step tells its id."""
        now = time.time_ns()
        self._sent.append((self._free_since, now))
        self._free_since = now

    @hookimpl
    def terminus_step_recorded(self, run: Run, step: Step) -> None:
        """Make the spans of what the turn has done."""
        if self._root is None or step.source != "agent" or step.is_copied_context:
            return
        calls = step.tool_calls or []
        sent, self._sent = self._sent, []
        for number, (begin, end) in enumerate(sent):
            call = calls[number] if number < len(calls) else None
            self._tool(run, call, begin, end)
        for call in calls[len(sent) :]:
            if "keystrokes" not in call.arguments:  # keystrokes without an event were not typed
                self._tool(run, call, self._free_since, time.time_ns())

    def _tool(self, run: Run, call: ToolCall | None, begin: int, end: int) -> None:
        name = call.function_name if call else DEFAULT_TOOL
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.tool_call_id if call else None,
            "terminus.episode": run.n_episodes,
        }
        if self._config.content and call:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(call.arguments, ensure_ascii=False, default=str)
        self._child(f"execute_tool {name}", attributes, begin).end(end)

    def _child(self, name: str, attributes: Mapping[str, Any], begin: int | None = None) -> Span:
        from opentelemetry.trace import SpanKind, set_span_in_context  # noqa: PLC0415 - loaded by now

        assert self._tracer is not None  # noqa: S101 - its callers have looked
        assert self._root is not None  # noqa: S101 - as above
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(self._root),
            kind=SpanKind.CLIENT if name.startswith("chat ") else SpanKind.INTERNAL,
            start_time=begin,
        )
        _set(span, attributes)
        return span


def _is_there(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def _provider(run: Run) -> str:
    """The provider by the conventions' names: what stands before the ``/`` of the model, else the LLM plugin."""
    head, slash, _ = run.llm.model_name.partition("/")
    return _PROVIDERS.get(head, head) if slash else run.llm.name


def _usage(prompt: int | None, completion: int | None, cached: int | None) -> dict[str, Any]:
    return {
        "gen_ai.usage.input_tokens": prompt,
        "gen_ai.usage.output_tokens": completion,
        "gen_ai.usage.cache_read.input_tokens": cached or None,
    }


def _set(span: Span, attributes: Mapping[str, Any]) -> None:
    span.set_attributes({name: value for name, value in attributes.items() if value is not None})


def _fail(span: Span, error_type: str, reason: str) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415 - loaded by now

    span.set_attribute("error.type", error_type)
    span.set_status(StatusCode.ERROR, reason or None)


def _messages(messages: list[tuple[str, str]]) -> str:
    """Messages in the form of the conventions."""
    given = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]
    return json.dumps(given, ensure_ascii=False)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@hookimpl
def terminus_register_observers() -> list[type[OtelObserver]]:
    """Bring the observer ``otel``."""
    return [OtelObserver]
