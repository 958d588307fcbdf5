"""The default observer: the trajectory as ATIF documents, and each answer of the model as it was received."""

from terminus_core import hookimpl
from terminus_plugins.observers.atif.observer import AtifObserver

__all__ = ["AtifObserver", "terminus_register_observers"]


@hookimpl
def terminus_register_observers() -> list[type[AtifObserver]]:
    """Bring the observer ``atif``."""
    return [AtifObserver]
