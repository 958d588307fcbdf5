"""The page from a server on loopback: for runs that are going on and for recordings too large for one file.

It answers only those who know the secret in the address, and only under its own name: other people on the machine
and other pages in the browser get nothing.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from terminus_core import ConfigError
from terminus_plugins.commands.view.page import page_of
from terminus_plugins.commands.view.runs import RunPlace, find_runs, read_run, stamp_of, summary_of

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"


class ReportServer(ThreadingHTTPServer):
    """Serves the runs at a path. Runs that begin later appear.

    Args:
        path: as for :func:`find_runs`.
        port: 0 takes a free one.

    Raises:
        OSError: the port cannot be opened.
        ConfigError: there is no run at ``path``.
    """

    daemon_threads = True

    def __init__(self, path: Path, port: int = 0) -> None:
        self.path = path
        self.secret = secrets.token_urlsafe(16)
        self._summaries: dict[str, tuple[str, dict[str, Any]]] = {}
        find_runs(path)
        super().__init__((HOST, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the overridden method's
        """A browser that goes away is no fault; of any other the log gets one line."""
        error = sys.exception()
        if isinstance(error, ConnectionError | TimeoutError):
            logger.debug("A connection ended early: %s", error)
        else:
            logger.error("A request failed: %s: %s", type(error).__name__, error)
            logger.debug("Where it failed", exc_info=error)

    @property
    def url(self) -> str:
        """Where the page is, with the secret."""
        return f"http://{HOST}:{self.server_port}/{self.secret}/"

    def places(self) -> dict[str, RunPlace]:
        """The runs by key."""
        try:
            return {place.key: place for place in find_runs(self.path)}
        except ConfigError:
            return {}

    def summaries(self) -> list[dict[str, Any]]:
        """What the table shows; a run is read again only when it has changed."""
        found = []
        for key, place in self.places().items():
            stamp = stamp_of(place)
            known = self._summaries.get(key)
            if known is None or known[0] != stamp:
                known = self._summaries[key] = (stamp, summary_of(read_run(place)))
            found.append(known[1])
        return found


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Answer, or say no in as few words as possible."""
        port = self.server.server_port
        address = urlsplit(self.path)
        secret, _, name = address.path.lstrip("/").partition("/")
        answers: Mapping[str, Callable[[dict[str, str]], None]] = {
            "": self._page,
            "runs": self._runs,
            "run": self._run,
            "cast": self._cast,
        }
        if self.headers.get("Host") not in {f"{HOST}:{port}", f"localhost:{port}"}:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif not secrets.compare_digest(secret.encode(), self.server.secret.encode()) or name not in answers:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            answers[name]({key: values[0] for key, values in parse_qs(address.query).items()})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the overridden method's name
        """Say nothing: addresses hold the secret."""

    def _page(self, _: dict[str, str]) -> None:
        page = page_of(self.server.path.absolute().name, {"mode": "serve", "runs": self.server.summaries()})
        self._answer(page.encode("utf-8", "replace"), "text/html; charset=utf-8")

    def _runs(self, _: dict[str, str]) -> None:
        self._answer(_json(self.server.summaries()), "application/json")

    def _run(self, query: dict[str, str]) -> None:
        place = self.server.places().get(query.get("key", ""))
        if place is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        stamp = f'"{stamp_of(place)}"'
        if self.headers.get("If-None-Match") == stamp:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.send_header("ETag", stamp)
            self.end_headers()
            return
        self._answer(_json(read_run(place)), "application/json", ETag=stamp)

    def _cast(self, query: dict[str, str]) -> None:
        """The recording from the byte ``from`` on, to the last whole line."""
        place = self.server.places().get(query.get("key", ""))
        path = place.recording if place else None
        begin = query.get("from", "0")
        if path is None or not begin.isdecimal():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with path.open("rb") as file:
            file.seek(int(begin))
            data = file.read()
        self._answer(data[: data.rfind(b"\n") + 1], "text/plain; charset=utf-8")

    def _answer(self, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store" if "ETag" not in headers else "no-cache",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
