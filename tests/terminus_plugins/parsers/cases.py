"""Replies as models have sent them, and what may be typed for each."""

from dataclasses import dataclass

import pytest

from terminus_core import LLMResponse
from terminus_plugins.parsers.json.parser import JsonParser
from terminus_plugins.parsers.xml.parser import XmlParser

PARSERS = {"json": JsonParser(), "xml": XmlParser()}


@dataclass
class Case:
    """``outcome``: ``ok`` (exactly these keystrokes), ``error``, or ``either``."""

    parser: str
    reply: str
    outcome: str
    keystrokes: tuple[str, ...] = ()
    durations: tuple[float, ...] = ()
    warning: bool = False
    claim: bool = False
    finish_reason: str = "stop"


def parse(parser, reply, finish_reason="stop"):
    return PARSERS[parser].parse_response(LLMResponse(content=reply, finish_reason=finish_reason))


def typed(result):
    return tuple(command.keystrokes for command in result.commands)


def _json(case_id, reply, outcome, keystrokes=(), **more):
    return pytest.param(Case("json", reply, outcome, keystrokes, **more), id=case_id)


def _xml(case_id, reply, outcome, keystrokes=(), **more):
    return pytest.param(Case("xml", reply, outcome, keystrokes, **more), id=case_id)


CASES = [
    _json(
        "jp-01",
        "Next I call `make`.\n"
        '{"analysis": "README lacks a build section", "plan": "add one", "commands": '
        r"""[{"keystrokes": "printf '```sh\nmake\n```\n' >> README.md\n", "duration": 0.3}]}""",
        "ok",
        ("printf '```sh\nmake\n```\n' >> README.md\n",),
        durations=(0.3,),
        warning=True,
    ),
    _json(
        "jp-02",
        "I would normally run\n```bash\ncd /srv/shop && ls { a,b }\n```\nso here is my turn:\n```json\n"
        '{"analysis": "need a listing", "plan": "list", "commands": '
        r'[{"keystrokes": "ls -1 /srv/shop\n", "duration": 0.1}], "task_complete": false}'
        "\n```\nThanks.",
        "ok",
        ("ls -1 /srv/shop\n",),
        durations=(0.1,),
    ),
    _json(
        "jp-03",
        '<think>\nmaybe {"analysis": "draft", "plan": "wipe", "commands": '
        r'[{"keystrokes": "rm -r build\n", "duration": 1}]} ... no, too risky'
        '\n</think>\n{"analysis": "keep build", "plan": "look first", "commands": '
        r'[{"keystrokes": "ls build\n", "duration": 0.2}]}',
        "ok",
        ("ls build\n",),
    ),
    _json(
        "jp-05",
        '{"analysis": "prompt file needs tags", "plan": "write it", "commands": '
        r"""[{"keystrokes": "echo '<think>be brief</think> go' > prompt.txt\n", "duration": 0.1}]}""",
        "ok",
        ("echo '<think>be brief</think> go' > prompt.txt\n",),
    ),
    _json(
        "jp-06",
        '{"analysis": "write a script", "plan": "heredoc", "commands": [{"keystrokes": '
        '"cat > run.sh <<\'END\'\n#!/bin/sh\n\techo ready\nEND\n", "duration": 0.5}]}',
        "ok",
        ("cat > run.sh <<'END'\n#!/bin/sh\n\techo ready\nEND\n",),
        warning=True,
    ),
    _json(
        "jp-07",
        '{"analysis": "count ids", "plan": "grep", "commands": '
        r"""[{"keystrokes": "grep -cP 'id=\d{3}\s' app.log; echo \$HOME\n", "duration": 0.4}]}""",
        "ok",
        ("grep -cP 'id=\\d{3}\\s' app.log; echo \\$HOME\n",),
        warning=True,
    ),
    _json(
        "jp-09",
        "{'analysis': \"it's a repo\", 'plan': 'show log', 'commands': [{'keystrokes': "
        r""""git log --author='O'\"'\"'Neil' -1\n", 'duration': 1}], 'task_complete': False}""",
        "either",
        ("git log --author='O'\"'\"'Neil' -1\n",),
    ),
    _json(
        "jp-10",
        '{"analysis": "make sample", "plan": "echo", "commands": '
        r"""[{"keystrokes": "echo '[1,2,]' > a.json; echo '{\"k\": 1,}' > b.json\n", "duration": 0.1,},],}""",
        "ok",
        ("echo '[1,2,]' > a.json; echo '{\"k\": 1,}' > b.json\n",),
        warning=True,
    ),
    _json(
        "jp-11",
        '{"analysis": "disk is full", "plan": "clean cache", "commands": '
        r'[{"keystrokes": "ls /var/cache\n", "duration": 0.1}, {"keystrokes": "rm -rf /home/dev/pro',
        "error",
        finish_reason="length",
    ),
    _json(
        "jp-12",
        'Sure:\n{"analysis": "types", "plan": "write ts", "commands": [{"keystrokes": '
        r'"cat > m.ts <<E\nundo: (a: Box, b: Item) => void;\nredo: (a: Box) => void,\nE\n", "duration": 0.2},]}',
        "either",
        ("cat > m.ts <<E\nundo: (a: Box, b: Item) => void;\nredo: (a: Box) => void,\nE\n",),
    ),
    _json(
        "jp-14",
        '{"analysis": "two steps", "plan": "do both", '
        r'"commands": [{"keystrokes": "cp a b\n", "duration": 0.1}], '
        r'"commands": [{"keystrokes": "rm a\n", "duration": 0.1}]}',
        "error",
    ),
    _json(
        "jp-15",
        "\ufeff\u200b"
        r'{"analysis": "ok", "plan": "go", "commands": [{"keystrokes": "pwd\n", "duration": 0.1}]}',
        "ok",
        ("pwd\n",),
    ),
    _json(
        "jp-16",
        '{"analysis": "wait", "plan": "wait", "commands": '
        r'[{"keystrokes": "true\n", "duration": NaN}, {"keystrokes": "true\n", "duration": 1e999}, '
        r'{"keystrokes": "true\n", "duration": Infinity}]}',
        "ok",
        ("true\n", "true\n", "true\n"),
        durations=(1.0, 1.0, 1.0),
        warning=True,
    ),
    _json(
        "jp-17",
        '{"analysis": "long job", "plan": "wait", "commands": '
        r'[{"keystrokes": "", "duration": 86400}, {"keystrokes": "ls\n", "duration": -3}]}',
        "ok",
        ("", "ls\n"),
        durations=(86400.0, 1.0),  # the loop limits the first one
        warning=True,
    ),
    _json(
        "jp-18",
        r'{"analysis": "x", "plan": "y", "commands": [{"keystrokes": "ls\n", "duration": ' + "7" * 6000 + "}]}",
        "error",
    ),
    _json("jp-19", '{"analysis": "x", "plan": "y", "commands": ' + "[" * 100_000, "error"),
    _json(
        "jp-20",
        '{"analysis": "tests red", "plan": "fix", "commands": '
        r'[{"keystrokes": "pytest -q\n", "duration": 20}], "task_complete": "false"}',
        "ok",
        ("pytest -q\n",),
        warning=True,
    ),
    _json(
        "jp-21",
        r'{"analysis": "emoji \ud83d", "plan": "print \ude00", "commands": '
        r'[{"keystrokes": "echo hi \ud83d\n", "duration": 0.1}]}',
        "ok",
        ("echo hi \ufffd\n",),
        warning=True,
    ),
    _json(
        "se-08",
        r'{"analysis": "nul", "plan": "p", "commands": [{"keystrokes": "printf a\u0000b\n", "duration": 0.1}]}',
        "error",
    ),
    _xml(
        "xp-01",
        "<response>\n<analysis>docs</analysis>\n<plan>write</plan>\n<commands>\n"
        "<keystrokes duration=\"0.5\">cat > fmt.md <<'E'\nEnd each block with </keystrokes> on its own line.\n"
        "second line\nE\n</keystrokes>\n</commands>\n</response>",
        "either",
        ("cat > fmt.md <<'E'\nEnd each block with </keystrokes> on its own line.\nsecond line\nE\n",),
    ),
    _xml(
        "xp-02",
        '<response><analysis>a</analysis><plan>b</plan><commands><keystrokes duration="1">'
        "sort < in.txt | uniq -c > out.txt && test $(wc -l < out.txt) -lt 5\n</keystrokes></commands></response>",
        "ok",
        ("sort < in.txt | uniq -c > out.txt && test $(wc -l < out.txt) -lt 5\n",),
        durations=(1.0,),
    ),
    _xml(
        "xp-03",
        '<response><analysis>a</analysis><plan>b</plan><commands><keystrokes duration="0.2">'
        "test -f x &amp;&amp; echo '&amp;lt;b&amp;gt;' &gt; t.html\n</keystrokes></commands></response>",
        "ok",
        ("test -f x &amp;&amp; echo '&amp;lt;b&amp;gt;' &gt; t.html\n",),
        warning=True,
    ),
    _xml(
        "xp-05",
        "</thinking>\n<response>\n<analysis>ok</analysis></analysis>\n<plan>go</plan>\n<commands>\n"
        '<keystrokes duration="0.1">date\n</keystrokes>\n</keystrokes>\n</commands>\n</response>\n</response>',
        "ok",
        ("date\n",),
        warning=True,
    ),
    _xml(
        "xp-06",
        "<response><analysis>a</analysis><plan>b</plan><commands><keystrokes duration=0.5>Ready\n</keystrokes>"
        "<keystrokes duration = '2'>two\n</keystrokes><Keystrokes DURATION=\"3.0\">three\n</Keystrokes>"
        "<keystrokes>four\n</keystrokes></commands></response>",
        "ok",
        ("Ready\n", "two\n", "three\n", "four\n"),
        durations=(0.5, 2.0, 3.0, 1.0),
        warning=True,
    ),
    _xml(
        "xp-07",
        '<response><analysis>a</analysis><plan>b</plan><commands><keystrokes duration="0.1"><![CDATA['
        'if [[ ${v[i[0]]} > 3 ]]; then echo "a && b <c>"; fi\n]]></keystrokes></commands></response>',
        "ok",
        ('if [[ ${v[i[0]]} > 3 ]]; then echo "a && b <c>"; fi\n',),
    ),
    _xml(
        "xp-09",
        '<analysis>a</analysis>\n<plan>b</plan>\n<commands>\n<keystrokes duration="0.1">make -n\n</keystrokes>\n'
        '<keystrokes duration="60">make clean &amp;&amp; make dist',
        "error",
    ),
    _xml(
        "xp-11",
        '<response><analysis>a</analysis><plan>b</plan><commands><keystrokes duration="0.1">    indented = 1\n\n'
        '</keystrokes><keystrokes duration="0"> </keystrokes><keystrokes duration="0"></keystrokes></commands>'
        "</response>",
        "ok",
        ("    indented = 1\n\n", " ", ""),
        durations=(0.1, 0.0, 0.0),
    ),
]
