"""The action ``view_image``: the model looks at an image file of the environment."""

from __future__ import annotations

import base64
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from terminus_core import Action, ContentPart

if TYPE_CHECKING:
    from terminus_core import Run

LOOK_SEC = 10.0
"""How long finding out the size of a file may take."""
FETCH_SEC = 60.0

_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}


@dataclass(slots=True)
class ViewImage(Action):
    """Fetches one file, checks that it is an image of a size that can be sent, and shows it with the observation.

    Attributes:
        arguments: ``path``, absolute.
        max_bytes: the largest file that is sent.
    """

    arguments: dict[str, Any]
    max_bytes: int
    name: str = "view_image"

    async def perform(self, run: Run) -> str | list[ContentPart]:
        """The image, or a line that says why there is none."""
        path: str = self.arguments["path"]
        try:
            data = await self._fetch(run, path)
        except TimeoutError:
            return f"{path}: not shown: reading it takes too long"
        except (OSError, ValueError) as error:
            return f"{path}: not shown: {getattr(error, 'strerror', None) or error}"
        kind = _kind(data)
        if not kind:
            return f"{path}: not shown: it is no PNG, JPEG, GIF or WebP image"
        encoded = (await to_thread.run_sync(base64.b64encode, data)).decode("ascii")
        return [
            ContentPart(type="text", text=f"{path}: shown ({kind}, {len(data):,} bytes)"),
            ContentPart(type="image_url", image_url={"url": f"data:image/{kind};base64,{encoded}"}),
        ]

    async def _fetch(self, run: Run, path: str) -> bytes:
        """The file's content.

        Raises:
            ValueError: it may not be sent; the text says why.
            OSError, TimeoutError, EnvironmentFailedError: it cannot be had.
        """
        if not path.startswith("/") or "\0" in path:
            raise ValueError("an absolute path is needed")
        quoted = shlex.quote(path)
        found = await run.environment.exec(f"test -f {quoted} && wc -c < {quoted}", timeout_sec=LOOK_SEC)
        size = found.stdout.strip()
        if found.return_code != 0 or not size.isdigit():
            raise ValueError("there is no such file, or it cannot be read")
        self._check_size(int(size))
        with anyio.fail_after(FETCH_SEC):
            async with anyio.TemporaryDirectory(prefix="terminus-image-") as folder:
                target = Path(folder) / "image"
                await run.environment.download_file(path, target)
                data = await anyio.Path(target).read_bytes()
        self._check_size(len(data))
        return data

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            raise ValueError(f"it has {size:,} bytes, {self.max_bytes:,} can be sent; make a smaller copy")


def _kind(data: bytes) -> str:
    """The kind of an image by its first bytes; ``""`` for anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for start, kind in _KINDS.items() if data.startswith(start)), "")
