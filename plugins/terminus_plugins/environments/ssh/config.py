"""Settings of environment ``ssh``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SshConfig(BaseModel):
    """The table ``[environment.ssh]``. What is unset comes from ``~/.ssh/config``, else from SSH's own defaults."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    host: str = Field(description="the host, or its alias in ~/.ssh/config")
    port: int | None = Field(None, ge=1, le=65535, description="port of its SSH server")
    user: str | None = Field(None, description="user to log in as")
    key: str | None = Field(None, description="private key file; unset: IdentityFile, the agent, the default files")
    known_hosts: str | None = Field(None, description="file with the host keys to trust")
    ssh_config: str = Field("~/.ssh/config", description="SSH's settings file; /dev/null for none")
    connect_timeout: float = Field(10.0, gt=0, allow_inf_nan=False, description="seconds until a connection stands")
    alive_timeout: float = Field(
        10.0, gt=0, allow_inf_nan=False, description="seconds without an answer until a connection counts as lost"
    )
    reconnect_timeout: float = Field(
        60.0, ge=0, allow_inf_nan=False, description="seconds that a lost connection may take to be repaired"
    )
    max_channels: int = Field(
        10, ge=1, description="channels on one connection (MaxSessions of the server); more make a further connection"
    )
