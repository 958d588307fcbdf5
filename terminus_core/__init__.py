"""terminus_core: a terminal agent as a small loop in which every part is a plugin.

Everything that a plugin author needs is imported from here and from nothing deeper. Names are loaded when they are
first used, so that ``terminus --help`` and plugins that need only a few of them start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from terminus_core.agent import Agent
    from terminus_core.chat import Chat, ContentPart, LLMRequest, LLMResponse, Message, RequestFailure, Usage
    from terminus_core.errors import (
        ConfigError,
        ContextLengthExceededError,
        EnvironmentFailedError,
        LLMError,
        PartFailedError,
        PluginError,
        RunLimitReached,
        SessionClosedError,
        StreamsUnsupportedError,
        TerminusError,
    )
    from terminus_core.hookspecs import hookimpl, hookspec
    from terminus_core.manager import PluginManager
    from terminus_core.processes import describe_process, is_process_there
    from terminus_core.result import RunResult
    from terminus_core.roles import (
        LLM,
        Action,
        CompletionPolicy,
        ContextStrategy,
        Environment,
        EnvironmentProcess,
        Gate,
        Observer,
        Part,
        ResponseParser,
        Session,
        SessionBackend,
    )
    from terminus_core.run import Run
    from terminus_core.secrets import (
        SECRET_FORMS,
        is_secret_name,
        mask_text,
        secret_names,
        secret_texts,
        secret_variables,
    )
    from terminus_core.settings import Settings
    from terminus_core.trajectory import ImageSource, ObservationResult, Step, ToolCall, Trajectory
    from terminus_core.values import (
        ActionCall,
        Command,
        Completion,
        ExecResult,
        Handoff,
        Marker,
        ParseResult,
        RunStatus,
        SessionEvent,
        SessionOptions,
        Subagent,
        TerminalText,
        Turn,
    )

__all__ = [
    "LLM",
    "SECRET_FORMS",
    "Action",
    "ActionCall",
    "Agent",
    "Chat",
    "Command",
    "Completion",
    "CompletionPolicy",
    "ConfigError",
    "ContentPart",
    "ContextLengthExceededError",
    "ContextStrategy",
    "Environment",
    "EnvironmentFailedError",
    "EnvironmentProcess",
    "ExecResult",
    "Gate",
    "Handoff",
    "ImageSource",
    "LLMError",
    "LLMRequest",
    "LLMResponse",
    "Marker",
    "Message",
    "ObservationResult",
    "Observer",
    "ParseResult",
    "Part",
    "PartFailedError",
    "PluginError",
    "PluginManager",
    "RequestFailure",
    "ResponseParser",
    "Run",
    "RunLimitReached",
    "RunResult",
    "RunStatus",
    "Session",
    "SessionBackend",
    "SessionClosedError",
    "SessionEvent",
    "SessionOptions",
    "Settings",
    "Step",
    "StreamsUnsupportedError",
    "Subagent",
    "TerminalText",
    "TerminusError",
    "ToolCall",
    "Trajectory",
    "Turn",
    "Usage",
    "describe_process",
    "hookimpl",
    "hookspec",
    "is_process_there",
    "is_secret_name",
    "mask_text",
    "secret_names",
    "secret_texts",
    "secret_variables",
]

# Modules from light to heavy, with what they are the home of beside the roles.
_HOMES = {
    "errors": "RunLimitReached",
    "hookspecs": "hookimpl hookspec",
    "secrets": "SECRET_FORMS is_secret_name mask_text secret_names secret_texts secret_variables",
    "chat": "Chat ContentPart LLMRequest LLMResponse Message RequestFailure Usage",
    "settings": "Settings",
    "values": "ActionCall Command Completion ExecResult Handoff Marker ParseResult RunStatus SessionEvent "
    "SessionOptions Subagent TerminalText Turn",
    "trajectory": "ImageSource ObservationResult Step ToolCall Trajectory",
    "manager": "PluginManager",
    "processes": "describe_process is_process_there",
    "result": "RunResult",
    "run": "Run",
    "agent": "Agent",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names.split()), "roles")
    if name.endswith("Error"):
        home = "errors"
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
