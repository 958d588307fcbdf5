"""A model's answer as the chat, the parser and the records may rely on it, whatever an LLM made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from terminus_core.texts import clean

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse


def normalize(response: LLMResponse) -> LLMResponse:
    """The answer with a text as content, and each native call in OpenAI's form with an id of its own.

    A call of any other shape stays one, with empty texts for what it lacks: its parser tells the model.
    """
    return replace(response, content=response.content or "", tool_calls=_calls(response.tool_calls) or None)


def _calls(calls: Any) -> list[dict[str, Any]]:
    regular_calls: list[dict[str, Any]] = []
    ids: set[str] = set()
    for number, call in enumerate(map(_dict, calls if isinstance(calls, list) else [])):
        function = _dict(call.get("function"))
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps({} if arguments is None else arguments, default=str)
        own = clean(_text(call.get("id"))) or f"call_{number}"
        while own in ids:  # the answer to a call names its id, and so does its record
            own += f"_{number}"
        ids.add(own)
        regular_calls.append(
            {
                **call,
                "id": own,
                "type": "function",
                "function": {**function, "name": _text(function.get("name")), "arguments": arguments},
            }
        )
    return regular_calls


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
