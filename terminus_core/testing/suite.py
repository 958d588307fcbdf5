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
        capabilities: those that the part under test has; the tests of the others are skipped.
    """

    pytestmark = pytest.mark.anyio
    known_capabilities: ClassVar[dict[str, str]] = {"trio": "works under trio as well as under asyncio"}
    capabilities: ClassVar[frozenset[str]] = frozenset({"trio"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fixed = {name for base in cls.__mro__[1:] for name in vars(base) if name.startswith("test")}
        if taken := sorted(fixed & vars(cls).keys()):
            raise TypeError(f"{cls.__name__} overrides {', '.join(taken)}: the tests of a suite are fixed")
        if unknown := sorted(cls.capabilities - cls.known_capabilities.keys()):
            known = ", ".join(sorted(cls.known_capabilities))
            raise TypeError(f"{cls.__name__} declares unknown capabilities {', '.join(unknown)}; known are: {known}")

    @classmethod
    def missing_capabilities(cls) -> frozenset[str]:
        """What the part under test lacks to be called complete."""
        return frozenset(cls.known_capabilities) - cls.capabilities

    @pytest.fixture(autouse=True)
    def _only_declared(self, request: pytest.FixtureRequest) -> None:
        wanted = set(getattr(request.function, "needs", ()))
        if "anyio_backend" in request.fixturenames and request.getfixturevalue("anyio_backend_name") == "trio":
            wanted.add("trio")
        if lacking := sorted(wanted - self.capabilities):
            pytest.skip(f"capability not declared: {', '.join(lacking)}")
