"""The context strategy ``summarize``."""

from terminus_core import ContextStrategy, hookimpl
from terminus_plugins.context.summarize.strategy import SummarizeStrategy


@hookimpl
def terminus_register_context_strategies() -> list[type[ContextStrategy]]:
    """Bring ``summarize``."""
    return [SummarizeStrategy]
