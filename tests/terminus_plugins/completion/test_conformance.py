"""The completion policies pass the suite that other people's policies run."""

import pytest

from terminus_core.testing import CompletionPolicyTests
from terminus_plugins.completion.checklist import Checklist
from terminus_plugins.completion.single import Single
from terminus_plugins.completion.two_step import TwoStep
from terminus_plugins.completion.verify import Verify
from terminus_plugins.environments.local import LocalEnvironment


class TestTwoStep(CompletionPolicyTests):
    capabilities = frozenset({"trio", "asks"})

    @pytest.fixture
    def policy(self):
        return TwoStep()


class TestChecklist(CompletionPolicyTests):
    capabilities = frozenset({"trio", "asks"})

    @pytest.fixture
    def policy(self):
        return Checklist(Checklist.Config())


class TestSingle(CompletionPolicyTests):
    max_claims = 1

    @pytest.fixture
    def policy(self):
        return Single()


class TestVerify(CompletionPolicyTests):
    max_claims = 1

    @pytest.fixture
    def policy(self):
        return Verify(Verify.Config(command="true"))

    @pytest.fixture
    def environment(self):
        return LocalEnvironment()
