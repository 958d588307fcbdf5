"""litellm, imported when it is used, in the background: it takes seconds and 195 MB."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import warnings
from concurrent.futures import Future
from functools import cache, partial
from typing import Any

from terminus_core import ConfigError

from .threads import start_daemon

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
"""Without these litellm fetches lists from the network, at its import or at a first call."""

_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


@cache
def begin_import() -> Future[Any]:
    """Start the import, once a process; the future holds the module.

    Its exception is a :class:`ConfigError` that names the cure.
    """
    module: Future[Any] = Future()
    start_daemon(partial(_import, module), "import litellm")
    return module


def _import(module: Future[Any]) -> None:
    for variable in _OFFLINE:
        os.environ.setdefault(variable, "True")
    try:
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
        if "LITELLM_LOG" not in os.environ:
            # It has a handler on stderr of its own; what matters comes as exceptions.
            for name in _LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
        # The clients' own models warn of every odd answer; it is read all the same, or named in an error.
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
        # Taking 400,000 objects apart would hold the end of the program up for seconds.
        atexit.register(gc.freeze)
        module.set_result(litellm)
