"""Observer ``instruction_extra``: adds a text of the user's own to the task that the model reads."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from terminus_core import ConfigError, hookimpl


class InstructionExtra:
    """Puts ``text``, then what ``file`` holds, after the task; the task itself stays as it was given.

    Raises:
        ConfigError: the file cannot be read.
    """

    name: ClassVar[str] = "instruction_extra"

    class Config(BaseModel):
        """``[observer.instruction_extra]``: ``text``, ``file`` or both."""

        model_config = ConfigDict(extra="forbid")

        text: str = Field("", description="what stands after the task")
        file: Path | None = Field(None, description="a file of this machine whose text stands after the task")

        @model_validator(mode="after")
        def _something(self) -> Self:
            if not self.text and self.file is None:
                raise ValueError("text or file is needed, such as observer.instruction_extra.text='Use no sudo.'")
            return self

    def __init__(self, config: Config) -> None:
        self._texts = [config.text.strip()]
        if config.file is not None:
            try:
                self._texts.append(config.file.expanduser().read_text(encoding="utf-8").strip())
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or error
                raise ConfigError(f"observer 'instruction_extra': cannot read {config.file}: {reason}") from None

    @hookimpl
    def terminus_prepare_instruction(self, instruction: str) -> str:
        """The task and what stands after it."""
        return "\n\n".join([instruction, *filter(None, self._texts)])


@hookimpl
def terminus_register_observers() -> list[type[InstructionExtra]]:
    """Bring ``instruction_extra``."""
    return [InstructionExtra]
