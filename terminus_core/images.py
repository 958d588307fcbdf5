"""Images of a run as files beside its trajectory."""

from __future__ import annotations

import base64
import errno
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from terminus_core.trajectory import ContentPart, ImageSource

if TYPE_CHECKING:
    from terminus_core import chat

logger = logging.getLogger(__name__)


async def keep_images(folder: Path, parts: Sequence[chat.ContentPart]) -> tuple[list[ContentPart], list[Path]]:
    """Write images into ``folder``, each once; give the parts that refer to them, and the new files.

    An image that cannot be written is logged and not referred to.
    """
    return await to_thread.run_sync(_keep, folder, parts)


def _keep(folder: Path, parts: Sequence[chat.ContentPart]) -> tuple[list[ContentPart], list[Path]]:
    kept, files = [], []
    for part in parts:
        url = part["image_url"]["url"]
        try:
            source = ImageSource.of(url)
            path = folder / source.path
            if url.startswith("data:") and not path.exists():
                _make(path.parent)
                data = base64.b64decode(url.partition(",")[2])
                with open(path, "xb", opener=_private) as file:
                    file.write(data)
                files.append(path)
        except (OSError, ValueError) as error:
            logger.error("Failed to keep an image: %s", error)  # noqa: TRY400 - one line; the run goes on
            continue
        kept.append(ContentPart(type="image", source=source))
    return kept, files


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink():
        raise OSError(errno.ELOOP, "the folder is a link, which is not followed", str(folder))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
