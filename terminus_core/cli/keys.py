"""``terminus keys``: keep the keys of model providers."""

from __future__ import annotations

import os
import sys

import click

from terminus_core.cli.printing import Lines, literal, print_json
from terminus_core.errors import ConfigError


@click.group()
def keys() -> None:
    """Keep the keys of model providers, in a file that only you can read.

    PROVIDER is a provider's name, such as openai, or the variable of its key, such as OPENAI_API_KEY. A variable of the
    environment wins. Keys never are arguments, and never reach the model's terminal or a trajectory.
    """


@keys.command("set")
@click.argument("provider")
def set_(provider: str) -> None:
    """Keep a key: typed at a prompt that does not show it, or read from stdin."""
    from terminus_core.cli.key_store import keys_file, read_keys, variable_of, write_keys  # noqa: PLC0415 - heavy

    variable = variable_of(provider)
    if sys.stdin.isatty():
        value = click.prompt(f"{variable} (not shown)", hide_input=True, err=True)
    else:
        value = sys.stdin.readline()
    value = value.strip()
    if not value or not value.isprintable():
        raise ConfigError(f"no key for {variable}: expected one line of printable characters")
    write_keys(read_keys() | {variable: value})
    lines = Lines(sys.stdout)
    lines.write(f"{variable} is kept in {literal(str(keys_file()))}")
    if os.environ.get(variable, value) != value:
        lines.write(f"{variable} is set in the environment to another value, which wins")


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def list_(as_json: bool) -> None:
    """List the keys that are kept, without their values."""
    from terminus_core.cli.key_store import read_keys  # noqa: PLC0415 - heavy

    found = [{"variable": name, "in_use": os.environ.get(name, value) == value} for name, value in read_keys().items()]
    if as_json:
        print_json(found)
        return
    for each in found:
        note = "" if each["in_use"] else " (not used: the environment has another value)"
        Lines(sys.stdout).write(f"{literal(str(each['variable']))}{note}")


@keys.command()
@click.argument("provider")
def rm(provider: str) -> None:
    """Forget a key."""
    from terminus_core.cli.key_store import keys_file, read_keys, variable_of, write_keys  # noqa: PLC0415 - heavy

    variable, kept = variable_of(provider), read_keys()
    if variable not in kept:
        raise ConfigError(f"no key for {variable} is kept")
    del kept[variable]
    write_keys(kept)
    Lines(sys.stdout).write(f"{variable} is no longer in {literal(str(keys_file()))}")
