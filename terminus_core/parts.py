"""The parts of an agent: which ones are chosen, by name or as instances, and a new :class:`Run` made of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from terminus_core.errors import ConfigError
from terminus_core.hooks import ROLES
from terminus_core.manager import PluginManager, listed
from terminus_core.run import Run, new_logs_dir
from terminus_core.settings import AgentSettings, Settings, nearest
from terminus_core.shapes import fault_of

if TYPE_CHECKING:
    from terminus_core.roles import (
        LLM,
        CompletionPolicy,
        ContextStrategy,
        Environment,
        Gate,
        ResponseParser,
        SessionBackend,
    )

_MANY = {"gate": "gates", "observer": "observers"}
"""Roles with any number of parts, and their ``[agent]`` keys."""


class AgentKeys(TypedDict, total=False):
    """The keywords of :class:`Agent`: the ``[agent]`` keys; a part is a name or an instance."""

    llm: str | LLM
    model: str | None
    parser: str | ResponseParser
    session: str | SessionBackend
    environment: str | Environment
    completion: str | CompletionPolicy
    context: str | ContextStrategy
    gates: Sequence[str | Gate]
    observers: Sequence[Any]
    strict_plugins: bool
    observers_strict: bool
    max_episodes: int
    max_cost_usd: float | None
    max_time_sec: float | None
    logs_dir: str | Path | None
    session_id: str | None
    interleaved_thinking: bool
    collect_rollout_details: bool
    on_output_limit: Literal["repair", "abort"]
    output_limit_bytes: int
    max_command_duration_sec: float


class Parts:
    """What an agent is made of.

    Args:
        settings: a :class:`Settings`, or nested data of the same form as the settings file.
        plugins: further plugins beside the entry points and those of the settings.
        keys: the ``[agent]`` keys; they win over ``settings``.

    Raises:
        ConfigError: a setting or a part's name is unknown or wrong.
        PluginError: a plugin that was asked for cannot be used, or two bring the same part.
    """

    def __init__(
        self, settings: Settings | Mapping[str, Any] | None, plugins: Iterable[Any], keys: Mapping[str, Any]
    ) -> None:
        if unknown := keys.keys() - AgentSettings.model_fields.keys():
            name = min(unknown)
            raise ConfigError(f"Agent has no keyword {name!r}; {nearest(name, AgentSettings.model_fields)}")
        self._instances = {role: keys[role] for role in ROLES if role in keys and not isinstance(keys[role], str)}
        named = {key: value for key, value in keys.items() if key not in self._instances}
        if named.get("logs_dir") is not None:
            named["logs_dir"] = str(named["logs_dir"])
        self._chosen: dict[str, Sequence[Any]] = {}
        for role, key in _MANY.items():
            if key in named:
                self._chosen[role] = listed(named[key])
                named[key] = [each for each in self._chosen[role] if isinstance(each, str)]
        data = settings.model_dump(exclude_unset=True) if isinstance(settings, Settings) else dict(settings or {})
        self.settings: Settings = Settings.check({**data, "agent": {**data.get("agent", {}), **named}})
        for role, key in _MANY.items():
            self._chosen.setdefault(role, getattr(self.settings.agent, key))
        agent = self.settings.agent
        self.plugins: PluginManager = PluginManager([*agent.plugins, *listed(plugins)], strict=agent.strict_plugins)
        self.plugins.check(self.settings)
        self._check_chosen()

    def _check_chosen(self) -> None:
        for role in ROLES:
            one = self._instances[role] if role in self._instances else getattr(self.settings.agent, role, None)
            for each in self._chosen.get(role, [one]):
                if isinstance(each, str):
                    self.plugins.config(role, each.removeprefix("no:"), self.settings)
                elif fault := fault_of(role, each):
                    raise ConfigError(f"{role} {name_of(each)!r} cannot be used: {fault}")

    def new_run(self, instruction: str) -> Run:
        """A run with new parts; an instance that was given is used as it is.

        Raises:
            PluginError: a part's constructor failed, or an observer breaks the hook rules.
        """
        settings = self.settings
        session_id = settings.agent.session_id or uuid.uuid4().hex
        observers = self._many("observer")
        return Run(
            instruction=instruction,
            session_id=session_id,
            logs_dir=Path(settings.agent.logs_dir or new_logs_dir(session_id)),
            settings=settings,
            environment=self._one("environment"),
            backend=self._one("session"),
            parser=self._one("parser"),
            llm=self._one("llm"),
            completion=self._one("completion"),
            context=self._one("context"),
            gates=self._many("gate"),
            observers=observers,
            hooks=self.plugins.dispatcher(observers, strict=settings.agent.observers_strict),
            plugins={info.name: info.version for info in self.plugins.infos if info.status == "loaded"},
        )

    def blame(self, error: BaseException, run: Run) -> None:
        """Note on a bug in which part of ``run`` it lies: the innermost one that has a hand in it.

        A bug of a hook, or of a constructor, has its note already.
        """
        parts = _parts_of(run)
        for frame, _ in () if hasattr(error, "__notes__") else reversed([*walk_tb(error.__traceback__)]):
            module, own = frame.f_globals.get("__name__"), frame.f_locals.get("self")
            exact = [(role, part) for role, part in parts if part is own]
            if found := exact or [(role, part) for role, part in parts if type(part).__module__ == module]:
                role, part = found[0]
                owner = self.plugins.owner(role, part)
                name = f"{role} {name_of(part)!r}" if len(found) == 1 else ""
                error.add_note("in " + ", ".join(filter(None, [str(owner or ""), name])))
                return

    def _one(self, role: str) -> Any:
        if role in self._instances:
            return self._instances[role]
        return self.plugins.build(role, getattr(self.settings.agent, role), self.settings)

    def _many(self, role: str) -> list[Any]:
        """In order, each once; ``no:NAME`` takes one out again."""
        chosen = self._chosen[role]
        out = {each.removeprefix("no:") for each in chosen if isinstance(each, str) and each.startswith("no:")}
        wanted = {  # an instance need not be hashable
            each if isinstance(each, str) else id(each): each
            for each in chosen
            if not isinstance(each, str) or (each not in out and not each.startswith("no:"))
        }
        built = self.plugins.build
        return [built(role, each, self.settings) if isinstance(each, str) else each for each in wanted.values()]


def _parts_of(run: Run) -> list[tuple[str, Any]]:
    """Each part with its role, the open session too."""
    parts = [(role, getattr(run, role)) for role in ROLES if role not in _MANY]
    many = [(role, part) for role, key in _MANY.items() for part in getattr(run, key)]
    return [(role, part) for role, part in [*parts, ("session", run.backend), *many] if part is not None]


def name_of(part: Any) -> str:
    """A part's name, of an unnamed one its class's."""
    return str(getattr(part, "name", type(part).__name__))
