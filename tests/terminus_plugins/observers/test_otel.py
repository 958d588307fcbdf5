"""The trace of a run: spans by the conventions, in process and at a real OTLP receiver."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from terminus_core import Agent, ContextStrategy, LLMError, LLMResponse, Usage
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_plugins.observers.otel import OtelConfig, OtelObserver

pytestmark = pytest.mark.anyio


def answer(*keystrokes, done=False, **fields):
    commands = [{"keystrokes": each, "duration": 0.1} for each in keystrokes]
    content = json.dumps({"analysis": "", "plan": "", "commands": commands, "task_complete": done})
    usage = Usage(prompt_tokens=100, completion_tokens=10, cache_tokens=40, cost_usd=0.25)
    return LLMResponse(content, model_name="fake-model-0001", usage=usage, finish_reason="stop", **fields)


DONE = answer(done=True)


@pytest.fixture
def trace(tmp_path):
    """Run and give the spans, by name, in the order of their ends."""

    async def run(replies, *, session=None, llm=None, context="none", raw=False, around=("", ""), **config):
        exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        observer = OtelObserver(OtelConfig(**config), tracer_provider=provider)
        agent = Agent(
            llm=llm or FakeLLM(replies),
            parser="json",
            context=context,
            environment=FakeEnvironment(),
            session=FakeBackend(session or FakeSession()),
            observers=[each for each in (around[0], observer, around[1]) if each],
            settings={"trajectory": {"raw_content": raw}},
            logs_dir=tmp_path / "run",
        )
        run.result = await agent.run("Water the plants.")
        return exporter.get_finished_spans()

    return run


def named(spans, beginning):
    return [span for span in spans if span.name.startswith(beginning)]


async def test_a_run_is_one_trace_with_requests_and_tools(trace):
    spans = await trace([answer("ls\n", "pwd\n"), DONE, DONE])
    (root,) = named(spans, "invoke_agent terminus-core")
    assert {span.context.trace_id for span in spans} == {root.context.trace_id}
    assert all(span.parent.span_id == root.context.span_id for span in spans if span is not root)
    assert all(root.start_time <= span.start_time <= span.end_time <= root.end_time for span in spans)

    chats = named(spans, "chat fake-model")
    assert len(chats) == 3
    assert chats[0].kind is SpanKind.CLIENT
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "fake",
        "gen_ai.request.model": "fake-model",
        "gen_ai.response.model": "fake-model-0001",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "terminus.cost_usd": 0.25,
        "terminus.attempt": 1,
    }
    for number, chat in enumerate(chats, start=1):
        assert expected.items() <= chat.attributes.items()
        assert chat.attributes["terminus.episode"] == number
        assert chat.attributes["gen_ai.conversation.id"] == root.attributes["gen_ai.conversation.id"]

    tools = named(spans, "execute_tool")
    assert [(tool.attributes["gen_ai.tool.name"], tool.attributes["gen_ai.tool.call.id"]) for tool in tools] == [
        ("bash_command", "call_0_1"),
        ("bash_command", "call_0_2"),
        ("mark_task_complete", "call_1_task_complete"),
        ("mark_task_complete", "call_2_task_complete"),
    ]
    assert chats[0].end_time <= tools[0].start_time <= tools[0].end_time <= tools[1].start_time
    assert tools[1].end_time <= chats[1].start_time

    expected = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "terminus-core",
        "gen_ai.usage.input_tokens": 300,
        "gen_ai.usage.output_tokens": 30,
        "terminus.cost_usd": 0.75,
        "terminus.status": "completed",
        "terminus.episodes": 3,
    }
    assert expected.items() <= root.attributes.items()
    assert root.status.status_code is StatusCode.UNSET
    kinds = [event.attributes["terminus.kind"] for event in root.events]
    assert kinds == ["completion_asked", "completion_confirmed"]


@pytest.mark.parametrize("content", [False, True])
async def test_content_only_if_wanted(trace, content):
    spans = await trace([answer("cat letter\n"), DONE, DONE], content=content)
    told = json.dumps([dict(span.attributes) for span in spans], default=str)
    assert ("cat letter" in told) == content
    assert ("Water the plants" in told) == content
    if content:
        chats = named(spans, "chat")
        messages = [json.loads(chat.attributes["gen_ai.input.messages"]) for chat in chats]
        assert [len(each) for each in messages] == [1, 1, 1], "only what is new of each request"
        assert "New Terminal Output" in messages[1][0]["parts"][0]["content"]
        said = json.loads(chats[0].attributes["gen_ai.output.messages"])
        assert said[0]["role"] == "assistant"


@pytest.mark.parametrize("around", [("redact", ""), ("", "redact")], ids=["redact-first", "otel-first"])
async def test_content_is_redacted_whichever_observer_comes_first(trace, monkeypatch, around):
    monkeypatch.setenv("GARDEN_TOKEN", "Water the")  # of the task
    session = FakeSession(["$ ", "$ echo Water the roses"])
    spans = await trace([answer("echo Water the roses\n"), DONE, DONE], session=session, content=True, around=around)
    told = json.dumps([dict(span.attributes) for span in spans], default=str)
    assert "*** plants" in told
    assert "*** roses" in told
    assert "Water the" not in told


async def test_a_failed_request_ends_as_an_error(trace):
    spans = await trace([answer("ls\n"), LLMError("the provider is on fire")])
    (root,) = named(spans, "invoke_agent")
    first, second = named(spans, "chat")
    assert first.status.status_code is StatusCode.UNSET
    for span in (second, root):
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description == "the provider is on fire"
        assert span.attributes["error.type"] == "LLMError"


async def test_each_attempt_is_a_span(trace):
    class Twice(FakeLLM):
        async def call(self, request):
            request.on_attempt(1)
            request.on_attempt(2)
            return DONE

    spans = await trace([], llm=Twice())
    chats = named(spans, "chat")
    assert [(chat.attributes["terminus.attempt"], "error.type" in chat.attributes) for chat in chats] == [
        (1, True),
        (2, False),
        (1, True),
        (2, False),
    ]


async def test_calls_beside_the_chat_are_told_apart(trace):
    class Curious(ContextStrategy):
        name = "curious"

        async def before_request(self, run, prompt):
            if run.n_episodes == 2:
                await run.ask_aside("summary", [{"role": "user", "content": "What happened?"}])
            return prompt

        async def on_context_length_exceeded(self, run, prompt):
            return prompt

    spans = await trace([answer(), answer(), DONE, DONE], context=Curious())
    assert [chat.attributes.get("terminus.purpose") for chat in named(spans, "chat")] == [None, "summary", None, None]


async def test_commands_have_spans_also_with_raw_records(trace):
    spans = await trace([answer("ls\n", "pwd\n"), DONE, DONE], raw=True)
    tools = named(spans, "execute_tool")
    assert [tool.name for tool in tools] == ["execute_tool bash_command"] * 2
    assert "gen_ai.tool.call.id" not in tools[0].attributes


async def test_what_was_not_typed_has_no_span(trace):
    def on_keys(keys):
        if keys == "hang\n":
            raise TimeoutError

    spans = await trace([answer("ls\n", "hang\n", "pwd\n"), DONE, DONE], session=FakeSession(on_keys=on_keys))
    ids = [tool.attributes["gen_ai.tool.call.id"] for tool in named(spans, "execute_tool")]
    assert ids == ["call_0_1", "call_1_task_complete", "call_2_task_complete"]


@pytest.mark.parametrize(
    ("model", "provider"),
    [("openai/gpt-5", "openai"), ("bedrock/anthropic.claude", "aws.bedrock"), ("gpt-5", "fake")],
)
async def test_providers_have_the_conventions_names(trace, model, provider):
    llm = FakeLLM([DONE, DONE])
    llm.model_name = model
    spans = await trace([], llm=llm)
    assert {span.attributes["gen_ai.provider.name"] for span in spans if "gen_ai.provider.name" in span.attributes} == {
        provider
    }


@pytest.fixture
def receiver():
    """A real OTLP/HTTP receiver on loopback; ``requests`` is what came, ``code`` what it answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            server.requests.append((self.path, ExportTraceServiceRequest.FromString(body)))
            self.send_response(server.code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.code = [], 200
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


async def run_with(tmp_path, settings):
    agent = Agent(
        llm=FakeLLM([answer("ls\n"), DONE, DONE]),
        parser="json",
        environment=FakeEnvironment(),
        session=FakeBackend(),
        observers=["otel"],
        settings=settings,
        logs_dir=tmp_path / "run",
    )
    return await agent.run("Water the plants.")


@pytest.mark.parametrize("by", ["setting", "variable"])
async def test_spans_reach_a_receiver(tmp_path, receiver, monkeypatch, by):
    address = f"http://127.0.0.1:{receiver.server_port}"
    settings = {"observer": {"otel": {"service_name": "garden"}}}
    if by == "setting":
        settings["observer"]["otel"]["endpoint"] = f"{address}/v1/traces"
    else:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    result = await run_with(tmp_path, settings)
    assert result.status == "completed"
    assert {path for path, _ in receiver.requests} == {"/v1/traces"}
    resources = [each for _, request in receiver.requests for each in request.resource_spans]
    services = {
        attribute.value.string_value
        for each in resources
        for attribute in each.resource.attributes
        if attribute.key == "service.name"
    }
    assert services == {"garden"}
    names = sorted(span.name for each in resources for scope in each.scope_spans for span in scope.spans)
    assert names == [
        "chat fake-model",
        "chat fake-model",
        "chat fake-model",
        "execute_tool bash_command",
        "execute_tool mark_task_complete",
        "execute_tool mark_task_complete",
        "invoke_agent terminus-core",
    ]


async def test_a_receiver_that_refuses_changes_nothing_for_the_run(tmp_path, receiver):
    receiver.code = 400
    endpoint = f"http://127.0.0.1:{receiver.server_port}/v1/traces"
    with anyio.fail_after(30):
        result = await run_with(tmp_path, {"observer": {"otel": {"endpoint": endpoint}}})
    assert result.status == "completed"
    assert receiver.requests
