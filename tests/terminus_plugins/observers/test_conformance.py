"""The observers pass the suite that other people's observers run."""

import pytest

from terminus_core.testing import ObserverTests
from terminus_plugins.observers.asciinema import AsciinemaObserver
from terminus_plugins.observers.atif import AtifObserver
from terminus_plugins.observers.compact_old_output import CompactOldOutput
from terminus_plugins.observers.instruction_extra import InstructionExtra
from terminus_plugins.observers.loop_guard import LoopGuard
from terminus_plugins.observers.otel import OtelConfig, OtelObserver
from terminus_plugins.observers.prompt_caching import PromptCaching
from terminus_plugins.observers.redact.observer import Redact
from terminus_plugins.observers.stuck_shell import StuckShell


class TestAtif(ObserverTests):
    capabilities = frozenset({"trio", "files"})

    @pytest.fixture
    def make_observer(self):
        return AtifObserver


class TestAsciinema(ObserverTests):
    capabilities = frozenset({"trio", "files"})

    @pytest.fixture
    def make_observer(self):
        return AsciinemaObserver


class TestPromptCaching(ObserverTests):
    capabilities = frozenset({"trio", "changes_messages"})

    @pytest.fixture
    def make_observer(self):
        return lambda: PromptCaching(PromptCaching.Config(enabled=True))


class TestCompactOldOutput(ObserverTests):
    capabilities = frozenset({"trio", "changes_messages"})

    @pytest.fixture
    def make_observer(self):
        return lambda: CompactOldOutput(CompactOldOutput.Config(keep_turns=1, step_turns=1, keep_chars=1))


class TestInstructionExtra(ObserverTests):
    capabilities = frozenset({"trio", "changes_prompts"})

    @pytest.fixture
    def make_observer(self):
        return lambda: InstructionExtra(InstructionExtra.Config(text="Be quick."))


class TestLoopGuard(ObserverTests):
    capabilities = frozenset({"trio", "changes_prompts"})

    @pytest.fixture
    def make_observer(self):
        return lambda: LoopGuard(LoopGuard.Config(same=2, error=2))


class TestStuckShell(ObserverTests):
    capabilities = frozenset({"trio", "changes_prompts"})

    @pytest.fixture
    def make_observer(self):
        return lambda: StuckShell(StuckShell.Config(silent_turns=1))


class TestRedact(ObserverTests):
    capabilities = frozenset({"trio", "changes_messages", "changes_observation"})

    @pytest.fixture
    def make_observer(self):
        return lambda: Redact(Redact.Config(secrets=["seen"]))


class TestOtel(ObserverTests):
    @pytest.fixture
    def make_observer(self):
        sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="needs the extra otel")
        return lambda: OtelObserver(
            OtelConfig(content=True), tracer_provider=sdk.TracerProvider(shutdown_on_exit=False)
        )
