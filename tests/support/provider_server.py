"""A model provider on loopback: a real HTTP server that gives scripted answers and faults.

It speaks OpenAI's chat completions (with vLLM's token ids and log-probabilities), Anthropic's messages and OpenAI's
Responses API, chosen by the request's path. Every request is kept byte for byte, and the server counts tokens by a rule
of its own, so that it can judge what a client says about totals.

Use it as a context manager::

    with ProviderServer([fault(500), answer("hello")]) as server:
        ...  # api_base=server.url, or server.root_url for Anthropic's dialect
        assert [request.last_text for request in server.requests] == ["hi", "hi"]

``replies`` is any iterable of :class:`Reply`, so ``itertools.repeat(fault(429))`` never ends, or a function from
:class:`Request` to :class:`Reply`, for servers that decide by what they are asked. Once an iterable has run out, the
server answers 400: no client takes that for a fault worth trying again.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from .provider_dialects import DIALECTS, Answer, count_tokens, flat_text


@dataclass
class Reply:
    """What the server does with one request: an answer in the client's dialect, or exact bytes, or neither."""

    answer: Answer | None = None
    status: int = 200
    body: bytes = b""
    """Sent as it is when there is no ``answer``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Literal["whole", "cut", "silent"] = "whole"
    """``cut``: the connection closes in the middle of the body; ``silent``: nothing ever comes."""


@dataclass
class Request:
    """One request as it came, and what was made of it."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    time: float
    """``time.monotonic()`` when the request was complete."""
    prompt_tokens: int = 0
    """By the server's own count."""
    usage: dict[str, int] | None = None
    """Prompt, completion and cached tokens as told to the client, ``None`` if nothing was told."""

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def last_text(self) -> str:
        """The text of the newest message."""
        body = self.json
        messages = body.get("messages") or body.get("input") or []
        return flat_text(messages[-1]) if isinstance(messages, list) and messages else str(messages)


def answer(text: str | None = "", **more: Any) -> Reply:
    """A good answer; ``more`` are fields of :class:`Answer`."""
    return Reply(Answer(text, **more))


def fault(
    status: int, message: str = "scripted fault", *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """An error in the form that OpenAI, vLLM, Anthropic and most others share."""
    error = {"message": message, "type": "scripted_error", "param": None, "code": code}
    return Reply(
        status=status,
        body=json.dumps({"type": "error", "error": error}).encode(),
        headers={"Content-Type": "application/json", **(headers or {})},
    )


def raw(body: bytes, *, status: int = 200, content_type: str = "application/json") -> Reply:
    """Exactly these bytes, for bodies that are no JSON, or JSON of an odd shape."""
    return Reply(status=status, body=body, headers={"Content-Type": content_type})


def silent() -> Reply:
    """The request is read, and nothing ever comes."""
    return Reply(ending="silent")


def cut(text: str = "half of this is never sent") -> Reply:
    """The connection closes in the middle of a good answer."""
    return Reply(Answer(text), ending="cut")


def refused_url() -> str:
    """The URL of a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


class ProviderServer:
    """See the module's text. One thread for each request; leaving it ends them all."""

    def __init__(self, replies: Iterable[Reply] | Callable[[Request], Reply]) -> None:
        self.requests: list[Request] = []
        """All requests in the order in which they were complete."""
        self._replies = replies if callable(replies) else iter(replies)
        self._news = threading.Condition()
        self._closing = threading.Event()
        self._server = _HTTPServer(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="provider server")

    @property
    def root_url(self) -> str:
        """Without a path: what Anthropic's clients take."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """With ``/v1``: what OpenAI's clients take."""
        return f"{self.root_url}/v1"

    @property
    def totals(self) -> dict[str, int]:
        """The sums of all usage that was told."""
        told = [request.usage for request in self.requests if request.usage]
        return {name: sum(usage[name] for usage in told) for name in ("prompt", "completion", "cached")}

    def wait_for(self, count: int, timeout_sec: float = 30) -> None:
        """Block until ``count`` requests have come (call it in a thread from async code)."""
        with self._news:
            if not self._news.wait_for(lambda: len(self.requests) >= count, timeout_sec):
                raise TimeoutError(f"{len(self.requests)} of {count} requests came in {timeout_sec} s")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def decide(self, request: Request) -> Reply:
        """Keep ``request`` and choose its reply."""
        with self._news:
            self.requests.append(request)
            reply = None if callable(self._replies) else next(self._replies, None)
            self._news.notify_all()
        if callable(self._replies):  # which may take its time, or wait for other requests
            reply = self._replies(request)
        return reply or fault(400, "the server's script has no more replies")

    def wait_until_closed(self) -> None:
        """For silent replies."""
        self._closing.wait()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for them
    request_queue_size = 512

    def __init__(self, provider: ProviderServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.provider = provider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HTTPServer

    def do_POST(self) -> None:
        provider = self.server.provider
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body, time.monotonic())
        request.prompt_tokens = count_tokens(request.json)
        reply = provider.decide(request)
        # One request a connection: client libraries keep idle ones for ever, as leaks in somebody else's test.
        self.close_connection = True
        if reply.ending == "silent":
            provider.wait_until_closed()
            return
        sent, content = dict(reply.headers), reply.body
        if reply.answer:
            dialect = next(dialect for path, dialect in DIALECTS.items() if self.path.split("?")[0].endswith(path))
            document, request.usage = dialect(request.json, reply.answer, request.prompt_tokens)
            sent["Content-Type"], content = "application/json", json.dumps(document).encode()
        self.send_response(reply.status)
        for name, value in {**sent, "Content-Length": str(len(content)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.ending == "cut":
            content = content[: len(content) // 2]
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
