"""What all conformance suites share: capabilities, and tests that cannot be taken away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])


def needs(*capabilities: str) -> Callable[[Test], Test]:
    """Mark a test of a suite as one for parts that declare ``capabilities``; for others it is skipped, saying so."""

    def mark(test: Test) -> Test:
        test.needs = frozenset(capabilities)  # type: ignore[attr-defined]  # no pytest marker: authors need not register it
        return test

    return mark


class ConformanceSuite:
    """A suite is subclassed by authors, who override its fixtures and declare what their part can do.

    Its tests are fixed: a subclass adds tests of its own, but overriding one is refused, because the name of the suite
    would then promise what was not checked.

    Attributes:
        known_capabilities: every capability that a test of the suite asks for, with its meaning.
        complete_capabilities: those that a part must declare to call itself complete; where a suite does not say, all
            known ones.
        capabilities: those that the part under test has; the tests of the others are skipped.
    """

    pytestmark: ClassVar[Any] = pytest.mark.anyio
    known_capabilities: ClassVar[dict[str, str]] = {"trio": "works under trio as well as under asyncio"}
    complete_capabilities: ClassVar[frozenset[str]] = frozenset({"trio"})
    capabilities: ClassVar[frozenset[str]] = frozenset({"trio"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _refuse_overriding(cls)
        if "known_capabilities" in vars(cls) and "complete_capabilities" not in vars(cls):
            cls.complete_capabilities = frozenset(cls.known_capabilities)
        if unknown := sorted(cls.capabilities - cls.known_capabilities.keys()):
            known = ", ".join(sorted(cls.known_capabilities))
            raise TypeError(f"{cls.__name__} declares unknown capabilities {', '.join(unknown)}; known are: {known}")

    @classmethod
    def missing_capabilities(cls) -> frozenset[str]:
        """What the part under test lacks to be called complete."""
        return cls.complete_capabilities - cls.capabilities

    @pytest.fixture(autouse=True)
    def _only_declared(self, request: pytest.FixtureRequest) -> None:
        wanted = set(getattr(request.function, "needs", ()))
        if "anyio_backend" in request.fixturenames and request.getfixturevalue("anyio_backend_name") == "trio":
            wanted.add("trio")
        if lacking := sorted(wanted - self.capabilities):
            pytest.skip(f"capability not declared: {', '.join(lacking)}")


def _refuse_overriding(suite: type[ConformanceSuite]) -> None:
    """A test of a suite is still that test in what is made of it, whatever other classes are mixed in."""
    taken = set()
    for base in suite.__mro__[1:]:
        if issubclass(base, ConformanceSuite):
            fixed = {name for name in vars(base) if name.startswith("test") or name == "_only_declared"}
            first = {name: next(vars(each)[name] for each in suite.__mro__ if name in vars(each)) for name in fixed}
            taken |= {name for name in fixed if first[name] is not vars(base)[name]}
    if taken:
        raise TypeError(f"{suite.__name__} overrides {', '.join(sorted(taken))}: the tests of a suite are fixed")
