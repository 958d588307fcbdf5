"""litellm, imported when it is used, in the background: it takes seconds and 195 MB."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import warnings
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from terminus_core import ConfigError

from .threads import start_daemon

if TYPE_CHECKING:
    from collections.abc import Iterator

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
"""Without these litellm fetches lists from the network, at its import or at a first call."""

_MODE = "LITELLM_MODE"
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


@cache
def begin_import() -> Future[Any]:
    """Start the import, once a process; the future holds the module.

    Its exception is a :class:`ConfigError` that names the cure.
    """
    module: Future[Any] = Future()
    start_daemon(partial(_import, module), "import litellm")
    return module


@contextmanager
def _without_dotenv() -> Iterator[None]:
    """Import litellm without its search for ``.env`` files.

    It looks in the working folder, in the folder of its own package, and in all folders above: such a file could send
    the user's key and the chat to a stranger. Its own switch turns that off, and is put back afterwards.
    """
    before = os.environ.get(_MODE)
    os.environ[_MODE] = "PRODUCTION"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_MODE]
        else:
            os.environ[_MODE] = before


@contextmanager
def _same_level(name: str) -> Iterator[None]:
    """Restore a logger's level, which belongs to the host: litellm's import sets it."""
    logger = logging.getLogger(name)
    before = logger.level
    try:
        yield
    finally:
        logger.setLevel(before)


def _import(module: Future[Any]) -> None:
    for variable in _OFFLINE:
        os.environ.setdefault(variable, "True")
    try:
        with _without_dotenv(), _same_level("httpx"):
            import litellm  # noqa: PLC0415 - heavy: imported when it is used
            import tenacity  # noqa: F401, PLC0415 - warmed here, used by the calls
    except ImportError as error:
        module.set_exception(
            ConfigError(f"llm 'litellm' needs an extra ({error}): pip install 'terminus-agent[litellm]'")
        )
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises
        module.set_exception(ConfigError(f"llm 'litellm': the library does not load: {error!r}"))
    else:
        litellm.suppress_debug_info = True
        litellm.disable_aiohttp_transport = True  # its sessions are never closed
        if "LITELLM_LOG" not in os.environ:
            # Its own handlers write to stderr; what matters comes as exceptions.
            for name in _LOGGERS:
                logging.getLogger(name).handlers[:] = [logging.NullHandler()]
        # The clients' own models warn of every odd answer; it is read all the same, or named in an error.
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
        # Taking 400,000 objects apart would hold the end of the program up for seconds.
        atexit.register(gc.freeze)
        module.set_result(litellm)
