"""The observer ``redact``."""

from terminus_core import hookimpl
from terminus_plugins.observers.redact.observer import Redact


@hookimpl
def terminus_register_observers() -> list[type[Redact]]:
    """Bring ``redact``."""
    return [Redact]
