"""Logging in: keys of the agent, keys in files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import paramiko

from terminus_core import EnvironmentFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from terminus_plugins.environments.ssh.target import Target


def log_in(transport: Any, target: Target) -> None:
    """Offer one key after the other until one is accepted.

    Raises:
        EnvironmentFailedError: none is; the text says what was tried.
        paramiko.SSHException, OSError, EOFError: the connection broke.
    """
    with closing(paramiko.Agent()) as agent:
        _offer(transport, target, agent)


def _offer(transport: Any, target: Target, agent: Any) -> None:
    tried: list[str] = []
    locked: list[Path] = []
    for told, key in _candidates(target, agent, locked):
        tried.append(told)
        try:
            further = transport.auth_publickey(target.user, key)
        except paramiko.BadAuthenticationType as error:
            ways = ", ".join(error.allowed_types)
            raise EnvironmentFailedError(f"{target} lets nobody in by key, only by {ways}") from error
        except paramiko.AuthenticationException as error:
            if transport.is_active():
                continue
            if len(tried) == 1:  # no answer at all: paramiko calls that a refusal too
                raise EOFError from error
            break  # "Too many authentication failures"
        if not further:
            return
        raise EnvironmentFailedError(f"{target} asks for more than a key: {', '.join(further)}")
    cure = f"; {locked[0]} is locked by a passphrase: ssh-add {locked[0]}" if locked else ""
    raise EnvironmentFailedError(
        f"{target} accepts none of the keys tried ({', '.join(tried) or 'there is none'}){cure}"
    )


def _candidates(target: Target, agent: Any, locked: list[Path]) -> Iterator[tuple[str, Any]]:
    """Keys in the order in which SSH tries them; files that need a passphrase go to ``locked``."""
    held = agent.get_keys()
    wanted = {blob for path in target.keys if (blob := _public(path))}
    yield from (("agent", key) for key in held if key.asbytes() in wanted)
    for path in target.keys:
        try:
            key = paramiko.PKey.from_path(path)
        except (paramiko.PasswordRequiredException, TypeError):  # TypeError: cryptography's word for it
            locked.append(path)
        except FileNotFoundError as error:
            if target.key_is_asked_for:
                raise EnvironmentFailedError(f"there is no key file {str(path)!r}") from error
        except (OSError, ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as error:
            if target.key_is_asked_for:
                raise EnvironmentFailedError(f"cannot use the key file {str(path)!r}: {error}") from error
        else:
            yield str(path), key
    if not target.identities_only:
        yield from (("agent", key) for key in held if key.asbytes() not in wanted)


def _public(path: Path) -> bytes | None:
    """The public half that lies beside a key file."""
    try:
        return bytes(paramiko.PublicBlob.from_file(f"{path}.pub").key_blob)
    except (OSError, ValueError, IndexError):
        return None
