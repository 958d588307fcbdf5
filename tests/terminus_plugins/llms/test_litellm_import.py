"""litellm is imported when it is used, asks nobody, says nothing, and keeps no program alive."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.provider_server import ProviderServer, answer, silent


def run(script, *args):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *args], capture_output=True, text=True, timeout=110, check=False
    )


def test_loading_the_plugins_loads_no_heavy_library():
    done = run(
        """
        import sys
        import terminus_plugins.llms.litellm.llm, terminus_plugins.llms.scripted
        print(sorted({"litellm", "openai", "httpx", "tenacity", "tiktoken"} & sys.modules.keys()))
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("[]\n", "", 0)


def test_a_missing_extra_names_its_cure():
    done = run(
        """
        import sys
        sys.modules["litellm"] = None  # what an import of it then finds
        import anyio
        from terminus_core import ConfigError
        from terminus_plugins.llms.litellm.llm import LiteLLM
        try:
            anyio.run(LiteLLM(LiteLLM.Config(model="openai/gpt-5")).prepare)
        except ConfigError as error:
            print(error)
        """
    )
    assert "pip install 'terminus-agent[litellm]'" in done.stdout
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("dialects", [pytest.param(("openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"), id="ll-08")])
def test_nobody_but_the_provider_is_asked_and_nothing_is_printed(dialects):
    with ProviderServer([answer("one")]) as openai, ProviderServer([answer("two")]) as anthropic:
        done = run(
            """
            import sys
            others = []
            def watch(event, args):
                if event == "socket.getaddrinfo" and args[0] not in ("127.0.0.1", None):
                    others.append(args)
                if event == "socket.connect" and args[1][0] != "127.0.0.1":
                    others.append(args)
            sys.addaudithook(watch)
            import anyio
            from terminus_core import LLMRequest, Message
            from terminus_plugins.llms.litellm.llm import LiteLLM
            async def main():
                for model, base in zip(sys.argv[1:3], sys.argv[3:5]):
                    llm = LiteLLM(LiteLLM.Config(model=model, api_base=base))
                    print((await llm.call(LLMRequest([Message(role="user", content="x")]))).content)
            anyio.run(main)
            print(others)
            """,
            *dialects,
            openai.url,
            anthropic.root_url,
        )
    assert (done.stdout, done.stderr, done.returncode) == ("one\ntwo\n[]\n", "", 0)


def test_a_request_that_was_given_up_does_not_keep_the_program_alive():
    with ProviderServer([silent()]) as server:
        done = run(
            """
            import sys, anyio
            from terminus_core import LLMRequest, Message
            from terminus_plugins.llms.litellm.llm import LiteLLM
            async def main():
                llm = LiteLLM(LiteLLM.Config(model="openai/gpt-4o-mini", api_base=sys.argv[1], timeout_sec=600))
                await llm.prepare()
                with anyio.move_on_after(1):
                    await llm.call(LLMRequest([Message(role="user", content="x")]))
                print("given up")
            anyio.run(main)
            """,
            server.url,
        )
    assert (done.stdout, done.stderr, done.returncode) == ("given up\n", "", 0)


@pytest.mark.parametrize("delay", ["0", "0.5", "2"])
def test_the_program_may_end_in_the_middle_of_the_import(delay):
    done = run(
        """
        import sys, time
        from terminus_plugins.llms.litellm.llm import LiteLLM
        LiteLLM(LiteLLM.Config(model="openai/gpt-5"))
        time.sleep(float(sys.argv[1]))
        """,
        delay,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


ATTACK = "OPENAI_API_BASE={base}\nOPENAI_BASE_URL={base}\nHTTPS_PROXY={base}\nALL_PROXY={base}\nFOUND_A_DOTENV=1\n"
LOOKS = """
import os, sys
from terminus_plugins.llms.litellm.library import begin_import
before = dict(os.environ)
begin_import().result()
changed = {name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)}
print(sorted(name for name in changed if not name.startswith("LITELLM_LOCAL_")))
"""


@pytest.mark.parametrize("form", ["working folder", "folder above", "script beside it", "beside its package"])
def test_no_dotenv_file_of_a_repository_is_read(form, tmp_path):
    clone = tmp_path / "clone"
    below = clone / "deeply" / "below"
    below.mkdir(parents=True)
    (clone / ".env").write_text(ATTACK.format(base="http://127.0.0.1:9"))
    words, folder, path = ["-c", LOOKS], clone, None
    if form == "folder above":
        folder = below
    elif form == "script beside it":
        (below / "work.py").write_text(LOOKS)
        words, folder = [str(below / "work.py")], tmp_path
    elif form == "beside its package":  # as in a virtual environment inside the clone
        packages = clone / ".venv" / "lib"
        packages.mkdir(parents=True)
        import litellm  # noqa: PLC0415 - heavy

        (packages / "litellm").symlink_to(Path(litellm.__file__).parent)
        folder, path = tmp_path, str(packages)
    env = {**os.environ, **({"PYTHONPATH": path} if path else {})}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=110, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("[]\n", "", 0)


def test_the_process_of_a_host_is_left_as_it_was():
    done = run(
        """
        import logging, os
        from terminus_plugins.llms.litellm.library import begin_import
        names = ("", "LiteLLM", "httpx", "openai")
        levels = [logging.getLogger(name).level for name in names]
        begin_import().result()
        same = [logging.getLogger(name).level for name in names] == levels
        print("LITELLM_MODE" in os.environ, logging.getLogger().handlers, same)
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("False [] True\n", "", 0)
