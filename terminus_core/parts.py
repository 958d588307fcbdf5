"""The parts of an agent: which ones are chosen, by name or as instances, and a new :class:`Run` made of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from terminus_core.errors import ConfigError, PluginError, TerminusError
from terminus_core.manager import PluginManager, listed, name_of
from terminus_core.part_rules import fault_of
from terminus_core.roles import ROLES
from terminus_core.run import Run
from terminus_core.runfile import new_logs_dir
from terminus_core.settings import AgentSettings, Settings, nearest

if TYPE_CHECKING:
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

_MANY = {role.name: role.key for role in ROLES.values() if role.many}
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
    actions: Sequence[str | Action]
    gates: Sequence[str | Gate]
    observers: Sequence[Any]
    strict_plugins: bool
    observers_strict: bool
    max_episodes: int
    max_cost_usd: float | None
    max_time_sec: float | None
    runs_dir: str | Path | None
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
        for key in ("logs_dir", "runs_dir"):
            if named.get(key) is not None:
                named[key] = str(named[key])
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
        for role in ROLES.values():
            one = self._instances.get(role.name) or getattr(self.settings.agent, role.key)
            for each in self._chosen.get(role.name, [one]):
                if isinstance(each, str):
                    self.plugins.config(role.name, each.removeprefix("no:"), self.settings)
                elif isinstance(each, type):
                    raise ConfigError(f"{role.name}: {each.__name__} is a class; expected an instance of it or a name")
                elif role.base is not None and (fault := fault_of(role, type(each))):
                    raise ConfigError(f"{role.name} {name_of(each)!r} cannot be used: {fault}")

    def new_run(self, instruction: str, logs_dir: str | Path | None = None) -> Run:
        """A run with new parts; an instance that was given is used as it is.

        Raises:
            PluginError: a part's constructor failed, or an observer breaks the hook rules.
        """
        settings = self.settings
        session_id = settings.agent.session_id or uuid.uuid4().hex
        one = {role.name: self._one(role.name) for role in ROLES.values() if not role.many}
        many = {role: self._many(role) for role in _MANY}
        parts = [*one.items(), *((role, part) for role, several in many.items() for part in several)]
        return Run(
            instruction=instruction,
            session_id=session_id,
            logs_dir=Path(logs_dir or settings.agent.logs_dir or new_logs_dir(session_id, settings.agent.runs_dir)),
            settings=settings,
            environment=one["environment"],
            backend=one["session"],
            parser=one["parser"],
            llm=one["llm"],
            completion=one["completion"],
            context=one["context"],
            actions={action.name: action for action in many["action"]},
            gates=many["gate"],
            observers=many["observer"],
            hooks=self.plugins.hooks(parts, strict=settings.agent.observers_strict),
            plugins={info.name: info.version for info in self.plugins.infos if info.status == "loaded"},
            names={id(part): self.plugins.who(role, part) for role, part in parts},
        )

    def blame(self, error: BaseException, run: Run) -> bool:
        """Note on a bug in which part of ``run`` it lies: the innermost one that has a hand in it.

        A bug of a hook, or of a constructor, has its note already.

        Returns:
            Whether it lies in a plugin.
        """
        if isinstance(error, TerminusError):
            return isinstance(error, PluginError)
        if hasattr(error, "__notes__"):
            return True
        parts = _parts_of(run)
        for frame, _ in reversed([*walk_tb(error.__traceback__)]):
            module, own = frame.f_globals.get("__name__"), frame.f_locals.get("self")
            exact = [(role, part) for role, part in parts if part is own]
            if found := exact or [(role, part) for role, part in parts if type(part).__module__ == module]:
                role, part = found[0]
                owner = self.plugins.owner(role, part)
                name = f"{role} {name_of(part)!r}" if len(found) == 1 else ""
                error.add_note("in " + ", ".join(filter(None, [str(owner or ""), name])))
                return True
        return False

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
    one = [(role, getattr(run, role)) for role in ROLES if role not in (*_MANY, "session")]
    many = [("action", each) for each in run.actions.values()]
    many += [(role, part) for role in ("gate", "observer") for part in getattr(run, _MANY[role])]
    return [(role, part) for role, part in [*one, ("session", run.session), ("session", run.backend), *many] if part]
