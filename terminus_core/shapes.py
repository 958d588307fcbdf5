"""What a part lacks of its role's protocol: told before a run costs anything, not when the member is first used.

All of it is read from the protocols. Optional members stay optional: those with a default there, and those that only a
docstring names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from terminus_core import roles
from terminus_core.hooks import ROLES, SPECS

_BRINGS = re.compile(r"Sequence\[type\[(\w+)\]\]")
_AWAITABLE = re.compile(r"Awaitable|Coroutine|Future|Task")


def fault_of(role: str, part: Any) -> str:
    """Why ``part``, which is built, cannot serve in ``role``: one line, ``""`` if it can."""
    return next(_faults(role, part), "")


def _faults(role: str, part: Any) -> Iterator[str]:
    if isinstance(part, type):
        yield f"{part.__name__} is a class; an instance of it would be right"
        return
    kind, asks, methods, attributes = type(part).__name__, *_shape(role)
    for name, is_async in methods:
        # Python looks a special method up in the class.
        member = getattr(type(part) if name.startswith("__") else part, name, None)
        if not callable(member):
            yield f"{kind} has no method {name!r}, which {asks} asks for"
        elif is_async and not _may_be_awaited(member, name):
            yield f"{kind}.{name} is a plain `def`; `async def` would be right"
        elif not is_async and (inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)):
            yield f"{kind}.{name} is an `async def`; a plain `def` would be right"
    if not hasattr(part, "prepare"):  # which may set what is not known before
        for name in attributes:
            if not hasattr(part, name):
                yield f"{kind} has no attribute {name!r}, which {asks} asks for"


@cache
def _shape(role: str) -> tuple[str, list[tuple[str, bool]], list[str]]:
    """What the protocol of a role is called and asks for: methods, and whether each is awaited; attributes.

    The methods are the abstract ones and those of ``async with``; the attributes are those without a default.
    """
    brings = _BRINGS.fullmatch(SPECS[ROLES[role]].__annotations__["return"])
    protocol: Any = vars(roles).get(brings[1]) if brings else None
    if getattr(protocol, "__module__", "") != roles.__name__:
        return "", [], []  # any object may observe
    own = {name: inspect.iscoroutinefunction(value) for name, value in vars(protocol).items() if callable(value)}
    wanted = protocol.__abstractmethods__ | {name for name, awaited in own.items() if awaited and name.startswith("__")}
    attributes = [
        name
        for name, kind in protocol.__annotations__.items()
        if not kind.startswith("ClassVar") and name not in vars(protocol)
    ]
    return protocol.__name__, [(name, own[name]) for name in own if name in wanted], attributes


def _may_be_awaited(member: Any, name: str) -> bool:
    """Whether what ``member`` returns may be awaited; of other things than plain functions nobody can tell."""
    while isinstance(member, partial):
        member = member.func
    member = inspect.unwrap(member)
    function = getattr(member, "__func__", member)
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(member):
        return True
    if inspect.isasyncgenfunction(function):
        return False
    told = str(function.__annotations__.get("return", ""))
    hands_on = name in function.__code__.co_names or function.__name__ == "<lambda>"
    return hands_on or bool(_AWAITABLE.search(told))
