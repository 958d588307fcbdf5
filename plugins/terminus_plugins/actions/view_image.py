"""The action ``view_image``: the model looks at an image file of the environment."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from terminus_core import Action, ContentPart, Message, hookimpl

if TYPE_CHECKING:
    from terminus_core import Run

LOOK_SEC = 10.0
"""How long finding out the size of a file may take."""
FETCH_SEC = 60.0

_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}


NOTE = "[An image was shown here; ask for it again if you need it.]"
"""Stands in later requests where an image was."""


class ViewImage(Action):
    """Fetches one file, checks that it is an image of a size that can be sent, and shows it with the observation.

    An image is sent with a few requests only; a note takes its place in later ones.
    """

    name: ClassVar[str] = "view_image"
    description: ClassVar[str] = (
        "Shows you an image file (PNG, JPEG, GIF, WebP) of the machine that the terminal runs on, together with the "
        "next terminal output; at most 2 in one answer."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Absolute path of the file."}},
        "required": ["path"],
    }
    max_per_reply: ClassVar[int | None] = 2

    class Config(BaseModel):
        """``[action.view_image]``."""

        model_config = ConfigDict(extra="forbid")

        max_bytes: int = Field(3_750_000, ge=1, description="bytes of the largest image file that is sent")
        turns: int = Field(4, ge=1, description="requests in which an image is sent, its first one included")

    def __init__(self, config: Config | None = None) -> None:
        self._config = config or self.Config()

    def is_available(self, run: Run) -> bool:
        """Only where the model takes images."""
        return run.llm.supports_images

    async def perform(self, run: Run, arguments: dict[str, Any]) -> str | list[ContentPart]:
        """The image, or a line that says why there is none."""
        path: str = arguments["path"]
        try:
            data = await self._fetch(run, path)
        except TimeoutError:
            return f"{path}: not shown: reading it takes too long"
        except OSError as error:
            return f"{path}: not shown: {error.strerror or error}"
        except ValueError as error:
            return f"{path}: not shown: {error}"
        kind = _kind(data)
        if not kind:
            return f"{path}: not shown: it is not a PNG, JPEG, GIF or WebP image"
        encoded = (await to_thread.run_sync(base64.b64encode, data)).decode("ascii")
        return [
            ContentPart(type="text", text=f"{path}: shown ({kind}, {len(data):,} bytes)"),
            ContentPart(type="image_url", image_url={"url": f"data:image/{kind};base64,{encoded}"}),
        ]

    @hookimpl
    def terminus_prepare_messages(self, messages: list[Message]) -> list[Message] | None:
        """Put a note where an image was sent often enough."""
        bounded = list(messages)
        responses_after = 0
        changed = False
        for i in range(len(messages) - 1, -1, -1):
            message = messages[i]
            if message["role"] == "assistant":
                responses_after += 1
            elif responses_after >= self._config.turns and not isinstance(message["content"], str):
                bounded[i] = Message(**{**message, "content": [_note(part) for part in message["content"]]})
                changed = True
        return bounded if changed else None

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
        if size > self._config.max_bytes:
            raise ValueError(f"it has {size:,} bytes, {self._config.max_bytes:,} can be sent; make a smaller copy")


def _kind(data: bytes) -> str:
    """The kind of an image by its first bytes; ``""`` for anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for start, kind in _KINDS.items() if data.startswith(start)), "")


def _note(part: ContentPart) -> ContentPart:
    return part if part["type"] == "text" else ContentPart(type="text", text=NOTE)


@hookimpl
def terminus_register_actions() -> list[type[Action]]:
    """Bring ``view_image``."""
    return [ViewImage]
