"""What the class of a part must be, checked before anything is built, and what its methods return, checked at use."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from terminus_core.errors import PartFailedError

if TYPE_CHECKING:
    from terminus_core.roles import Part, Role

T = TypeVar("T")


def fault_of(role: Role, part: Any) -> str:
    """Why a class cannot serve in a role: one line, ``""`` if it can."""
    if not isinstance(part, type):
        return f"expected a class, got {part!r}"
    name, config = getattr(part, "name", None), getattr(part, "Config", None)
    if not isinstance(name, str) or not name:
        return f"{part.__name__} needs a `name: ClassVar[str]`"
    if config is not None and not (isinstance(config, type) and issubclass(config, BaseModel)):
        return f"{role.name} {name!r}: `Config` has to be a pydantic model"
    return "" if role.base is None else _base_fault(role.base, part)


def _base_fault(base: type[Part], part: type) -> str:
    """Why a class does not do what its role's base class asks for."""
    if not issubclass(part, base):
        return f"{part.__name__} must subclass {base.__name__}: from terminus_core import {base.__name__}"
    if missing := sorted(part.__abstractmethods__):
        return f"{part.__name__} does not implement {', '.join(missing)} of {base.__name__}"
    return next(filter(None, (_method_fault(part, base, each) for each in _methods(base))), "")


def returned(who: str, method: str, value: Any, kind: type[T], *others: type) -> T:
    """``value``, which a part's method returned, if it is of the type that its role promises.

    Raises:
        PartFailedError: it is not; the line names the part.
    """
    if isinstance(value, (kind, *others)):
        return cast("T", value)
    kinds = " or ".join(each.__name__ for each in (kind, *others))
    raise PartFailedError(f"{who}: {method} returned {_shown(value)}, expected {kinds}")


def _shown(value: Any) -> str:
    if inspect.iscoroutine(value):
        value.close()  # it would warn that it was never awaited
        return "a coroutine"
    return "None" if value is None else type(value).__name__


def _methods(base: type) -> list[str]:
    """The methods that a role defines; ``async with`` is looked up in the class, like every special method."""
    return [name for name, value in vars(base).items() if inspect.isfunction(value) and not name.startswith("__")]


def _method_fault(part: type, base: type, name: str) -> str:
    """Why the method of a part cannot be called as its base class's is."""
    expected, member = getattr(base, name), inspect.getattr_static(part, name)
    if member is inspect.getattr_static(base, name):
        return ""
    function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    function = function.func if isinstance(function, partial) else function
    if not inspect.isfunction(function):
        return ""  # of other callables nobody can tell
    where = f"{part.__name__}.{name}"
    plain = inspect.unwrap(function)
    is_async = inspect.iscoroutinefunction(plain)
    if inspect.iscoroutinefunction(expected) and not is_async and not _hands_on(plain):
        return f"{where}: expected `async def`, got a plain `def`"
    if not inspect.iscoroutinefunction(expected) and is_async:
        return f"{where}: expected a plain `def`, got `async def`"
    given = inspect.signature(expected).parameters.values()
    try:
        bound = inspect.signature(getattr(part, name) if isinstance(member, staticmethod | classmethod) else function)
        bound.bind(
            *[each.name for each in given if each.kind is each.POSITIONAL_OR_KEYWORD][
                isinstance(member, staticmethod | classmethod) :
            ],
            **{each.name: None for each in given if each.kind is each.KEYWORD_ONLY},
        )
    except (TypeError, ValueError):
        return f"{where}{inspect.signature(function)}: expected {name}{_plain(expected)}"
    return ""


def _hands_on(function: Any) -> bool:
    """Whether a plain function may return something to await: one that is annotated so, or not at all."""
    told = str(function.__annotations__.get("return", ""))
    return not told or any(word in told for word in ("Awaitable", "Coroutine", "Future", "Task"))


def _plain(function: Any) -> str:
    """A signature without annotations."""
    signature = inspect.signature(function)
    parameters = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))
