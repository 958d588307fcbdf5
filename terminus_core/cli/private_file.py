"""Files that belong to the user alone."""

from __future__ import annotations

import os
from pathlib import Path

from terminus_core.errors import ConfigError


def write_private_file(path: Path, text: str) -> None:
    """Replace a file at once by one with mode 0600; its folder is made if it is not there.

    Raises:
        ConfigError: it cannot be written.
    """
    target = path.resolve()  # a link to a file elsewhere, as dotfiles often are, stays one
    fresh = target.with_name(f".{target.name}.new")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(target)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from None
