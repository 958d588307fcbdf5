"""What a failed request means: try again, shorten the chat, or give up with one clear line."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from terminus_core import ContextLengthExceededError, LLMError

from .overflow import is_too_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .hearing import Hearing

MAX_RETRY_AFTER_SEC = 300.0
"""A provider that asks for a longer pause is not asked again."""

_MAX_TEXT = 500
_BAD_REQUEST, _SERVER_ERROR, _NO_STATUS = 400, 500, 600
_UNSENT = "no request could be sent"
_UNREADABLE = "the provider's answer cannot be read"

_RETRIED = {200, 408, 425, 429}
"""200: an answer that tells of a fault. All server errors (500 and above) are tried again too."""

_PREFIX = re.compile(r"^(litellm\.)?\w*(Error|Exception|Timeout)( \w*Error)?\s*[:-](\s+|$)")
_TRACEBACK = "Traceback (most recent call last)"


class TransientFault(Exception):  # noqa: N818 - a fault that may pass, never seen by callers
    """Worth trying again, after ``pause_sec`` if the provider (or the reason) says how long."""

    def __init__(self, text: str, pause_sec: float | None = None) -> None:
        super().__init__(text)
        self.pause_sec = pause_sec


def explain(error: Exception, mask: Callable[[str], str], hearing: Hearing) -> TransientFault | LLMError:
    """The fault behind an exception of litellm's, as one masked line.

    Args:
        error: what litellm raised. The chain of exceptions below it holds the provider's own status, headers and words,
            which litellm's classes blur: a refused connection looks like a 500, Anthropic's 413 like a 400.
        mask: takes secrets out of a text.
        hearing: what was sent, and what came.
    """
    import httpx  # noqa: PLC0415 - there whenever litellm is

    chain = list(_chain(error))
    said_so = any(type(each).__name__ == "ContextWindowExceededError" for each in chain)
    answered = next((each for each in chain if isinstance(each, httpx.HTTPStatusError)), None)
    if answered:
        words = _provider_words(answered.response)
        return _judge(answered.response.status_code, mask(words), said_so=said_so, headers=answered.response.headers)
    lost = next((each for each in chain if isinstance(each, httpx.TransportError | httpx.DecodingError)), None)
    if isinstance(lost, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return LLMError(_one_line(mask(f"{_UNSENT}: {lost}")))
    if lost:
        said = "no answer within the time limit" if isinstance(lost, httpx.TimeoutException) else str(lost)
        return TransientFault(_one_line(mask(f"connection to the provider failed: {said or type(lost).__name__}")))
    return _without_http_error(chain, mask, hearing, said_so=said_so)


def _without_http_error(
    chain: list[BaseException], mask: Callable[[str], str], hearing: Hearing, *, said_so: bool
) -> TransientFault | LLMError:
    """The fault is the answer's, or litellm's own before a request; 500 is what litellm says of anything."""
    status = getattr(chain[0], "status_code", None)
    status = status if isinstance(status, int) and _BAD_REQUEST <= status < _SERVER_ERROR else None
    if hearing.answer and hearing.answer.get("error"):
        return explain_answer(hearing.answer["error"], mask, status=status, said_so=said_so)
    words = _one_line(mask(_words_in(chain)))
    if status is not None or said_so:
        return _judge(status, words, said_so=said_so)
    import openai  # noqa: PLC0415 - there whenever litellm is

    # The base class itself is what its clients raise when they are made.
    if not hearing.sent or any(type(each) is openai.OpenAIError for each in chain):
        return LLMError(f"{_UNSENT}: {words}")
    line = f"{_UNREADABLE}: {words}"
    # A page or half a body may be another one next time; an answer in an odd form is paid for each time.
    return LLMError(line) if hearing.answer else TransientFault(line)


def explain_answer(
    error: Any, mask: Callable[[str], str], *, status: int | None = None, said_so: bool = False
) -> TransientFault | LLMError:
    """The fault that an answer tells of under a status of success: it counts as its own code says.

    Args:
        error: what stands there, mostly an object with a message and a code.
        mask: takes secrets out of a text.
        status: what the fault counts as where it has no code; ``None``: one that may pass.
        said_so: litellm recognised a context overflow.
    """
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and _BAD_REQUEST <= code < _NO_STATUS:
        status = code
    return _judge(status or HTTPStatus.OK, mask(words_of({"error": error}) or str(error)), said_so=said_so)


def _judge(
    status: int | None, words: str, *, said_so: bool = False, headers: Mapping[str, str] | None = None
) -> TransientFault | LLMError:
    words = _one_line(words)  # masked before: half a key at the cut would not be known
    if is_too_long(status, words, said_so=said_so):
        return ContextLengthExceededError(words)
    line = f"{_status_name(status)}: {words}"
    if status in _RETRIED or (status or 0) >= _SERVER_ERROR:
        pause = _retry_after(headers) if headers else None
        if pause is not None and pause > MAX_RETRY_AFTER_SEC:
            return LLMError(f"{line} (the provider asks to wait {pause:.0f} s)")
        return TransientFault(line, pause)
    return LLMError(line)


def _words_in(chain: list[BaseException]) -> str:
    """The words of litellm's exception, or where it has lost them the last ones in the chain."""
    if _one_line(str(chain[0])):
        return str(chain[0])
    told = [getattr(each, "message", None) or str(each) for each in chain]
    return next((words for words in reversed(told) if isinstance(words, str) and words), type(chain[-1]).__name__)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _provider_words(response: Any) -> str:
    """The message in a provider's error body, whatever its form."""
    try:
        text: str = response.text
    except Exception:  # noqa: BLE001 - a body that was never read or cannot be decoded
        return ""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return words_of(body) or text


def words_of(body: Any) -> str:
    """The message in an error, as JSON data in whatever form; ``""`` if none is found.

    What a gateway quotes of the provider behind it, in OpenRouter's form, goes along: it is the cause.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return ""
    error = body.get("error") or body
    if not isinstance(error, dict):
        return str(error)
    words = str(error.get("message") or error.get("detail") or "")
    metadata = error.get("metadata")
    if words and isinstance(metadata, dict) and metadata.get("raw"):
        words = f"{words}: {_quoted(metadata['raw'])}"
    code = error.get("code")
    return f"{words} ({code})" if words and isinstance(code, str) and code not in words else words


def _quoted(raw: Any) -> str:
    """A provider's error body as a gateway quotes it, as a text or an object."""
    body = raw
    if isinstance(raw, str):
        with suppress(ValueError, RecursionError):
            body = json.loads(raw)
    return words_of(body) or str(raw)


def _one_line(text: str) -> str:
    """Without litellm's class names and call stacks, on one line, of a readable length."""
    text = " ".join(text.partition(_TRACEBACK)[0].split())
    while stripped := _PREFIX.match(text):
        text = text[stripped.end() :]
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def _status_name(status: int | None) -> str:
    if status is None:
        return "the provider failed"
    with suppress(ValueError):
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    return f"HTTP {status}"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by a ``Retry-After`` header, which holds seconds or a date."""
    value = headers.get("retry-after")
    if not value:
        return None
    with suppress(ValueError):
        return max(0.0, float(value))
    with suppress(ValueError):
        then = parsedate_to_datetime(value)
        then = then if then.tzinfo else then.replace(tzinfo=UTC)  # HTTP knows no other zone
        return max(0.0, (then - datetime.now(UTC)).total_seconds())
    return None
