"""The LLM ``litellm``."""

from terminus_core import LLM, hookimpl
from terminus_plugins.llms.litellm.llm import LiteLLM


@hookimpl
def terminus_register_llms() -> list[type[LLM]]:
    """Bring ``litellm``."""
    return [LiteLLM]
