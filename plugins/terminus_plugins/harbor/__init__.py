"""Terminus as an agent of the benchmark harness Harbor: ``harbor run --agent terminus_plugins.harbor:TerminusAgent``.

Nothing here is loaded by Terminus itself: Harbor imports it, and needs Python 3.12.
"""

from __future__ import annotations

try:
    import harbor as _harbor  # noqa: F401 - told in one line where it is missing
except ImportError as error:
    raise ImportError("Harbor is not installed: pip install 'terminus-agent[harbor]' (Python 3.12 or newer)") from error

from terminus_plugins.harbor.agent import TerminusAgent
from terminus_plugins.harbor.environment import HarborEnvironment
from terminus_plugins.harbor.options import TerminusOptions

__all__ = ["HarborEnvironment", "TerminusAgent", "TerminusOptions"]
