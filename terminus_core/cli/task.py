"""Where a task comes from: an argument, a file, stdin, or the person at the terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from terminus_core.cli.printing import Lines, literal
from terminus_core.errors import ConfigError

if TYPE_CHECKING:
    from terminus_core.settings import LoadedSettings

_TASK = "Find the three largest files below /var/log and write their names to largest.txt"
_MODELS = (
    ("OPENAI_API_KEY", "openai/gpt-5"),
    ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-5"),
    ("GEMINI_API_KEY", "gemini/gemini-2.5-pro"),
    ("OPENROUTER_API_KEY", "openrouter/qwen/qwen3-coder"),
)
"""Examples: the variable that holds a provider's key, and one of its models."""


def read_task(instruction: str | None, task_file: str | None) -> str:
    """The task; a person at a terminal who gave none is asked for it.

    Args:
        instruction: the command's argument; ``-`` reads stdin.
        task_file: a file to read instead.

    Raises:
        click.UsageError: there is none, it is empty, or both are given.
        ConfigError: the file cannot be read.
    """
    context = click.get_current_context()
    if task_file is not None:
        if instruction is not None:
            raise click.UsageError("INSTRUCTION and --task-file are both given; expected one of them", context)
        task = _read(Path(task_file)) if task_file != "-" else _read_stdin()
    elif instruction == "-":
        task = _read_stdin()
    elif instruction is not None:
        task = instruction
    elif is_person_there():
        Lines(sys.stderr).write(f"What is to be done? For example: {_TASK}")
        task = click.prompt("task", err=True)
    else:
        raise click.MissingParameter(ctx=context, param_hint="'INSTRUCTION'", param_type="argument")
    if not task.strip():
        raise click.UsageError("the instruction is empty", context)
    return task


def ask_for_model(loaded: LoadedSettings) -> None:
    """If the chosen LLM needs a model and none is set, ask the person at the terminal for one, with examples."""
    from terminus_core.manager import PluginManager  # noqa: PLC0415 - heavy

    agent = loaded.settings.agent
    if agent.model is not None or not is_person_there():
        return
    llm = PluginManager(agent.plugins, keep_going=True).parts("llm").get(agent.llm)
    field = llm.Config.model_fields.get("model") if llm is not None and llm.Config is not None else None
    is_needed = field is not None and (field.is_required() or field.default is None)
    if not is_needed or "model" in loaded.settings.section("llm", agent.llm):
        return
    lines = Lines(sys.stderr)
    lines.write("No model is set. For example:")
    for variable, model in _MODELS:
        lines.write(f"  {model:<28} {variable}" + (" (set)" if os.environ.get(variable) else ""))
    lines.write(f"  {'openai/NAME':<28} --api-base http://127.0.0.1:8000/v1")
    lines.write("terminus keys set openai keeps a provider's key.")
    default = next((model for variable, model in _MODELS if os.environ.get(variable)), None)
    agent.model = click.prompt("model", default=default, err=True).strip()
    lines.write(f"terminus config set agent.model {literal(agent.model)} keeps it for next time.")


def is_person_there() -> bool:
    """Whether somebody can be asked: stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _read_stdin() -> str:
    if sys.stdin.isatty():
        Lines(sys.stderr).write("Type the task; Ctrl-D on an empty line ends it.")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(f"cannot read task file {path}: {error.strerror or error}") from None
