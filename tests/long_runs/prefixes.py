"""The beginnings that consecutive requests share, as bytes."""

import json


def messages_bytes(body, *, without_marks=False):
    """The bytes of the array of messages in a request's body, without its closing bracket.

    Args:
        body: as the server received it.
        without_marks: with the provider's cache marks taken out, and everything else as it came.
    """
    text = body.decode()
    start = text.index('"messages":') + len('"messages":')
    while text[start] == " ":
        start += 1
    messages, end = json.JSONDecoder().raw_decode(text, start)
    found = json.dumps(_unmarked(messages)) if without_marks else text[start:end]
    return found.removesuffix("]").encode()


def common(before, after):
    """How many bytes both begin with."""
    return next(
        (i for i, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), min(len(before), len(after))
    )


def _unmarked(value):
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items() if name != "cache_control"}
    return value
