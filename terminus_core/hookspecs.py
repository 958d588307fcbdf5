"""Every hook of terminus_core.

Plain functions, grouped by when they are called. An implementation may take fewer arguments than the hook offers;
hooks only ever gain arguments. Each docstring ends with who may implement the hook and what happens to a failing one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse, Message, RequestFailure
    from terminus_core.result import RunResult
    from terminus_core.roles import (
        LLM,
        Action,
        CompletionPolicy,
        ContextStrategy,
        Environment,
        Gate,
        ResponseParser,
        SessionBackend,
    )
    from terminus_core.run import Run
    from terminus_core.trajectory import Step
    from terminus_core.values import Command, Handoff, Marker, ParseResult, Subagent

PROJECT = "terminus_core"
"""pluggy's project name and the entry point group."""

hookspec: pluggy.HookspecMarker = pluggy.HookspecMarker(PROJECT)
hookimpl: pluggy.HookimplMarker = pluggy.HookimplMarker(PROJECT)
"""Decorator for hook implementations, on functions of a plugin module or methods of an observer."""


# -- registration: which parts a plugin brings -------------------------------------------------------------------------


@hookspec
def terminus_register_environments() -> Sequence[type[Environment]]:  # type: ignore[empty-body]
    """Places where commands run.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_session_backends() -> Sequence[type[SessionBackend]]:  # type: ignore[empty-body]
    """Ways to drive a terminal in an environment.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_response_parsers() -> Sequence[type[ResponseParser]]:  # type: ignore[empty-body]
    """Answer formats: prompt text, parsing, words for errors and completion.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_llms() -> Sequence[type[LLM]]:  # type: ignore[empty-body]
    """Ways to ask a model.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_completion_policies() -> Sequence[type[CompletionPolicy]]:  # type: ignore[empty-body]
    """Rules for when a claim of completion counts.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_context_strategies() -> Sequence[type[ContextStrategy]]:  # type: ignore[empty-body]
    """Ways to keep the chat inside the model's window.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_actions() -> Sequence[type[Action]]:  # type: ignore[empty-body]
    """What a reply may ask for beside keystrokes.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_gates() -> Sequence[type[Gate]]:  # type: ignore[empty-body]
    """Awaited checks before anything is typed.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


@hookspec
def terminus_register_observers() -> Sequence[type[Any]]:  # type: ignore[empty-body]
    """Observers: classes whose methods implement events and filters; one instance a run.

    Implemented by plugins. A failing implementation makes its plugin unusable, with the reason.
    """


# -- events, in the order of a run: observed, never awaited ------------------------------------------------------------


@hookspec
def terminus_run_started(run: Run) -> None:
    """The session is open and its shell reads; nothing has been asked yet.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_request_started(run: Run, attempt: int) -> None:
    """A request to the model is about to be sent; ``attempt`` counts from 1 for each answer wanted.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_request_failed(run: Run, failure: RequestFailure) -> None:
    """A request to the model failed and another one will follow, after a pause.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_response_received(run: Run, response: LLMResponse, reply: ParseResult) -> None:
    """An answer has come and been parsed; totals are up to date, nothing has been typed.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_command_sent(run: Run, command: Command, index: int) -> None:
    """A command has been typed and its wait is over; ``index`` counts from 0 in its batch.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_record_marker(run: Run, marker: Marker) -> None:
    """Something worth finding again in a recording.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_step_recorded(run: Run, step: Step, segment: int) -> None:
    """A step is complete; trajectory sinks save here. With linear history ``segment`` counts the documents from 0.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_subagent_finished(run: Run, subagent: Subagent) -> None:
    """A model call beside the chat has been answered and counted.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_history_replaced(run: Run, handoff: Handoff) -> None:
    """The chat's history has been swapped; copied steps and the hand-over step follow.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


@hookspec
def terminus_run_finished(run: Run, result: RunResult) -> None:
    """The run has ended, in whatever way; totals are final. Observers are left after this.

    Implemented by plugins and observers. A failing implementation is logged, the others are still called.
    """


# -- filters: each gets what the one before gave, None means unchanged -------------------------------------------------


@hookspec
def terminus_prepare_instruction(run: Run, instruction: str) -> str | None:
    """The instruction on its way into the first prompt; ``run.instruction`` stays as it was given.

    Implemented by plugins and observers. A failing implementation is logged and counts as unchanged.
    """


@hookspec
def terminus_prepare_messages(run: Run, messages: list[Message]) -> list[Message] | None:
    """What is sent to the model. Return a new list; never change the one given, it is the chat's own.

    Implemented by plugins and observers. A failing implementation is logged and counts as unchanged.
    """


@hookspec
def terminus_filter_observation(run: Run, text: str) -> str | None:
    """The terminal's bare rows, before the limit and before headings.

    Implemented by plugins and observers. A failing implementation is logged and counts as unchanged.
    """


@hookspec
def terminus_redact(run: Run, text: str) -> str | None:
    """Any text on its way into a file or to an observer: steps, answers, commands, markers, recordings.

    Everything that events publish goes through here first. It must be pure: the same text gives the same result.

    Implemented by plugins and observers. A failing implementation is logged and counts as unchanged.
    """
