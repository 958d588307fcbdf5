"""What really went over the wire: litellm's exceptions blur it, and some answers it cannot read."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Hearing:
    """One request and its answer, as litellm tells of them on the way.

    Attributes:
        sent: a request was about to be sent; what failed before that is no fault of the provider.
        answer: the JSON object that came under a status of success, ``None`` if none came.
    """

    def __init__(self) -> None:
        self.sent = False
        self.answer: dict[str, Any] | None = None

    def tell(self, details: Mapping[str, Any]) -> None:
        """What litellm calls as its ``logger_fn``: before a request, and after it with the body as well."""
        if details.get("log_event_type") == "pre_api_call":
            self.sent = True
        elif self.sent:
            self.hear(details.get("original_response"))

    def hear(self, body: object) -> None:
        """Keep the first body that is a JSON object; later ones are litellm's own words about it."""
        if self.answer is None and isinstance(body, str):
            with suppress(ValueError, RecursionError):
                data = json.loads(body)
                self.answer = data if isinstance(data, dict) else None


class ListeningClient:
    """An HTTP client for litellm that tells of its requests, where ``logger_fn`` does not: in the Responses API.

    Each thread hears its own requests.
    """

    def __init__(self, ssl_verify: Any = None) -> None:
        from litellm.llms.custom_httpx.http_handler import HTTPHandler  # noqa: PLC0415 - heavy

        self.handler = HTTPHandler(ssl_verify=ssl_verify)
        self.handler.client.event_hooks = {"request": [self._on_request], "response": [self._on_response]}
        self._here = threading.local()

    def tell(self, hearing: Hearing) -> None:
        """Let ``hearing`` hear what this thread asks."""
        self._here.hearing = hearing

    def _on_request(self, _request: Any) -> None:
        self._here.hearing.sent = True

    def _on_response(self, response: Any) -> None:
        if response.is_success:
            response.read()
            self._here.hearing.hear(response.text)
