"""Looking at images: from a file in the environment to the model, the trajectory and out of the requests again."""

import base64
import json
import struct
import zlib

import pytest

from terminus_core import ContentPart, ImageSource, Message, Step
from terminus_plugins.actions.view_image import NOTE, ViewImage
from tests.support.provider_server import ProviderServer, answer, fault
from tests.support.scripted_run import DONE, call, typing


def png(color):
    """A small image, whole and true."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes(color) * 2) * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


RED, BLUE = png((255, 0, 0)), png((0, 0, 255))
BROKEN = RED[:20]


def encoded(data):
    return base64.b64encode(data).decode()


def looking(*paths):
    """A field of the JSON format that asks for images."""
    return {"actions": [{"name": "view_image", "arguments": {"path": path}} for path in paths]} if paths else {}


def written(*replies):
    """The same replies for both formats: a text of keystrokes, a list of paths, or DONE."""
    for number, reply in enumerate(replies):
        if reply is DONE:
            yield DONE["content"], [call("task_complete", number)]
        else:
            keys, paths = ([], reply) if isinstance(reply, list) else ([reply], [])
            commands = [{"keystrokes": each, "duration": 5} for each in keys]
            calls = [call("execute_commands", number, commands=commands)] if keys else []
            calls += [call("view_image", f"{number}{path}", path=path) for path in paths]
            yield typing(*keys, **looking(*paths))["content"], calls


@pytest.mark.parametrize(
    ("model", "parser"),
    [("openai/gpt-4o-mini", "json"), ("anthropic/claude-sonnet-4-5", "tools")],
    ids=["json", "tools"],
)
def test_from_a_file_to_the_model_and_the_trajectory(program, program_here, model, parser):
    for name, data in (("red.png", RED), ("blue side.png", BLUE), ("broken.png", BROKEN)):
        (program.folder / name).write_bytes(data)
    red, blue, broken = (str(program.folder / name) for name in ("red.png", "blue side.png", "broken.png"))
    script = list(written([red, blue], "echo one\n", [broken, "/nowhere.png"], "echo three\n", DONE, DONE))
    used = iter(script)

    def reply(request):
        if encoded(BROKEN) in request.body.decode():
            return fault(400, "the image cannot be processed")
        text, calls = next(used)
        return answer(text) if parser == "json" else answer("", tool_calls=calls, finish_reason="tool_calls")

    with ProviderServer(reply) as server:
        base = server.root_url if model.startswith("anthropic") else server.url
        offer = ("--action", "view_image", "--set", "action.view_image.turns=2")
        done = program_here("-m", model, "--api-base", base, "--parser", parser, *offer)
    assert (done.code, done.end) == (0, ("completed", "")), done.stderr

    bodies = [request.body.decode() for request in server.requests]
    sent = [[encoded(data) in body for data in (RED, BLUE, BROKEN)] for body in bodies]
    assert (
        sent
        == [[False] * 3, [True, True, False], [True, True, False], [False, False, True], *[[False] * 3] * 4][
            : len(sent)
        ]
    )
    assert len(sent) == 7
    assert [body.count(NOTE) for body in bodies] == [0, 0, 0, 2, 2, 2, 2]
    assert "[The images could not be sent: " in server.requests[4].last_text
    assert "the image cannot be processed" in bodies[4]
    assert "view_image" in bodies[0]

    text, first, second = done.observations[0]
    assert text["type"] == "text"
    assert text["text"].endswith(f"{red}: shown (png, {len(RED):,} bytes)\n\n{blue}: shown (png, {len(BLUE):,} bytes)")
    for part, data in ((first, RED), (second, BLUE)):
        source = part["source"]
        assert (part["type"], source["media_type"]) == ("image", "image/png")
        path = done.folder / source["path"]
        assert path.read_bytes() == data
        assert path.stat().st_mode & 0o777 == 0o600
        assert str(path) in done.stdout
    assert path.parent == done.folder / "images"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert done.observations[1].startswith("New Terminal Output:")
    assert "/nowhere.png: not shown: there is no such file, or it cannot be read" in done.observations[2][0]["text"]
    assert "view_image" in [each["function_name"] for each in done.turns[0]["tool_calls"]]
    for step in done.steps:
        Step.model_validate(step)


def test_what_cannot_be_shown_is_said(program):
    (program.folder / "text.png").write_text("no image")
    (program.folder / "big.png").write_bytes(RED + bytes(5000))
    (program.folder / "-x; touch gone.png").write_bytes(RED)
    paths = [str(program.folder / name) for name in ("text.png", "big.png", "-x; touch gone.png", ".")]
    looks = [paths[:2], ["red.png", paths[3]], [paths[2]], ["/dev/zero"], [7], paths[:3]]
    replies = [*(typing(**looking(*each)) for each in looks), typing(actions=5)]
    options = ("llm.scripted.supports_images=true", 'agent.actions=["view_image"]', "action.view_image.max_bytes=5000")
    done = program(*(word for each in options for word in ("--set", each)), replies=[*replies, DONE, DONE])
    assert done.code == 0
    said = [text if isinstance(text, str) else text[0]["text"] for text in done.observations]
    assert "text.png: not shown: it is not a PNG, JPEG, GIF or WebP image" in said[0]
    assert "big.png: not shown: it has 5,073 bytes, 5,000 can be sent; make a smaller copy" in said[0]
    assert "red.png: not shown: an absolute path is needed" in said[1]
    assert f"{paths[3]}: not shown: there is no such file" in said[1]
    assert "touch gone.png: shown (png, 73 bytes)" in said[2]
    assert "/dev/zero: not shown" in said[3]
    assert 'view_image: "path" must be of type string; it was not performed.' in said[4]
    assert "view_image: 2 calls of one reply are performed; the others were left out." in said[5]
    assert "actions must be a list of objects" in said[6]
    assert not (program.folder / "gone.png").exists()


def test_a_model_without_vision_never_sees_the_offer(program):
    (program.folder / "red.png").write_bytes(RED)
    replies = [typing(**looking(str(program.folder / "red.png"))), DONE, DONE]
    done = program("--action", "view_image", "--action", "restart_shell", replies=replies)
    assert done.code == 0
    assert "view_image" not in done.steps[0]["message"]
    assert "- restart_shell: " in done.steps[0]["message"]
    assert "There is no action 'view_image'; known: restart_shell." in done.observations[0]
    assert not (done.folder / "images").exists()


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("data:image/png;base64,AAAA", "images/3a16eafd3875dd26.png"),
        ("data:image/jpeg;base64,AAAA", "images/3a16eafd3875dd26.jpeg"),
        ("https://example.org/a.webp", "https://example.org/a.webp"),
    ],
)
def test_where_an_image_lies(url, path):
    assert ImageSource.of(url).path == path


@pytest.mark.parametrize("url", ["data:text/html;base64,AAAA", "https://example.org/a.html", "data:", ""])
def test_what_is_no_image_has_no_place(url):
    with pytest.raises(ValueError, match="media_type"):
        ImageSource.of(url)


def test_old_images_make_way_for_a_note():
    action = ViewImage(ViewImage.Config(turns=1))
    image = ContentPart(type="image_url", image_url={"url": "data:image/png;base64,AAAA"})
    text = ContentPart(type="text", text="seen")
    shown = Message(role="user", content=[text, image])
    talk = [Message(role="user", content="task"), Message(role="assistant", content="look"), shown]
    assert action.terminus_prepare_messages(talk) is None
    later = [*talk, Message(role="assistant", content="ok"), Message(role="user", content="next")]
    sent = action.terminus_prepare_messages(later)
    assert json.dumps(sent[2]["content"]) == json.dumps([text, {"type": "text", "text": NOTE}])
    assert later[2] is shown
    assert shown["content"] == [text, image]
