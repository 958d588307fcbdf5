"""``terminus completion``: the shell completes commands and options."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from terminus_core import ConfigError
from terminus_core.cli import Lines

_MARK = "# completion of terminus"
_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", required=False, type=click.Choice(_SHELLS))
@click.option("--install", is_flag=True, help="Write it to a file, and have the shell read it from now on.")
def completion(shell: str | None, install: bool) -> None:
    """Print the completion script of a shell, by default of your own ($SHELL)."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - --help does without

    shell = shell or Path(os.environ.get("SHELL", "")).name
    found = get_completion_class(shell) if shell in _SHELLS else None
    if found is None:
        raise ConfigError(f"no completion for the shell {shell!r}; expected one of {', '.join(_SHELLS)}")
    root = click.get_current_context().find_root().command
    script = found(root, {}, "terminus", "_TERMINUS_COMPLETE").source()
    if not install:
        Lines(sys.stdout).put(script)
        return
    try:
        written = _install(shell, script)
    except OSError as error:
        raise ConfigError(f"cannot write {error.filename}: {error.strerror or error}") from None
    for path in written:
        Lines(sys.stdout).write(str(path))
    Lines(sys.stderr).write("It works in every new shell.")


def _install(shell: str, script: str) -> list[Path]:
    """The files that were written."""
    home = Path.home()
    if shell == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        return [_write(config / "fish" / "completions" / "terminus.fish", script)]
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    file = _write(data / "terminus" / f"completion.{shell}", script)
    line = f". {shlex.quote(str(file))}  {_MARK}"
    if shell == "zsh":
        line = f"(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}; {line}"
    start_up = Path(os.environ.get("ZDOTDIR") or home) / ".zshrc" if shell == "zsh" else home / ".bashrc"
    text = start_up.read_text(encoding="utf-8", errors="surrogateescape") if start_up.exists() else ""
    if line in text.splitlines():
        return [file]
    gap = "" if not text or text.endswith("\n") else "\n"
    with start_up.open("a", encoding="utf-8") as stream:
        stream.write(f"{gap}{line}\n")
    return [file, start_up]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
