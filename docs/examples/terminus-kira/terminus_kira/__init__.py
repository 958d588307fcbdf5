"""Terminus-KIRA's ideas as plugins: a parser of native tools, a completion policy, an observer that marks for caching.

Everything comes from ``terminus_core``'s public names; nothing of it is copied or patched. The early end of waiting
needs no code: the session ``tmux`` sees when the shell is back at its prompt.
"""

from __future__ import annotations

from terminus_core import Action, CompletionPolicy, ResponseParser, hookimpl
from terminus_kira.caching import KiraCaching
from terminus_kira.checklist import KiraChecklist
from terminus_kira.image_read import ImageRead
from terminus_kira.parser import KiraParser


@hookimpl
def terminus_register_response_parsers() -> list[type[ResponseParser]]:
    """Bring the parser ``kira``."""
    return [KiraParser]


@hookimpl
def terminus_register_actions() -> list[type[Action]]:
    """Bring the action ``image_read``."""
    return [ImageRead]


@hookimpl
def terminus_register_completion_policies() -> list[type[CompletionPolicy]]:
    """Bring the completion policy ``kira``."""
    return [KiraChecklist]


@hookimpl
def terminus_register_observers() -> list[type[KiraCaching]]:
    """Bring the observer ``kira``."""
    return [KiraCaching]
