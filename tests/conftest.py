"""What every test may rely on: both event loops, and nobody's settings."""

import os

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture(autouse=True)
def _nobody_home(monkeypatch, tmp_path_factory):
    """No settings file and no TERMINUS_ variable of the person who runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
    for name in [name for name in os.environ if name.startswith("TERMINUS_") and "__" in name]:
        monkeypatch.delenv(name)
