"""The response parser ``json``."""

from terminus_core import ResponseParser, hookimpl
from terminus_plugins.parsers.json.parser import JsonParser


@hookimpl
def terminus_register_response_parsers() -> list[type[ResponseParser]]:
    """Bring ``json``."""
    return [JsonParser]
