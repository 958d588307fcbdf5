"""Actions that a parser offers: which ones a run can do, and how many images stay in what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from terminus_core import ContentPart, Message
from terminus_plugins.actions.view_image import ViewImage
from terminus_plugins.parsers.common.prompt import PromptConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from terminus_core import Action, Run

IMAGES_PER_ANSWER = 2
NOTE = "[An image was shown here; ask for it again if you need it.]"


class OfferConfig(PromptConfig):
    """Settings of a parser that offers actions."""

    actions: list[Literal["view_image", "restart_shell"]] = Field(
        default_factory=list, description="what replies may ask for beside keystrokes: one of them, or a list"
    )
    image_max_bytes: int = Field(3_750_000, ge=1, description="bytes of the largest image file that is sent")
    image_turns: int = Field(4, ge=1, description="requests in which an image is sent, its first one included")

    @field_validator("actions", mode="before")
    @classmethod
    def _one_word(cls, actions: Any) -> Any:
        return [actions] if isinstance(actions, str) else actions


class Offers:
    """What is offered in one run.

    Args:
        config: what may be offered.

    Attributes:
        names: the actions that are offered; none before :meth:`prepare`.
    """

    def __init__(self, config: OfferConfig) -> None:
        self.names: frozenset[str] = frozenset()
        self._config = config

    def prepare(self, run: Run) -> None:
        """Leave out what this run's model or session cannot do."""
        possible = {
            "view_image": getattr(run.llm, "supports_images", False),
            "restart_shell": hasattr(run.session, "restart"),
        }
        self.names = frozenset(name for name in self._config.actions if possible[name])

    def image(self, path: str) -> ViewImage:
        """What looks at an image."""
        return ViewImage({"path": path}, self._config.image_max_bytes)

    def limited(self, actions: Sequence[Action]) -> tuple[list[Action], list[str]]:
        """What of one answer's actions is done, and warnings about the rest."""
        left_out = [action for action in actions if isinstance(action, ViewImage)][IMAGES_PER_ANSWER:]
        done = [action for action in actions if not any(action is each for each in left_out)]
        what = f"{IMAGES_PER_ANSWER} images can be shown for one answer; the others were left out."
        return done, [what] if left_out else []

    def bounded(self, messages: list[Message]) -> list[Message] | None:
        """``messages`` with a note for each image that was sent often enough; ``None`` if there is none."""
        if "view_image" not in self.names:
            return None
        bounded = list(messages)
        answers_after = 0
        changed = False
        for i in range(len(messages) - 1, -1, -1):
            message = messages[i]
            if message["role"] == "assistant":
                answers_after += 1
            elif answers_after >= self._config.image_turns and not isinstance(message["content"], str):
                parts = [_note(part) for part in message["content"]]
                bounded[i] = Message(**{**message, "content": parts})
                changed = True
        return bounded if changed else None


def _note(part: ContentPart) -> ContentPart:
    return part if part["type"] == "text" else ContentPart(type="text", text=NOTE)
