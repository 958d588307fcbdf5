"""What authors write; type checkers have nothing to say about it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, assert_type

import anyio
from pydantic import BaseModel, ConfigDict, Field

from terminus_core import (
    LLM,
    Action,
    ActionCall,
    Agent,
    Command,
    Completion,
    CompletionPolicy,
    ContentPart,
    ContextStrategy,
    Environment,
    ExecResult,
    Gate,
    LLMRequest,
    LLMResponse,
    Message,
    ParseResult,
    ResponseParser,
    Run,
    RunResult,
    Session,
    SessionBackend,
    SessionEvent,
    SessionOptions,
    Step,
    TerminalText,
    Turn,
    Usage,
    hookimpl,
)
from terminus_core.testing import FakeLLM, Trial


class Place(Environment):
    name: ClassVar[str] = "place"

    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")

        host: str = Field(default="here", description="where")

    def __init__(self, config: Config) -> None:
        self.host = config.host

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_sec: float | None = None,
    ) -> ExecResult:
        return ExecResult(stdout=command)

    async def upload_file(self, source: Path, target: str) -> None: ...

    async def download_file(self, source: str, target: Path) -> None: ...


class Screen(Session):
    async def send_keys(
        self,
        keystrokes: str,
        *,
        block: bool = False,
        min_timeout_sec: float = 0.0,
        max_timeout_sec: float = 180.0,
    ) -> None: ...

    async def get_incremental_output(self) -> TerminalText:
        return TerminalText("$ ", kind="none")

    async def capture_pane(self, *, entire: bool = False) -> str:
        return "$ "

    async def is_session_alive(self) -> bool:
        return True

    def listen(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        listener(SessionEvent(0.0, "resize", (80, 24)))
        return lambda: None


class Backend(SessionBackend):
    name: ClassVar[str] = "backend"

    @asynccontextmanager
    async def open(self, environment: Environment, options: SessionOptions) -> AsyncGenerator[Session, None]:
        yield Screen()


class Look(Action):
    name: ClassVar[str] = "look"
    description: ClassVar[str] = "Looks."
    parameters: ClassVar[dict[str, Any]] = {"type": "object", "properties": {"path": {"type": "string"}}}

    async def perform(self, run: Run, arguments: dict[str, Any]) -> str | list[ContentPart]:
        result = await run.environment.exec("cat x")
        assert_type(result.return_code, int | None)
        return result.stdout


class Parser(ResponseParser):
    name: ClassVar[str] = "parser"
    error_response_type = "answer"

    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        return instruction + terminal_state

    def parse_response(self, response: LLMResponse) -> ParseResult:
        return ParseResult(commands=[Command(response.content, 0.5)], actions=[ActionCall("look", {"path": "x"})])

    def completion_confirmation(self, terminal_output: str) -> str:
        return terminal_output


class Model(LLM):
    name: ClassVar[str] = "model"

    def __init__(self) -> None:
        self.model_name = "m"
        self.context_limit = None
        self.output_limit = None

    async def call(self, request: LLMRequest) -> LLMResponse:
        request.on_attempt(1)
        assert_type(request.messages, list[Message])
        return LLMResponse("hello", usage=Usage(1, 2))

    def count_tokens(self, messages: list[Message]) -> int:
        return sum(len(str(message["content"])) for message in messages)


class Policy(CompletionPolicy):
    name: ClassVar[str] = "policy"

    async def decide(self, run: Run, turn: Turn) -> Completion:
        return Completion(turn.observation, done=turn.reply.is_task_complete)


class Strategy(ContextStrategy):
    name: ClassVar[str] = "strategy"

    async def before_request(self, run: Run, prompt: str) -> str:
        assert_type(run.chat.context_tokens, int | None)
        return prompt

    async def on_context_length_exceeded(self, run: Run, prompt: str) -> str:
        run.chat.unwind(1)
        return prompt


class Guard(Gate):
    name: ClassVar[str] = "guard"

    async def before_commands(self, run: Run, reply: ParseResult) -> ParseResult | str:
        return reply if reply.commands else "nothing"


class Watcher:
    name: ClassVar[str] = "watcher"

    @hookimpl
    def terminus_step_recorded(self, run: Run, step: Step) -> None:
        assert_type(step.source, Literal["system", "user", "agent"])
        run.mark("here")

    @hookimpl(trylast=True)
    def terminus_prepare_messages(self, messages: list[Message]) -> list[Message] | None:
        return messages[-2:]


@hookimpl
def terminus_register_environments() -> Sequence[type[Environment]]:
    return [Place]


@hookimpl
def terminus_register_gates() -> list[type[Gate]]:
    return [Guard]


async def main() -> None:
    agent = Agent(
        model="m",
        llm=Model(),
        parser=Parser(),
        session=Backend(),
        environment=Place(Place.Config()),
        gates=["deny", Guard()],
        observers=[Watcher()],
        max_episodes=3,
        settings={"trajectory": {"raw_content": True}},
    )
    result = await agent.run("task")
    assert_type(result, RunResult)
    assert_type(result.totals.cost_usd, float | None)
    trial = Trial([ParseResult()], logs_dir=Path("x"), llm=FakeLLM(["a"]))
    assert_type(trial.observations, list[str])


anyio.run(main)
