"""The response parser ``tools``."""

from terminus_core import ResponseParser, hookimpl
from terminus_plugins.parsers.tools.parser import ToolsParser


@hookimpl
def terminus_register_response_parsers() -> list[type[ResponseParser]]:
    """Bring ``tools``."""
    return [ToolsParser]
