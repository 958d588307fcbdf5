"""The response parser ``xml``."""

from terminus_core import ResponseParser, hookimpl
from terminus_plugins.parsers.xml.parser import XmlParser


@hookimpl
def terminus_register_response_parsers() -> list[type[ResponseParser]]:
    """Bring ``xml``."""
    return [XmlParser]
