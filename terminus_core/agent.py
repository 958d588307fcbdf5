"""The agent: opens the parts, runs the episodes. Reads from top to bottom like one run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import anyio

from terminus_core import model_calls, slow_calls, step_building, texts
from terminus_core.errors import (
    ConfigError,
    ContextLengthExceededError,
    EnvironmentFailedError,
    LLMError,
    RunLimitReached,
    SessionClosedError,
    StreamsUnsupportedError,
    TerminusError,
)
from terminus_core.hooks import ANY_FAULT
from terminus_core.manager import name_of
from terminus_core.observer_life import entered
from terminus_core.part_rules import returned
from terminus_core.parts import AgentKeys, Parts
from terminus_core.roles import Observer
from terminus_core.runfile import RunFile
from terminus_core.trajectory import ObservationResult
from terminus_core.values import Completion, ParseResult, SessionOptions, Turn

if TYPE_CHECKING:
    from terminus_core.chat import Chat, LLMResponse
    from terminus_core.manager import PluginManager
    from terminus_core.result import RunResult
    from terminus_core.run import Run
    from terminus_core.settings import Settings
    from terminus_core.trajectory import ContentPart
    from terminus_core.values import Command

logger = logging.getLogger(__name__)

MAX_UNUSABLE_ANSWERS = 20
"""Answers in a row that could not be used, until the run ends."""
MAX_CUT_ANSWERS = 3
"""Answers in a row that were cut at the output limit, until the run ends."""
MAX_RESCUES = 2
"""How often one episode may make room in the model's window."""


class Agent:
    """A terminal agent made of parts.

    Args:
        settings: a :class:`Settings`, or nested data of the same form as the settings file.
        plugins: further plugins: modules, objects, module names, files, ``no:NAME`` to block one.
        keys: the ``[agent]`` keys; they win over ``settings``. A part given as an instance is used as it is.

    Raises:
        ConfigError: a setting or a part's name is unknown or wrong.
        PluginError: a plugin that was asked for cannot be used, or two bring the same part.
    """

    def __init__(
        self,
        *,
        settings: Settings | Mapping[str, Any] | None = None,
        plugins: Iterable[Any] = (),
        **keys: Unpack[AgentKeys],
    ) -> None:
        self._parts = Parts(settings, plugins, keys)
        self.settings: Settings = self._parts.settings
        self.plugins: PluginManager = self._parts.plugins
        self._run: Run | None = None
        self.failed_run: Run | None = None
        """The run that :meth:`run` last raised out of, with its result; ``None`` after one that returned."""
        self.last_result: RunResult | None = None
        """The result of the newest run that has ended, also of one that :meth:`run` raised out of."""

    # -- one run -------------------------------------------------------------------------------------------------------

    @property
    def current_run(self) -> Run | None:
        """The run that is going on, ``None`` between runs."""
        return self._run

    async def run(self, instruction: str, *, logs_dir: str | Path | None = None) -> RunResult:
        """Work on one task until it is done or the run ends otherwise.

        Faults of the provider, the environment or the session end the run with a result.

        Args:
            instruction: the task.
            logs_dir: the run's folder, instead of the setting's.

        Raises:
            ConfigError: a setting turns out wrong before the first request.
            RuntimeError: this agent is running already.
            BaseException: a cancel, or a bug in a part, after observers have been told the result.
        """
        if self._run is not None:
            raise RuntimeError("this Agent is running already; one run at a time, or another Agent")
        run = self._run = self._parts.new_run(texts.clean(instruction), logs_dir)
        self.last_result = self.failed_run = None
        taken = [name for each in run.observers if isinstance(each, Observer) for name in each.owns]
        try:
            with (
                RunFile(run.logs_dir, run.session_id, run.redact(run.instruction), run.llm.model_name, taken) as record,
                slow_calls.watching(),
            ):
                run.journal.begin(
                    session_id=run.session_id,
                    instruction=run.instruction,
                    model=run.llm.model_name,
                    plugins=dict(run.plugins),
                )
                fault = await self._in_session(run)
                by_plugin = fault is not None and self._parts.blame(fault, run)
                result = run.result or run.finish(fault, by_plugin=by_plugin)
                record.finish(result)
                run.journal.end(status=result.status, reason=result.reason, error_kind=result.error_kind)
            self.last_result = result
            if fault is not None and (isinstance(fault, ConfigError) or not isinstance(fault, TerminusError)):
                self.failed_run = run
                raise fault
            return result
        finally:
            self._run = None

    async def _in_session(self, run: Run) -> BaseException | None:
        """Open environment and session, run in them, close both; give back what ended the run, if it was a fault.

        Nothing is raised through the session: its own tasks would turn it into an exception group.
        """
        fault: BaseException | None = None
        options = SessionOptions(session_id=run.session_id, logs_dir=run.logs_dir)
        try:
            async with run.environment, run.backend.open(run.environment, options) as run.session:
                fault = await self._observed(run)
        except StreamsUnsupportedError as error:
            told = f"session {name_of(run.backend)!r} needs byte streams: {error}; choose another with --session"
            fault = fault or EnvironmentFailedError(told)
        except SessionClosedError as error:
            fault = fault or EnvironmentFailedError(f"the terminal could not be had: {error}")
        except TerminusError as error:
            if fault is None and run.result is not None:
                logger.error("environment or session could not be left: %s", error)  # noqa: TRY400 - made for users
            fault = fault or error
        except anyio.get_cancelled_exc_class() as error:
            fault = fault or error
        except ANY_FAULT as error:  # raised again when the run's end is written down
            if fault is None or isinstance(fault, TerminusError):
                fault = error
                run.finish(fault, by_plugin=self._parts.blame(fault, run))
            else:
                logger.exception("environment or session could not be left")
        return fault

    async def _observed(self, run: Run) -> BaseException | None:
        """Run with observers entered; whatever happens they are told the result and left."""
        fault: BaseException | None = None
        try:
            await _prepare(run)
            async with entered(run):
                try:
                    run.hooks.run_started(run)
                    with anyio.move_on_after(run.settings.agent.max_time_sec) as clock:
                        await self._enter_loop(run)
                    if clock.cancelled_caught:
                        run.stop("limit_reached", "max_time_sec")
                except BaseException as error:  # noqa: BLE001 - raised again outside the session
                    fault = error
                by_plugin = fault is not None and self._parts.blame(fault, run)
                run.hooks.run_finished(run, run.finish(fault, by_plugin=by_plugin))
        except BaseException as error:  # noqa: BLE001 - as above
            if fault is None and run.result is not None:
                run.finish(error)  # the one that observers were told is no longer true
            fault = fault or error
        return fault

    async def _enter_loop(self, run: Run) -> None:
        """The first prompt is the first step."""
        run.actions = {name: action for name, action in run.actions.items() if action.is_available(run)}
        run.parser.prepare(run)
        run.prepared_instruction = run.hooks.prepare_instruction(run, run.instruction)
        try:
            terminal = await run.look()
        except TimeoutError as error:
            raise EnvironmentFailedError("the terminal does not answer") from error
        prompt = run.parser.build_prompt(run.prepared_instruction, terminal)
        prompt = returned(run.who(run.parser), "build_prompt", prompt, str)
        run.record_step("user", prompt)
        await self._run_agent_loop(
            initial_prompt=prompt, chat=run.chat, logs_dir=run.logs_dir, original_instruction=run.instruction
        )

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def _run_agent_loop(
        self, *, initial_prompt: str, chat: Chat, logs_dir: Path, original_instruction: str
    ) -> None:
        """Ask, parse, type, look, record: once in each episode, until the run is done or ends otherwise."""
        run = self._run
        if run is None:
            raise RuntimeError("Agent context is not set. This should never happen.")
        prompt = initial_prompt
        run.chat, run.logs_dir, run.instruction = chat, logs_dir, original_instruction
        if run.session is None:
            raise RuntimeError("Session is not set. This should never happen.")
        unusable = cut = 0
        max_cut = 1 if run.settings.agent.on_output_limit == "abort" else MAX_CUT_ANSWERS

        for episode in range(run.settings.agent.max_episodes):
            run.n_episodes = episode + 1
            if not await run.session.is_session_alive():
                logger.debug("Session has ended, breaking out of agent loop")
                run.stop("session_ended")
                return

            response = await self._ask(run, prompt)
            reply = returned(run.who(run.parser), "parse_response", run.parser.parse_response(response), ParseResult)
            response = texts.cleaned(response)  # half a surrogate pair was for the parser to see, and for nobody else
            was_cut = response.finish_reason == "length" and bool(reply.error)
            if was_cut:
                reply = texts.cut_answer_error(reply, run.llm.output_limit)
            reply = texts.clamp(reply, run.settings.agent.max_command_duration_sec, run.actions)
            run.hooks.response_received(run, response, reply)

            if reply.error:
                run.mark(f"Episode {run.n_episodes}: the answer could not be used", "parse_error")
                prompt = run.parser.repair_prompt(reply, self._get_error_response_type())
                self._record_failed_turn(run, response, prompt, was_cut=was_cut)
            else:
                self._record_asciinema_marker(f"Episode {run.n_episodes}: {len(reply.commands)} commands", "episode")
                prompt = await self._take_turn(run, episode, response, reply)

            unusable = unusable + 1 if reply.error else 0
            cut = cut + 1 if was_cut else 0
            if run.stopped:
                return
            if cut >= max_cut:
                raise RunLimitReached("cut_answers")
            if unusable >= MAX_UNUSABLE_ANSWERS:
                raise RunLimitReached("unusable_answers")
        run.stop("max_episodes")

    async def _ask(self, run: Run, prompt: str) -> LLMResponse:
        """One answer, after the context strategy has made room, and made it again where the provider asked for it."""
        prompt = await run.context.before_request(run, run.with_said(prompt))
        prompt = returned(run.who(run.context), "before_request", prompt, str)
        for _ in range(MAX_RESCUES):
            try:
                return await model_calls.ask(run, prompt)
            except LLMError as error:
                if run.withdraw_images():  # they may be what the provider refuses, or what is too long
                    prompt = f"{prompt}\n\n[The images could not be sent: {error}]"
                elif isinstance(error, ContextLengthExceededError):
                    prompt = await run.context.on_context_length_exceeded(run, prompt)
                    prompt = returned(run.who(run.context), "on_context_length_exceeded", prompt, str)
                else:
                    raise
        try:
            return await model_calls.ask(run, prompt)
        except ContextLengthExceededError as error:
            raise RunLimitReached("context", f"no room in the model's window: {error}") from error

    async def _take_turn(self, run: Run, episode: int, response: LLMResponse, reply: ParseResult) -> str:
        """Carry out what was asked and record it; returns the observation, which is the next prompt."""
        try:
            reply, observed, done, fault = await self._carry_out(run, episode, response, reply)
            content = await run.with_images(observed)
        except BaseException:
            self._record_turn(run, episode, response, reply, texts.INTERRUPTED)
            raise
        self._record_turn(run, episode, response, reply, content)
        if done and not isinstance(fault, EnvironmentFailedError):
            run.stop("completed")
        elif fault is not None:
            raise fault
        return observed

    async def _carry_out(
        self, run: Run, episode: int, response: LLMResponse, reply: ParseResult
    ) -> tuple[ParseResult, str, bool, TerminusError | None]:
        """Gates, commands, actions, completion: the reply as the gates left it, the observation, done, and a fault."""
        reply, refusal = await self._pass_gates(run, reply)
        if refusal is not None:
            return reply, run.parser.with_warnings(reply, texts.clean(refusal)), False, None
        output, timed_out, fault = await self._execute_commands(run, reply.commands)
        observed = "\n\n".join([output, *await self._perform_actions(run, reply)])
        completion = await run.completion.decide(run, Turn(episode, response, reply, output, timed_out, observed))
        completion = returned(run.who(run.completion), "decide", completion, Completion)
        if reply.is_task_complete:
            word = "confirmed" if completion.done else "asked"
            self._record_asciinema_marker(f"Completion {word}", f"completion_{word}")
        observation = run.parser.with_warnings(reply, texts.clean(completion.observation))
        return reply, observation, completion.done, fault

    async def _pass_gates(self, run: Run, reply: ParseResult) -> tuple[ParseResult, str | None]:
        """The reply as the gates left it, and why one of them refused it."""
        if reply.commands or reply.actions:
            for gate in run.gates:
                verdict = await gate.before_commands(run, reply)
                if isinstance(verdict, str):
                    return reply, verdict
                verdict = returned(run.who(gate), "before_commands", verdict, ParseResult, str)
                reply = texts.clamp(verdict, run.settings.agent.max_command_duration_sec, run.actions)
        return reply, None

    async def _execute_commands(self, run: Run, commands: Sequence[Command]) -> tuple[str, bool, TerminusError | None]:
        """Type the batch, then read once; gives the terminal's text, whether it timed out, and what ended it."""
        command: Command | None = None
        session = run.open_session
        session.batch(len(commands))
        try:
            for index, command in enumerate(commands):
                run.journal.typing(command.keystrokes, episode=run.n_episodes, index=index)
                await session.send_keys(command.keystrokes, block=False, min_timeout_sec=command.duration_sec)
                run.hooks.command_sent(run, command, index)
            return await run.look(), False, None
        except TimeoutError:
            return await self._timeout_text(run, command), True, None
        except (SessionClosedError, EnvironmentFailedError) as error:
            return await self._last_words(run, error), False, error

    async def _timeout_text(self, run: Run, command: Command | None) -> str:
        try:
            state: str = await run.look()
        except (TimeoutError, TerminusError):
            state = "not available"
        keystrokes, seconds = (command.keystrokes, command.duration_sec) if command else ("", 0.0)
        keystrokes = texts.limited(keystrokes, run.settings.agent.output_limit_bytes, notice=run.parser.limit_notice)
        return run.parser.timeout_text(keystrokes, seconds, state)

    async def _last_words(self, run: Run, error: TerminusError) -> str:
        """What is still known of a terminal that has ended."""
        try:
            seen = await run.look()
        except (TimeoutError, TerminusError):
            seen = ""
        return f"{seen}\n[{error}]".lstrip()

    async def _perform_actions(self, run: Run, reply: ParseResult) -> list[str]:
        results = []
        for call in reply.actions:
            action = run.actions[call.name]
            try:
                result: Any = await action.perform(run, call.arguments)
            except TerminusError as error:
                result = f"{call.name}: {error}"
            returned(run.who(action), "perform", result, str, list)
            results.append(result if isinstance(result, str) else run.attach(result))
        return results

    # -- records -------------------------------------------------------------------------------------------------------

    def _record_turn(
        self,
        run: Run,
        episode: int,
        response: LLMResponse,
        reply: ParseResult,
        observed: str | list[ContentPart],
    ) -> None:
        raw = run.settings.trajectory.raw_content
        native = run.parser.recorded_calls(response, reply) if response.tool_calls else []
        calls = [] if raw else step_building.tool_calls(episode, reply, native)
        result = step_building.build(ObservationResult, content=observed)
        if len(reply.commands) == 1 and not raw:
            own = {call.tool_call_id for call in calls} & {reply.commands[0].call_id}
            result.source_call_id = own.pop() if own else f"call_{episode}_1"
        run.record_step(
            "agent",
            response.content if raw else texts.step_message(reply),
            response=response,
            tool_calls=calls,
            results=[result],
            model_name=response.model_name or run.llm.model_name,
        )

    def _record_failed_turn(self, run: Run, response: LLMResponse, prompt: str, *, was_cut: bool) -> None:
        run.record_step(
            "agent",
            response.content,
            response=response,
            results=[step_building.build(ObservationResult, content=prompt)],
            extra={"finish_reason": response.finish_reason} if was_cut else None,
            model_name=response.model_name or run.llm.model_name,
        )

    def _get_error_response_type(self) -> str:
        """The parser's own word for what it expects."""
        return self._run.parser.error_response_type if self._run else "response"

    def _record_asciinema_marker(self, marker_text: str, kind: str = "note") -> None:
        """Mark a point in the run for recorders; nobody listening means that nothing happens."""
        if self._run is not None:
            self._run.mark(marker_text, kind)


async def _prepare(run: Run) -> None:
    """What can be known before the first request is checked before it."""
    await run.llm.prepare()
    if run.settings.agent.max_cost_usd is not None and run.llm.knows_price is False:
        raise ConfigError(
            f"max_cost_usd is set, but the price of model {run.llm.model_name!r} is not known; "
            "take the limit off or set the price in the LLM's model_info"
        )
