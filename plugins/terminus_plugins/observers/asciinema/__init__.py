"""The observer ``asciinema``: records the terminal as an asciicast with a marker for each episode."""

from terminus_core import hookimpl
from terminus_plugins.observers.asciinema.recorder import AsciinemaConfig, AsciinemaObserver

__all__ = ["AsciinemaConfig", "AsciinemaObserver", "terminus_register_observers"]


@hookimpl
def terminus_register_observers() -> list[type[AsciinemaObserver]]:
    """Bring the observer ``asciinema``."""
    return [AsciinemaObserver]
