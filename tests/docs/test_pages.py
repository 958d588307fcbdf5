"""Code blocks of the pages: each one runs here, or says what it needs, or is data that can be read."""

import ast
import asyncio
import json
import re
import tomllib
from contextlib import chdir
from itertools import groupby
from pathlib import Path

import click
import pytest

from terminus_core import Settings
from terminus_core.cli.commands import terminus
from terminus_core.manager import PluginManager
from terminus_core.settings import load_settings
from tests.support.markdown_blocks import Block, blocks, run_block, write_files

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    str(page.relative_to(DOCS)): blocks(page)
    for page in sorted(DOCS.rglob("*.md"))
    if page.relative_to(DOCS).parts[0] != "examples"
}
OWN = [name for name in PAGES if "/" not in name]
"""Pages whose blocks are run here, in their order; those of a folder are tried where their subject is tested."""
NEEDS = {"a package index", "a key", "a model", "a model server", "a model, a collector of traces"}
"""What no test has."""
ELSEWHERE = {"in a notebook", "in the test of the README"}
_GAPS = r"…|\d+|OPENAI_API_KEY|terminus\.toml(?= in)|(?<=unknown) parser|input should be"
"""What the lines of a page leave open, or have as an example; the last are pydantic's own words."""
LANGUAGES = {"console", "python", "toml", "json", "text"}


@pytest.mark.parametrize("page", OWN)
def test_blocks_run_in_their_order(page, tmp_path):
    write_files(PAGES[page], tmp_path)
    runnable = [block for block in PAGES[page] if block.runs_as_it_stands]
    for language, some in groupby(runnable, key=lambda block: block.language):
        run_block(together(list(some), language), tmp_path)


def together(some, language):
    """Blocks as one that runs them one after the other: what they import is imported once."""
    if language == "console":
        return Block(language, "\n".join(block.text for block in some))
    return Block(language, "\n".join(f"exec({block.text!r}, {{'__name__': '__main__'}})" for block in some))


@pytest.mark.parametrize("page", PAGES)
def test_each_block_runs_or_says_why_not(page):
    text = (DOCS / page).read_text()
    assert len(PAGES[page]) == len(re.findall(r"^\s*```", text, re.MULTILINE)) / 2, "a block that cannot be read"
    for block in PAGES[page]:
        assert block.language in LANGUAGES, block
        if page in OWN and block.word == "needs":
            assert block.what in NEEDS, block
        if page in OWN and block.word == "runs":
            assert block.what in ELSEWHERE, block


@pytest.mark.parametrize("page", PAGES)
def test_data_can_be_read(page):
    for block in PAGES[page]:
        if block.language == "toml":
            tomllib.loads(block.text)
        if block.language == "json":
            for line in block.text.splitlines() if block.what.endswith(".jsonl") else [block.text]:
                json.loads(line)


@pytest.fixture(scope="module")
def manager():
    return PluginManager()


@pytest.mark.parametrize("page", PAGES)
def test_settings_in_examples_are_known(page, manager):
    for block in PAGES[page]:
        if block.language == "toml" and not block.word:
            manager.check(Settings.check(tomllib.loads(block.text)))


def test_a_notebook_cell_runs(tmp_path):
    (cell,) = [block for block in PAGES["python.md"] if block.what == "in a notebook"]
    code = compile(cell.text, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = {}

    async def kernel():
        await eval(code, names)

    with chdir(tmp_path):
        asyncio.run(kernel())
    assert names["result"].status == "completed"


def commands(command, path):
    """Every command with its words, groups left out."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), [*path, name])
    else:
        yield path


@pytest.mark.parametrize("path", list(commands(terminus, ["terminus"])), ids=" ".join)
def test_each_command_has_its_part_of_the_page(path):
    assert re.search(rf"^## {' '.join(path)}$", (DOCS / "command-line.md").read_text(), re.MULTILINE)


def test_exit_codes_are_those_of_the_help():
    codes = re.findall(r"^\| ([\d, ]+) \|", (DOCS / "command-line.md").read_text(), re.MULTILINE)
    help_text = " ".join((terminus.commands["run"].help or "").partition("Exit codes:")[2].split())
    assert re.findall(r"\d+", " ".join(codes)) == re.findall(r"\d+", help_text)


def test_settings_have_a_meaning(manager):
    for role in ("environment", "session", "parser", "llm", "completion", "context", "gate", "observer"):
        for name, part in manager.parts(role).items():
            for key, field in getattr(getattr(part, "Config", None), "model_fields", {}).items():
                assert field.description, f"{role}.{name}.{key}"


def test_settings_named_in_the_pages_exist(manager):
    """A `[table] key` or `--set table.key` in the text is one that there is."""
    known = {f"[{table}] {key}" for table in ("agent", "trajectory") for key in _keys(table)}
    for role in ("environment", "session", "parser", "llm", "completion", "context", "gate", "observer"):
        for name, part in manager.parts(role).items():
            known |= {f"[{role}.{name}] {key}" for key in getattr(getattr(part, "Config", None), "model_fields", {})}
    for page in PAGES:
        for named in re.findall(r"`(\[[a-z_.]+\] [a-z_]+)", (DOCS / page).read_text()):
            assert named in known, page


def test_lines_under_troubleshooting_are_lines_of_the_program():
    """What stands between the gaps of a line is in the source, as it stands."""
    sources = [*(ROOT / "terminus_core").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    code = "\n".join(path.read_text() for path in sources)
    code = re.sub(r"[\"']\s*\n\s*f?[\"']", "", code)  # texts that go on in the next row
    page = (DOCS / "troubleshooting.md").read_text()
    faults = page[: page.index("## A run that ends without completion")]
    lines = [line for row in re.findall(r"^\| (`.+?) \|", faults, re.MULTILINE) for line in re.findall("`(.+?)`", row)]
    assert len(lines) > 30
    pieces = {(line, piece.strip(" :;?")) for line in lines for piece in re.split(_GAPS, line)}
    assert sorted(each for each in pieces if each[1] not in code) == []


def _keys(table):
    return type(getattr(load_settings(environ={}).settings, table)).model_fields
