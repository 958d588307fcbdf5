"""Secrets: masked in what the model sees and in every file, while what is typed works."""

import json
import os

import pytest

from terminus_core import SECRET_FORMS, Agent, ContentPart, LLMResponse, Message
from terminus_core.testing import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_plugins.observers.redact.observer import Redact
from terminus_plugins.observers.redact.patterns import Masker, secrets_in
from terminus_plugins.observers.redact.rows import columns
from tests.support.scripted_run import DONE, typing

TOKEN = "correct-horse-battery"
ODD = 'a"b\\c-quoted'
LONG = "sk-" + "x1Y2z3" * 12


@pytest.fixture
def secrets(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    monkeypatch.setenv("ODD_PASSWORD", ODD)
    monkeypatch.setenv("HARMLESS", "an-unnamed-one")
    monkeypatch.setenv("SHORT_KEY", "abc")
    monkeypatch.setenv("PATH_KEY", "/etc/ssl/some.key")


def test_no_file_of_a_run_holds_a_secret(program, secrets):
    slowly = 'for ((i=0; i<${#SHOP_TOKEN}; i++)); do printf %s "${SHOP_TOKEN:i:1}"; sleep 0.03; done; echo\n'
    replies = [
        typing('echo "<$SHOP_TOKEN> $ODD_PASSWORD $HARMLESS"\n', f"echo {LONG} > typed\n"),
        typing('printf "%150s%s\\n" : "$SHOP_TOKEN"; clear; printf "%155s%s\\n" : "$SHOP_TOKEN"\n', slowly),
        {"content": f"no JSON, but {TOKEN}", "reasoning_content": f"thinking of {TOKEN}"},
        typing(analysis=f"I saw {ODD} and set-in-settings", plan=LONG, done=True),
        typing(done=True, analysis="https://me:hunter22@example.org"),
    ]
    (program.folder / "my.toml").write_text("[llm.litellm.llm_kwargs]\napi_key = 'set-in-settings'\n")
    more = (
        "--set",
        'observer.redact.variables=["HARMLESS"]',
        "--set",
        "observer.asciinema.input=true",
        "--set",
        "observer.redact.model=true",
        "--set",
        'environment.local.pass_env=["SHOP_TOKEN", "ODD_PASSWORD"]',
    )
    options = ("--config", "my.toml", "--observer", "redact", "--observer", "asciinema", *more)
    done = program(*options, replies=replies, task=f"Use {TOKEN}.")
    assert done.code == 0
    hidden = [TOKEN, ODD, json.dumps(ODD)[1:-1], LONG, "an-unnamed-one", "set-in-settings", "hunter22"]
    files = [path for path in done.folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"trajectory.json", "replies.jsonl", "recording.cast", "run.json"}
    for path in files:
        text = path.read_text()
        assert [secret for secret in hidden if secret in text] == [], path
    assert [secret for secret in hidden if secret in done.stdout] == []
    assert (program.folder / "typed").read_text() == f"{LONG}\n"
    assert done.steps[0]["message"].count("Use ***.") == 1
    assert "<***> *** ***" in done.observations[0]
    assert "***" in done.observations[1]
    assert done.turns[2]["reasoning_content"] == "thinking of ***"
    assert "I saw *** and ***" in done.turns[3]["message"]
    recorded = (done.folder / "recording.cast").read_text().splitlines()
    shown = "".join(event[2] for event in map(json.loads, recorded[1:]) if event[1] == "o")
    for secret in hidden:
        assert secret not in shown
    assert "<***> *** ***" in shown


@pytest.mark.anyio
async def test_the_model_never_sees_a_secret(tmp_path, secrets):
    rows = "x" * 70 + TOKEN  # 80 columns: the terminal breaks it
    session = FakeSession([f"$ {TOKEN}", f"{rows[:80]}\n{rows[80:]} and on\n$ "])
    call = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"x": TOKEN})}}
    llm = FakeLLM(
        [
            LLMResponse(typing("ls\n", analysis=TOKEN)["content"], tool_calls=[call]),
            LLMResponse(f"broken {TOKEN}"),
            DONE["content"],
            DONE["content"],
        ]
    )
    recorder = EventRecorder()
    agent = Agent(
        llm=llm,
        environment=FakeEnvironment(),
        session=FakeBackend(session),
        observers=[Redact(Redact.Config(model=True)), recorder],
        logs_dir=tmp_path / "run",
    )
    await agent.run(f"Use {TOKEN}")
    assert TOKEN not in json.dumps(llm.requests)
    assert TOKEN[:10] not in json.dumps(llm.requests)
    assert llm.requests[1][-1]["content"] == "New Terminal Output:\n" + "x" * 70 + "*** and on\n$ "
    assert json.loads(llm.requests[1][-2]["tool_calls"][0]["function"]["arguments"]) == {"x": "***"}
    assert session.sent[0][0] == "ls\n"
    assert TOKEN not in str(recorder.events)


async def _failing(tmp_path, error):
    recorder = EventRecorder()
    agent = Agent(
        llm=FakeLLM([error]),
        environment=FakeEnvironment(),
        session=FakeBackend(),
        observers=[Redact(Redact.Config(model=True)), recorder],
        logs_dir=tmp_path / "run",
    )
    return agent, recorder


@pytest.mark.anyio
async def test_a_reason_is_masked_too(tmp_path, secrets):
    agent, recorder = await _failing(tmp_path, KeyError(f"no {TOKEN}"))
    with pytest.raises(KeyError):
        await agent.run("task")
    assert recorder.values("run_finished")[0].reason == "KeyError: 'no ***'"
    assert TOKEN not in (tmp_path / "run" / "run.json").read_text()


SAMPLES = {
    "hooks.slack.com": "https://hooks.slack.com/services/T00/B00/xyzexample",
    "/api/webhooks": "https://discord.com/api/webhooks/1234/xyzexample",
    ".webhook.office.com": "https://acme.webhook.office.com/webhookb2/xyzexample",
    "sk-": "sk-ant-api03-abcdefghijklmnop",
    "k_live_": "sk_live_abcdefghijklmnop1234",
    "k_test_": "rk_test_abcdefghijklmnop1234",
    "gh": "ghp_abcdefghijklmnopqrst12",
    "github_pat_": "github_pat_11ABCDEFG0abcdefghijkl",
    "AKIA": "AKIAIOSFODNN7EXAMPLE",
    "ASIA": "ASIAIOSFODNN7EXAMPLE",
    "AIza": "AIzaSyA1234567890abcdefghijklmnopqrstu",
    "ya29.": "ya29.a0AfH6SMBxxxxxxxxxxxxx",
    "xox": "xoxb-123456789012-abcdef",
    "SG.": "SG.abcdefghijklmnop.qrstuvwxyz123456",
    "eyJ": "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
    "earer ": "abcdef.123456",
    "Basic ": "dXNlcjpwYXNz",
    "://": "user:secret-word",
}
AROUND = {"earer ": ("Authorization: Bearer ", ""), "Basic ": ("Basic ", ""), "://": ("https://", "@host/path")}


@pytest.mark.parametrize("hint", SECRET_FORMS)
def test_known_forms(hint):
    secret = SAMPLES.get(hint) or f"{hint}abcdefghijklmnop1234"
    before, after = AROUND.get(hint, ("key=", " # end"))
    assert Masker([]).mask(f"{before}{secret}{after}") == f"{before}***{after}"


@pytest.mark.parametrize(
    "text",
    [
        "task-list risk-averse",
        "https://host:8080/a@b",
        "Basic usage of git",
        "sk-short",
        "ghost ghp_x",
        "mask-sk-",
        "eyJ.",
    ],
)
def test_ordinary_words_stay(text):
    assert Masker(["abcdefg"]).mask(text) == text


@pytest.mark.parametrize("at", range(60, 81))
def test_a_secret_over_two_or_three_rows(at):
    line = "=" * at + LONG + " tail"
    rows = "\n".join(line[start : start + 40] for start in range(0, len(line), 40))
    masked = Masker([]).mask(f"first\n{rows}\nlast", 40)
    assert masked.replace("\n", "") == "first" + "=" * at + "*** taillast"
    assert masked.startswith("first\n")


def test_secrets_that_hold_each_other_and_touch():
    masker = Masker(["abcdefgh", "abcdefghij", "efghijkl"])
    assert masker.mask("abcdefghijkl abcdefghabcdefgh") == "*** ******"


def in_rows(text, width):
    """As a terminal wraps it."""
    rows, row = [], ""
    for character in text:
        if columns(row + character) > width:
            rows.append(row.rstrip(" "))
            row = ""
        row += character
    return "\n".join([*rows, row])


@pytest.mark.parametrize("before", ["\N{HANGUL SYLLABLE GA}", "e\N{COMBINING ACUTE ACCENT}", "\uff21 x\u0301 ", "a "])
@pytest.mark.parametrize(
    "secret",
    ["zzq-hidden-value-4711", "correct horse battery staple", "\u79d8\u5bc6\u306e\u9375\u306f\u3053\u308c\u3067"],
)
def test_a_secret_over_rows_of_wide_and_combining_characters(before, secret):
    for length in range(40):
        rows = in_rows(before * 5 + "x" * length + secret + " tail", 40)
        masked = Masker([secret]).mask(f"first\n{rows}\nlast", 40)
        assert masked.count("***") == 1
        assert masked.replace("\n", "").replace(" ", "").endswith("x" * length + "***taillast")


@pytest.mark.parametrize("patterns", [["("], ["x*"]])
def test_patterns_are_checked(patterns):
    with pytest.raises(ValueError, match=r"no regular expression|matches an empty text"):
        Redact.Config(patterns=patterns)


def test_images_stay_what_they_are(secrets):
    image = ContentPart(type="image_url", image_url={"url": f"data:image/png;base64,{TOKEN}"})
    observer = Redact(Redact.Config(model=True, secrets=["further-secret"]))
    observer._masker = Masker([TOKEN])
    part = ContentPart(type="text", text=TOKEN)
    (sent,) = observer.terminus_prepare_messages(None, [Message(role="user", content=[part, image])])
    assert sent["content"] == [{"type": "text", "text": "***"}, image]


def test_a_key_that_begins_like_a_path_is_masked(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "/q8ZkPp1Lw+XyT0a9b8c7d6e5f4g3h2i1j0kLmNo")
    monkeypatch.setenv("TLS_KEY", str(tmp_path))
    values = [*secrets_in(os.environ, ["HOME"])]
    assert os.environ["AWS_SECRET_ACCESS_KEY"] in values
    assert os.environ["HOME"] in values, "asked for by name"
    assert str(tmp_path) not in values
