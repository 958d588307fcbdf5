"""What is known about a host before it is connected to: our settings over ``~/.ssh/config``."""

from __future__ import annotations

import getpass
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import paramiko

from terminus_core import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from terminus_plugins.environments.ssh.config import SshConfig

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
SYSTEM_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts"
DEFAULT_KEYS = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
DEFAULT_PORT = 22
MAX_DEPTH = 16
"""Of includes, and of jumps."""
NAME = re.compile(r"""(?!-)[^\s\0-\x20'"`$\\;&<>|(){}*?!~#]+""")
"""What a host or a user may look like: either may end up in the words of a ProxyCommand, which a shell reads."""
PLACE = re.compile(r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?P<host>\[[^\]]+\]|[^:]+)(?::(?P<port>\d+))?/?")


@dataclass(slots=True)
class Target:
    """A host, ready to be connected to."""

    host: str
    """Name or address to connect to."""
    port: int
    user: str
    key_name: str
    """What it is called in a file of known hosts."""
    known_hosts: list[Path]
    keys: list[Path]
    key_is_asked_for: bool
    """The only key is one that the settings name: it must be usable."""
    identities_only: bool
    proxy_command: str | None = None
    jumps: list[Target] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" + (f":{self.port}" if self.port != DEFAULT_PORT else "")


def find_target(config: SshConfig) -> Target:
    """The host that the settings name.

    Raises:
        ConfigError: SSH's settings file cannot be understood, or a name is none.
    """
    target = _find(config.host, config, port=config.port, user=config.user, depth=0)
    if config.key is not None:
        target.keys, target.key_is_asked_for, target.identities_only = [Path(config.key).expanduser()], True, True
    return target


def _find(place: str, config: SshConfig, *, port: int | None, user: str | None, depth: int) -> Target:
    if (match := PLACE.fullmatch(place)) is None or depth > MAX_DEPTH:
        raise ConfigError(f"{place!r} is no SSH host" if match is None else f"{place!r}: ProxyJump goes in a circle")
    alias = match["host"].strip("[]")
    port = port or (int(match["port"]) if match["port"] else None)
    user = user or match["user"]
    for name in filter(None, (alias, user)):
        if not NAME.fullmatch(name):
            raise ConfigError(f"{name!r} is no name of an SSH host or user")
    # Given names stand first, so that Match and the tokens of ProxyCommand see them.
    given = "".join(f"{key} {value}\n" for key, value in (("User", user), ("Port", port)) if value)
    options = _lookup(alias, given, Path(config.ssh_config).expanduser())
    if not (number := str(options.get("port", DEFAULT_PORT))).isdigit():
        raise ConfigError(f"cannot understand {config.ssh_config}: the port of {alias} is {number!r}")
    port = int(number)
    host = options["hostname"]
    known_hosts = (
        [config.known_hosts]
        if config.known_hosts
        else options.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2").split()
        + options.get("globalknownhostsfile", SYSTEM_KNOWN_HOSTS).split()
    )
    target = Target(
        host=host,
        port=port,
        user=options.get("user") or getpass.getuser(),
        key_name=options.get("hostkeyalias") or (host if port == DEFAULT_PORT else f"[{host}]:{port}"),
        known_hosts=[Path(name).expanduser() for name in known_hosts],
        keys=[Path(name).expanduser() for name in options.get("identityfile", DEFAULT_KEYS) if name != "none"],
        key_is_asked_for=False,
        identities_only=options.get("identitiesonly", "no").lower() == "yes",
    )
    jumps = options.get("proxyjump")
    if jumps and jumps.lower() != "none":
        target.jumps = [_find(jump.strip(), config, port=None, user=None, depth=depth + 1) for jump in jumps.split(",")]
    else:
        target.proxy_command = options.get("proxycommand")
    return target


def _lookup(alias: str, given: str, config_file: Path) -> dict[str, Any]:
    """Everything that SSH's settings files say about a host."""
    lines = given.splitlines()
    for path in (config_file, SYSTEM_CONFIG):
        lines += ["Host *", *_lines(path, path.parent, alias, 0)]
    try:
        return dict(paramiko.SSHConfig.from_text("\n".join(lines)).lookup(alias))
    except (paramiko.SSHException, ImportError, ValueError, KeyError) as error:
        raise ConfigError(f"cannot understand {config_file}: {error}") from error


def _lines(path: Path, folder: Path, alias: str, depth: int) -> Iterator[str]:
    """The lines of a settings file, with those of the files that it includes for this host in their place."""
    try:
        text = path.read_text(errors="surrogateescape")
    except OSError:
        return
    block = "Host *"
    for line in text.splitlines():
        key, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if key.lower() in ("host", "match"):
            block = line
        if key.lower() != "include":
            yield line
        elif depth < MAX_DEPTH and _applies(block, alias):
            for pattern in value.split():
                wanted = folder / Path(pattern.strip('"')).expanduser()
                for found in sorted(Path(wanted.anchor).glob(str(wanted.relative_to(wanted.anchor)))):
                    yield "Host *"
                    yield from _lines(found, folder, alias, depth + 1)
            yield block


def _applies(block: str, alias: str) -> bool:
    """Whether the lines below ``block`` are for this host."""
    return "marker" in paramiko.SSHConfig.from_text(f"{block}\nMarker yes").lookup(alias)
