"""The action ``image_read``: the model looks at an image in a call beside the chat, and reads what it saw."""

from __future__ import annotations

import base64
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anyio

from terminus_core import Action, ContentPart, Message

if TYPE_CHECKING:
    from terminus_core import Run

KINDS = {"image/png", "image/jpeg", "image/gif", "image/webp"}
MAX_BYTES = 3_750_000


class ImageRead(Action):
    """One image, one question. The image itself never enters the chat, so it is sent once."""

    name: ClassVar[str] = "image_read"
    description: ClassVar[str] = "Have an image file looked at and described."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Absolute path of a PNG, JPEG, GIF or WebP file."},
            "image_read_instruction": {"type": "string", "description": "What to look for in it."},
        },
        "required": ["file_path", "image_read_instruction"],
    }

    def is_available(self, run: Run) -> bool:
        """For models that can see."""
        return run.llm.supports_images

    async def perform(self, run: Run, arguments: dict[str, Any]) -> str:
        """What the model says about the image, or why there is nothing to say."""
        path: str = arguments["file_path"]
        kind = guess_type(path)[0]
        if kind not in KINDS:
            return f"image_read: {path} has no name of an image file."
        async with anyio.TemporaryDirectory() as folder:
            target = Path(folder) / "image"
            try:
                await run.environment.download_file(path, target)
                data = await anyio.Path(target).read_bytes()
            except OSError as error:
                return f"image_read: {path}: {error.strerror or error}"
        if len(data) > MAX_BYTES:
            return f"image_read: {path} has {len(data):,} bytes; make a smaller copy."
        url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
        question = [
            ContentPart(type="text", text=arguments["image_read_instruction"]),
            ContentPart(type="image_url", image_url={"url": url}),
        ]
        messages = [Message(role="user", content=question)]
        seen = await run.ask_aside("image", messages)
        return f"image_read: {path}:\n{seen.response.content}"
