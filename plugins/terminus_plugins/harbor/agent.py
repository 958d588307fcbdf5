"""The agent as Harbor knows agents."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar

from harbor.agents.agent_auth_resolution import ModelConnectionSpec, require_api_key_for_default_endpoint
from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.terminus_2.terminus_2 import Terminus2
from harbor.llms.litellm_config import litellm_api_base, litellm_credential_kwargs, litellm_model_name
from harbor.models.model_api_format import ModelApiFormat

from terminus_core import Agent, TerminusError
from terminus_plugins.harbor.context import ContextFiller, InstructionExtra
from terminus_plugins.harbor.environment import HarborEnvironment
from terminus_plugins.harbor.offers import mcp_text, skills_text
from terminus_plugins.harbor.options import SettingsBuilder, TerminusOptions

if TYPE_CHECKING:
    from pathlib import Path

    from harbor.agents.options import AgentOptions
    from harbor.environments.base import BaseEnvironment
    from harbor.models.agent.context import AgentContext

INSTALL_SEC = 300.0
INSTALL_TMUX = """\
command -v tmux >/dev/null 2>&1 && exit
if command -v apt-get; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y -qq --no-install-recommends tmux
elif command -v apk; then apk add --no-cache tmux
elif command -v dnf; then dnf install -y tmux
elif command -v microdnf; then microdnf install -y tmux
elif command -v yum; then yum install -y tmux
elif command -v zypper; then zypper --non-interactive install tmux
elif command -v pacman; then pacman -Sy --noconfirm tmux
else echo 'there is no package manager to install tmux with'; exit 1
fi
"""


class TerminusAgent(BaseAgent):  # type: ignore[misc]  # Harbor is not installed where types are checked
    """Terminus in Harbor's environments, with the options of Harbor's Terminus 2."""

    options_model: ClassVar[type[AgentOptions]] = TerminusOptions
    capabilities: ClassVar[AgentCapabilities] = AgentCapabilities(
        base_url=True, reasoning_effort=True, atif=True, skills=True, mcp_servers=True
    )
    # Where keys and URLs come from is the same as for the agent whose place this one takes.
    MODEL_CONNECTION: ClassVar[ModelConnectionSpec] = Terminus2.MODEL_CONNECTION

    def __init__(self, logs_dir: Path, model_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(logs_dir, model_name, **kwargs)
        self.settings = self._build_settings()
        if self.options.max_turns is not None and not self.options.suppress_max_turns_warning:
            self.logger.warning(
                "max_turns ends the run after %d turns, whatever it has reached", self.options.max_turns
            )
        self._make([])  # a wrong setting or an unknown part is told before any trial begins

    @staticmethod
    def name() -> str:
        """The name in trajectories."""
        return "terminus-core"

    def version(self) -> str | None:
        """The installed version."""
        try:
            return version("terminus-agent")
        except PackageNotFoundError:
            return None

    @classmethod
    def check_model_credentials(cls, connection: Any, **_: Any) -> None:
        """Ask for the key of a provider that is known to want one."""
        require_api_key_for_default_endpoint(connection, cls.name())

    @classmethod
    def resolve_model_connection_config(cls, model_name: str | None, resolve_env: Any, **given: Any) -> Any:
        """Options that name a URL, a key or an API count like Harbor's own."""
        options = given.get("kwargs") or {}
        if given.get("model_api_format") is None and options.get("use_responses_api"):
            given["model_api_format"] = ModelApiFormat.OPENAI_RESPONSES
        given["model_api_key_from_kwargs"] = (options.get("llm_kwargs") or {}).get("api_key")
        given["base_url_from_kwargs"] = options.get("api_base") or None
        return super().resolve_model_connection_config(model_name, resolve_env, **given)

    async def setup(self, environment: BaseEnvironment) -> None:
        """Put tmux in place where it is missing; what stands against it is told by the run itself."""
        try:
            done = await HarborEnvironment(environment).exec(INSTALL_TMUX, user="root", timeout_sec=INSTALL_SEC)
        except (TimeoutError, TerminusError) as error:
            self.logger.warning("tmux could not be installed: %s", error)
            return
        if done.return_code != 0:
            said = (done.stderr.strip() or done.stdout.strip() or "no word about why").splitlines()[-1]
            self.logger.warning("tmux could not be installed: %s", said)

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Work on the task.

        Raises:
            TerminusError: the provider, the environment or the terminal failed; the context and the files are complete.
        """
        place = HarborEnvironment(environment)
        extra = [mcp_text(self.mcp_servers), await skills_text(place, self.skills_dir)]
        text = "\n\n".join(part for part in extra if part)
        observers: list[Any] = [ContextFiller(context, store_all_messages=self.options.store_all_messages)]
        if text:
            observers.append(InstructionExtra(text))
        self.settings = self._build_settings()  # Harbor has said meanwhile which trial this is
        result = await self._make(observers, environment=place).run(instruction)
        if result.error is not None:
            raise result.error

    def _make(self, observers: list[Any], **parts: Any) -> Agent:
        names = self.settings["agent"]["observers"]
        return Agent(
            settings=self.settings,
            plugins=self.options.plugins,
            observers=[*names, *observers],
            logs_dir=self.logs_dir,
            **parts,
        )

    def _build_settings(self) -> dict[str, Any]:
        builder = SettingsBuilder(self.options)
        if session_id := builder.agent.get("session_id") or self.session_id:
            builder.agent["session_id"] = session_id
        if self.model_name is not None:
            builder.agent["model"] = litellm_model_name(
                self.model_name,
                model_api_format=self._model_api_format,
                skip_model_parsing=self.skip_model_parsing,
            )
            self._put_connection(builder)
        if self.options.session_id_headers and session_id:
            given = (self.options.llm_call_kwargs or {}).get("extra_headers") or {}
            headers = given | dict.fromkeys(self.options.session_id_headers, session_id)
            builder.add_to_llm("llm_call_kwargs", {"extra_headers": headers})
        return builder.data

    def _put_connection(self, builder: SettingsBuilder) -> None:
        connection = self.model_connection
        api_base = litellm_api_base(connection, model_api_format=self._model_api_format)
        kwargs = self.options.llm_kwargs or {}
        credentials = litellm_credential_kwargs(connection, explicit_env=self._extra_env, model_kwargs=kwargs)
        values: dict[str, Any] = {"api_base": api_base} if api_base else {}
        if connection.model_api_format == ModelApiFormat.OPENAI_RESPONSES:
            values["api"] = "responses"
        builder.part("llm", "litellm", values)
        builder.add_to_llm("llm_kwargs", credentials)
