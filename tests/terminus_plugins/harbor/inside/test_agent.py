"""One run in a place of Harbor's: what the model is told, what Harbor is told, and what is left."""

import asyncio
import json

import pytest
from harbor.models.agent.context import AgentContext
from harbor.models.task.config import MCPServerConfig
from harbor.models.trajectories import Trajectory

from terminus_core import LLMError
from terminus_plugins.harbor import TerminusAgent
from terminus_plugins.harbor.agent import INSTALL_TMUX
from tests.support.provider_server import ProviderServer, fault, silent
from tests.terminus_plugins.harbor.inside.conftest import TASK, said

pytestmark = pytest.mark.anyio

HUNG_UP = {"session": {"tmux": {"leave_running": False}}}
DONE = [said(("echo ready > done.txt\n", 5.0)), said(done=True), said(done=True)]
PLUGIN = """
from terminus_core import hookimpl

class Shouting:
    name = "shouting"

    @hookimpl
    def terminus_prepare_instruction(self, instruction):
        return instruction.upper()

@hookimpl
def terminus_register_observers():
    return [Shouting]
"""


class Run:
    """An agent and what Harbor gives it."""

    def __init__(self, folder, server, **options) -> None:
        self.logs = folder / "logs"
        self.context = AgentContext()
        self.agent = TerminusAgent(self.logs, "openai/scripted", base_url=server.url, **options)
        self.agent.session_id = "task__1__agent"

    async def work(self, place) -> None:
        await self.agent.setup(place)
        await self.agent.run(TASK, place, self.context)

    @property
    def trajectory(self) -> Trajectory:
        return Trajectory.model_validate_json((self.logs / "trajectory.json").read_bytes())


async def test_a_task_is_done(tmp_path, place):
    with ProviderServer(DONE) as server:
        run = Run(tmp_path, server)
        async with place() as there:
            await run.work(there)
            assert (there.root / "app" / "done.txt").read_text() == "ready\n"
    assert run.trajectory.session_id == "task__1__agent"
    assert "session_id" not in server.requests[0].json
    assert (run.logs / "recording.cast").exists()


async def test_what_the_agent_started_is_there_for_the_verifier(tmp_path, place):
    with ProviderServer([said(("sleep 300 &\n", 5.0)), said(done=True), said(done=True)]) as server:
        async with place() as there:
            await Run(tmp_path, server).work(there)
            assert "sleep 300" in there.processes().values()


async def test_a_terminal_that_is_not_to_be_left_is_not(tmp_path, place):
    with ProviderServer(DONE) as server:
        async with place() as there:
            await Run(tmp_path, server, settings=HUNG_UP).work(there)
            assert there.processes() == {}
            assert list((there.root / "tmp").glob("terminus-*/*")) == []


async def test_context_and_trajectory_are_filled_as_it_goes(tmp_path, place):
    seen = []

    def reply(request):
        told = run.context
        steps = len(run.trajectory.steps)
        seen.append((steps, told.metadata["n_episodes"], told.n_input_tokens, len(server.requests)))
        return [*DONE, *DONE][len(seen) - 1]

    with ProviderServer(reply) as server:
        run = Run(tmp_path, server, store_all_messages=True)
        async with place() as there:
            await run.work(there)
    told = [request.usage for request in server.requests]
    assert [steps for steps, *_ in seen] == [1, 2, 3]
    assert [tokens for *_, tokens, _ in seen] == [0, told[0]["prompt"], told[0]["prompt"] + told[1]["prompt"]]
    context = run.context
    assert context.n_input_tokens == sum(usage["prompt"] for usage in told)
    assert context.n_output_tokens == sum(usage["completion"] for usage in told)
    assert (context.n_cache_tokens, context.cost_usd) == (0, None)
    assert context.metadata["n_episodes"] == 3
    assert context.metadata["summarization_count"] == 0
    assert len(context.metadata["api_request_times_msec"]) == 3
    assert all(0 < msec < 60_000 for msec in context.metadata["api_request_times_msec"])
    assert [message["role"] for message in context.metadata["all_messages"]] == ["user", "assistant"] * 3
    json.loads(context.model_dump_json())


async def test_messages_that_are_stored_are_redacted(tmp_path, place, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "zzq-hidden-value")
    settings = {"agent": {"observers": ["atif", "redact"]}}
    with ProviderServer([said(("echo zzq-hidden-value\n", 5.0)), said(done=True), said(done=True)]) as server:
        run = Run(tmp_path, server, store_all_messages=True, settings=settings)
        async with place() as there:
            await run.work(there)
    stored = run.context.metadata["all_messages"]
    assert [message["role"] for message in stored] == ["user", "assistant"] * 3
    assert "echo ***" in stored[1]["content"]
    assert "zzq-hidden" not in json.dumps(stored)


async def test_price_and_rollouts(tmp_path, place):
    info = {"max_input_tokens": 100_000, "input_cost_per_token": 0.001, "output_cost_per_token": 0.002}
    with ProviderServer(DONE) as server:
        run = Run(tmp_path, server, model_info=info, collect_rollout_details=True)
        async with place() as there:
            await run.work(there)
    told = [request.usage for request in server.requests]
    cost = sum(usage["prompt"] * 0.001 + usage["completion"] * 0.002 for usage in told)
    assert run.context.cost_usd == pytest.approx(cost)
    (rollout,) = run.context.rollout_details
    assert [len(ids) for ids in rollout["prompt_token_ids"]] == [usage["prompt"] for usage in told]
    assert [len(ids) for ids in rollout["completion_token_ids"]] == [usage["completion"] for usage in told]
    assert len(rollout["logprobs"]) == 3


async def test_a_summary_is_counted_and_has_a_rollout_of_its_own(tmp_path, place):
    filler = said(("head -c 6000 /dev/zero | tr '\\0' x\n", 5.0))
    words = [filler, filler, said(), said(), said(), *DONE]
    info = {"max_input_tokens": 6000, "max_output_tokens": 1000}
    with ProviderServer(words) as server:
        run = Run(
            tmp_path, server, model_info=info, collect_rollout_details=True, proactive_summarization_threshold=2000
        )
        async with place() as there:
            await run.work(there)
    context = run.context
    assert context.metadata["summarization_count"] == 1
    assert context.n_input_tokens == sum(request.usage["prompt"] for request in server.requests)
    assert len(context.metadata["api_request_times_msec"]) == len(server.requests)
    main, *asides = context.rollout_details
    assert len(main["prompt_token_ids"]) == context.metadata["n_episodes"]
    assert [len(each["prompt_token_ids"]) for each in asides] == [1, 1, 1]


async def test_a_time_limit_leaves_everything_complete(tmp_path, place):
    with ProviderServer([*DONE[:2], silent()]) as server:
        run = Run(tmp_path, server, settings=HUNG_UP)
        async with place() as there:
            await run.agent.setup(there)
            task = asyncio.create_task(run.agent.run(TASK, there, run.context))
            await asyncio.to_thread(server.wait_for, 3, 100)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert there.processes() == {}
    assert [step.source for step in run.trajectory.steps] == ["user", "agent", "agent"]
    assert run.trajectory.final_metrics.extra["status"] == "cancelled"
    assert run.context.metadata["n_episodes"] == 3
    assert run.context.n_input_tokens == run.trajectory.final_metrics.total_prompt_tokens > 0


async def test_a_time_limit_in_the_middle_of_a_command(tmp_path, place):
    with ProviderServer([said(("sleep 600\n", 50.0))]) as server:
        run = Run(tmp_path, server, settings=HUNG_UP)
        async with place() as there:
            await run.agent.setup(there)
            task = asyncio.create_task(run.agent.run(TASK, there, run.context))
            while "sleep 600" not in there.processes().values():  # noqa: ASYNC110 - how tests wait for the outside
                await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert there.processes() == {}
    assert len(run.trajectory.steps) == 2
    assert run.context.metadata["n_episodes"] == 1


async def test_a_fault_of_the_provider_is_raised(tmp_path, place):
    with ProviderServer([DONE[0], fault(401, "no such key")]) as server:
        run = Run(tmp_path, server, settings=HUNG_UP)
        async with place() as there:
            with pytest.raises(LLMError, match="no such key"):
                await run.work(there)
            assert there.processes() == {}
    assert run.context.metadata["n_episodes"] == 2
    assert run.trajectory.final_metrics.extra["status"] == "error"


async def test_skills_and_servers_reach_the_prompt(tmp_path, place):
    texts = {
        "pdf": "---\nname: pdf\ndescription: Reads <PDF> & more\n---\nUse pdftotext.\n",
        "a b": "---\nname: spaced\ndescription: In a folder with a blank\n---\n",
        "broken": "no front matter\n",
        "odd": "---\n: [\n---\n",
    }
    servers = [
        MCPServerConfig(name="files", transport="stdio", command="serve", args=["--root", "/a b"]),
        MCPServerConfig(name="web", transport="sse", url="http://127.0.0.1:9/sse"),
    ]
    with ProviderServer(DONE) as server:
        run = Run(tmp_path, server, skills_dir="/skills", mcp_servers=servers)
        async with place() as there:
            for name, text in texts.items():
                (there.root / "skills" / name).mkdir()
                (there.root / "skills" / name / "SKILL.md").write_text(text)
            await run.work(there)
    prompt = server.requests[0].last_text
    assert "- files (stdio): serve --root '/a b'\n- web (sse): http://127.0.0.1:9/sse" in prompt
    assert "<name>pdf</name>\n    <description>Reads &lt;PDF&gt; &amp; more</description>" in prompt
    assert "<location>/skills/pdf/SKILL.md</location>" in prompt
    assert "<location>/skills/a b/SKILL.md</location>" in prompt
    assert "broken" not in prompt
    assert prompt.index(TASK) < prompt.index("- files") < prompt.index("<available_skills>")
    assert json.loads((run.logs / "run.json").read_text())["instruction"] == TASK


async def test_our_plugins_apply(tmp_path, place):
    (tmp_path / "shouting.py").write_text(PLUGIN)
    options = {
        "plugins": [str(tmp_path / "shouting.py")],
        "observers": ["shouting"],
        "gates": ["deny"],
        "completion": "single",
        "settings": {"gate": {"deny": {"patterns": {"rm ": "nothing is removed here"}}}},
    }
    with ProviderServer([said(("rm -rf /app\n", 1.0)), said(done=True)]) as server:
        run = Run(tmp_path, server, **options)
        async with place() as there:
            await run.work(there)
            assert (there.root / "app").exists()
    assert TASK.upper() in server.requests[0].last_text
    assert "nothing is removed here" in server.requests[1].last_text
    assert len(server.requests) == 2


async def test_headers_carry_the_id_of_the_run(tmp_path, place):
    with ProviderServer(DONE) as server:
        run = Run(tmp_path, server, session_id_headers=["Modal-Session-ID"], llm_call_kwargs={"top_p": 0.5})
        async with place() as there:
            await run.work(there)
    assert {request.headers["modal-session-id"] for request in server.requests} == {"task__1__agent"}
    assert server.requests[0].json["top_p"] == 0.5


async def test_an_own_session_id_is_sent_along(tmp_path, place):
    with ProviderServer(DONE) as server:
        run = Run(tmp_path, server, session_id="mine")
        async with place() as there:
            await run.work(there)
    assert run.trajectory.session_id == server.requests[0].json["session_id"] == "mine"


@pytest.mark.parametrize(
    ("manager", "asked"),
    [
        ("apt-get", "update -qq\ninstall -y -qq --no-install-recommends tmux\n"),
        ("apk", "add --no-cache tmux\n"),
        ("dnf", "install -y tmux\n"),
        ("zypper", "--non-interactive install tmux\n"),
    ],
)
async def test_tmux_is_installed_where_it_is_missing(place, manager, asked):
    async with place() as there:
        tools = there.root / "app" / "bin"
        tools.mkdir()
        (tools / manager).write_text('#!/bin/sh\necho "$@" >> /app/asked\n')
        (tools / manager).chmod(0o755)
        done = await there.exec(f"PATH=/app/bin; {INSTALL_TMUX}")
        assert done.return_code == 0, done.stderr
        assert (there.root / "app" / "asked").read_text() == asked


async def test_without_tmux_the_run_names_the_cure(tmp_path, place, caplog):
    with ProviderServer(DONE) as server:
        run = Run(tmp_path, server)
        async with place() as there:
            there._persistent_env = {"PATH": "/app/bin"}
            (there.root / "app" / "bin").mkdir()
            for tool in ("sh", "bash", "id", "mkdir", "chmod"):
                (there.root / "app" / "bin" / tool).symlink_to(f"/usr/bin/{tool}")
            with pytest.raises(Exception, match="tmux is not installed"):
                await run.work(there)
    assert "there is no package manager to install tmux with" in caplog.text
    assert server.requests == []
