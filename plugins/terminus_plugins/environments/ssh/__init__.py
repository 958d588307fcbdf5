"""Environment ``ssh``: commands run on a host that is reached over SSH."""

from __future__ import annotations

from terminus_core import Environment, hookimpl
from terminus_plugins.environments.ssh.config import SshConfig
from terminus_plugins.environments.ssh.environment import SshEnvironment

__all__ = ["SshConfig", "SshEnvironment"]


@hookimpl
def terminus_register_environments() -> list[type[Environment]]:
    """The environment of this package."""
    return [SshEnvironment]
