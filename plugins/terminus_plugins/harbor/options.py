"""The options of the agent: those of Harbor's Terminus 2 under their names, and ours; as settings of Terminus."""

from __future__ import annotations

from typing import Annotated, Any

from harbor.agents.options import AgentOptions
from harbor.agents.session_id_headers import validate_session_id_headers
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field


def _only_litellm(backend: str) -> str:
    if backend != "litellm":
        raise ValueError(
            f"{backend!r} is not supported: other ways to a model are plugins, "
            'chosen by settings={"agent": {"llm": NAME}}'
        )
    return backend


class TrajectoryOptions(BaseModel):
    """What is recorded, and how."""

    model_config = ConfigDict(extra="forbid")

    raw_content: bool = False
    linear_history: bool = False


class TerminusOptions(AgentOptions):  # type: ignore[misc]  # Harbor is not installed where types are checked
    """Harbor passes them as ``--agent-kwarg NAME=VALUE``. Those that are not given leave the settings as they are."""

    max_turns: int | None = Field(
        None,
        ge=1,
        validation_alias=AliasChoices("max_turns", "max_episodes", "episodes"),
        description="Turns until the run ends. Omit for no limit.",
    )
    parser_name: str = Field("json", description="Response parser: json, xml, tools, or a plugin's.")
    api_base: str | None = Field(None, description="URL of the model's server.")
    temperature: float | None = Field(None, description="Sampling temperature. Omit for the provider's own.")
    collect_rollout_details: bool = Field(False, description="Collect token ids and log-probabilities.")
    session_id: str | None = Field(None, min_length=1, description="Id of the run, sent to the model's server too.")
    enable_summarize: bool = Field(True, description="Summarize when the model's window gets full.")
    proactive_summarization_threshold: int = Field(
        8000, ge=0, description="Free tokens below which a summary is made in time. 0 disables it."
    )
    max_thinking_tokens: int | None = Field(None, description="Tokens that thinking may take.")
    model_info: dict[str, Any] | None = Field(None, description="What litellm does not know about the model.")
    trajectory_config: TrajectoryOptions | None = Field(
        None, description="What is recorded: raw_content, linear_history."
    )
    tmux_pane_width: int = Field(160, description="Columns of the terminal.")
    tmux_pane_height: int = Field(40, description="Rows of the terminal.")
    store_all_messages: bool = Field(False, description="Keep the whole chat in the trial's metadata.")
    record_terminal_session: bool = Field(True, description="Record the terminal in recording.cast.")
    interleaved_thinking: bool = Field(False, description="Send the model's reasoning back to it.")
    suppress_max_turns_warning: bool = Field(False, description="No warning about max_turns.")
    use_responses_api: bool = Field(False, description="Use OpenAI's Responses API.")
    llm_backend: Annotated[str, AfterValidator(_only_litellm)] = Field("litellm", description="litellm.")
    llm_kwargs: dict[str, Any] | None = Field(None, description="Keyword arguments for every model call.")
    llm_call_kwargs: dict[str, Any] | None = Field(None, description="More of them, which win, such as extra_body.")
    session_id_headers: Annotated[list[str] | None, AfterValidator(validate_session_id_headers)] = Field(
        None, description="HTTP headers that carry the id of the run."
    )

    settings: dict[str, Any] = Field({}, description="Settings of Terminus, in the form of its settings file.")
    plugins: list[str] = Field([], description="Files or modules to load as plugins; no:NAME blocks one.")
    observers: list[str] = Field([], description="Further observers; no:NAME takes one away.")
    gates: list[str] = Field([], description="Gates, asked in this order.")
    completion: str = Field("two_step", description="Completion policy.")


_AGENT = {
    "max_turns": "max_episodes",
    "parser_name": "parser",
    "collect_rollout_details": "collect_rollout_details",
    "session_id": "session_id",
    "interleaved_thinking": "interleaved_thinking",
    "gates": "gates",
    "completion": "completion",
}
_LLM = ("temperature", "reasoning_effort", "max_thinking_tokens", "model_info", "llm_call_kwargs")
_SESSION = {"tmux_pane_width": "pane_width", "tmux_pane_height": "pane_height"}
_ATTEMPTS = ("max_retries", "num_retries")


class SettingsBuilder:
    """The settings that belong to options: the option ``settings``, and over it whatever was given beside it.

    Attributes:
        data: settings, in the form of the settings file.
    """

    def __init__(self, options: TerminusOptions) -> None:
        self.data: dict[str, Any] = {
            table: {key: dict(value) if isinstance(value, dict) else value for key, value in keys.items()}
            for table, keys in options.settings.items()
        }
        self._given = {name: getattr(options, name) for name in options.model_fields_set}
        self._put("agent", {key: self._given[name] for name, key in _AGENT.items() if self._is_given(name)})
        observers = [*self.agent.get("observers", ["atif", "prompt_caching"]), *options.observers]
        recorder = ["asciinema"] if options.record_terminal_session else []
        self._put("agent", {"observers": list(dict.fromkeys([*observers, *recorder]))})
        if not options.enable_summarize:
            self._put("agent", {"context": "none"})
        if options.trajectory_config is not None:
            self._put("trajectory", options.trajectory_config.model_dump(exclude_unset=True))
        self._put_llm(options)
        pane = {key: self._given[name] for name, key in _SESSION.items() if self._is_given(name)}
        self.part("session", "tmux", pane)
        # What the agent has started is there for the verifier, which comes when the run is over.
        self.data.setdefault("session", {}).setdefault("tmux", {}).setdefault("leave_running", True)
        if self._is_given("proactive_summarization_threshold"):
            threshold = options.proactive_summarization_threshold
            self.part("context", "summarize", {"proactive_summarization_threshold": threshold})

    @property
    def agent(self) -> dict[str, Any]:
        """The table ``[agent]``."""
        table: dict[str, Any] = self.data.setdefault("agent", {})
        return table

    def part(self, role: str, default: str, values: dict[str, Any]) -> None:
        """Set values in the table of the part that has been chosen for a role."""
        if values:
            table = self.data.setdefault(role, {}).setdefault(self.agent.get(role, default), {})
            table.update(values)

    def add_to_llm(self, setting: str, values: dict[str, Any]) -> None:
        """Put values beside those that a table among the settings of the model holds."""
        if values:
            llm = self.data.get("llm", {}).get(self.agent.get("llm", "litellm"), {})
            self.part("llm", "litellm", {setting: {**llm.get(setting, {}), **values}})

    def _is_given(self, name: str) -> bool:
        return self._given.get(name) is not None

    def _put(self, table: str, values: dict[str, Any]) -> None:
        if values:
            self.data.setdefault(table, {}).update(values)

    def _put_llm(self, options: TerminusOptions) -> None:
        values = {name: self._given[name] for name in _LLM if self._is_given(name)}
        kwargs = dict(options.llm_kwargs or {})
        kwargs.pop("litellm_debug", None)  # Harbor's own switch for litellm's noise, which is off here
        if isinstance(kwargs.get("timeout"), int | float):
            values["timeout_sec"] = kwargs.pop("timeout")
        retries = [kwargs.pop(name) for name in _ATTEMPTS if isinstance(kwargs.get(name), int)]
        if retries:
            values["max_attempts"] = max(retries) + 1
        if kwargs:
            values["llm_kwargs"] = kwargs
        if options.use_responses_api:
            values["api"] = "responses"
        self.part("llm", "litellm", values)
        if options.session_id is None:  # a handle of Harbor's is no session of the model's server
            self.data.setdefault("llm", {}).setdefault("litellm", {}).setdefault("session_id", None)
