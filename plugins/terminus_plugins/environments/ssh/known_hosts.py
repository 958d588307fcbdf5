"""Host keys: strict, always."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from terminus_core import EnvironmentFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from terminus_plugins.environments.ssh.target import Target

FIELDS = 3


def known_types(target: Target) -> set[str]:
    """The types of the keys that are known of a host: those are asked for first."""
    return {kind for marker, kind, _ in _entries(target) if marker is None}


def check_host_key(target: Target, key: Any) -> None:
    """Accept the key that a server has shown, or refuse the server.

    Raises:
        EnvironmentFailedError: the key is unknown (the text has the line that would accept it), another one than
            the one known, or revoked.
    """
    shown, kind = key.asbytes(), key.get_name()
    same_kind = False
    trusted = False
    for marker, known_kind, known in _entries(target):
        if marker == "@revoked" and known == shown:
            raise EnvironmentFailedError(f"the key of {target} is revoked in your known hosts: not connected")
        if marker is None and known_kind == kind:
            same_kind = True
            trusted |= known == shown
    if trusted:
        return
    file = shlex.quote(str(target.known_hosts[0]))
    name = shlex.quote(target.key_name)
    told = f"{kind} {key.fingerprint}"
    if same_kind:
        raise EnvironmentFailedError(
            f"the key of {target} HAS CHANGED (it now shows {told}): somebody may be in between; not connected. "
            f"If you know that the change is right, forget the old key: ssh-keygen -f {file} -R {name}"
        )
    line = shlex.quote(f"{target.key_name} {kind} {key.get_base64()}")
    raise EnvironmentFailedError(
        f"the key of {target} is unknown ({told}): not connected. If it is the right one: echo {line} >> {file}"
    )


def _entries(target: Target) -> Iterator[tuple[str | None, str, bytes]]:
    """Marker, type and key of each line that is about this host."""
    for path in target.known_hosts:
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            fields = line.split()
            marker = fields.pop(0) if fields and fields[0].startswith("@") else None
            if len(fields) < FIELDS or fields[0].startswith("#") or not _matches(fields[0], target.key_name):
                continue
            try:
                yield marker, fields[1], base64.b64decode(fields[2])
            except binascii.Error:
                continue


def _matches(patterns: str, name: str) -> bool:
    if patterns.startswith("|1|"):
        salt, _, digest = patterns[3:].partition("|")
        try:
            own = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
            return hmac.compare_digest(own, base64.b64decode(digest))
        except binascii.Error:
            return False
    found = False
    for pattern in patterns.split(","):
        # Brackets stand for themselves here: "[host]:2222".
        if fnmatchcase(name.lower(), pattern.lstrip("!").lower().replace("[", "[[]")):
            if pattern.startswith("!"):
                return False
            found = True
    return found
