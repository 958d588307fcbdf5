"""The response parser ``json``."""

from terminus_core import Message, ResponseParser, Run, hookimpl
from terminus_plugins.parsers.json.parser import JsonParser


@hookimpl
def terminus_register_response_parsers() -> list[type[ResponseParser]]:
    """Bring ``json``."""
    return [JsonParser]


@hookimpl
def terminus_prepare_messages(run: Run, messages: list[Message]) -> list[Message] | None:
    """Send each image a few times only, in runs with this parser."""
    return run.parser.offered.bounded(messages) if isinstance(run.parser, JsonParser) else None
