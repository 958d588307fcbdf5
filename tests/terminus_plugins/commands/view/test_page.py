"""The page in a real browser."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from terminus_plugins.commands.view.page import find_player, write_page
from terminus_plugins.commands.view.runs import find_runs

from .conftest import agent_step, prompt_step, trajectory


@pytest.fixture
def show(page, tmp_path):
    """Write the page of a path and open it."""

    def write(path, fragment=""):
        target = tmp_path / "report.html"
        assert write_page(find_runs(path), target, path.name) == []
        return page.open(target.as_uri(), fragment)

    return write


def recorded(n_turns=4, seconds=2.0):
    """Steps of so many turns, and a recording with a marker for each."""
    steps = [prompt_step(), *(agent_step(n, (n - 1) * seconds) for n in range(2, n_turns + 2))]
    events = [[0.1, "o", "$ "]]
    for n in range(n_turns):
        at = n * seconds
        events += [[at + 0.5, "m", f"Episode {n + 1}: 1 commands"], [at + 1.0, "o", f"screen of turn {n + 1}\r\n"]]
    return steps, [*events, [n_turns * seconds, "o", "$ "]]


# -- steps and player --------------------------------------------------------------------------------------------------


def clock(page):
    """Where the player stands, as its own control bar says."""
    return page.script("return document.querySelector('.ap-time-elapsed').textContent")


def test_a_click_on_a_step_moves_the_player(show, save):
    steps, events = recorded()
    page = show(save("run", trajectory(steps, status="completed"), events))
    page.until(lambda: page.all(".ap-player"))
    page.choose(4)
    page.until(lambda: clock(page) == "00:04")
    assert page.chosen == page.lit == [4]
    page.choose(2)
    page.until(lambda: clock(page) == "00:00")
    assert page.chosen == [2]
    assert "#run=" in page.driver.current_url
    assert "step=2" in page.driver.current_url


def test_the_step_that_plays_lights_up(show, save):
    steps, events = recorded(3, 1.0)
    page = show(save("run", trajectory(steps, status="completed"), events))
    page.until(lambda: page.all(".ap-player"))
    assert page.lit == [1]
    seen = []
    page.press(" ")

    def ended():
        if page.lit and page.lit[0] not in seen:
            seen.append(page.lit[0])
        return seen[-1:] == [4]

    page.until(ended)
    assert seen == sorted(seen)
    assert page.chosen == [1], "what is being read stays open"


def test_a_click_into_the_time_line_lights_up_its_step(show, save):
    steps, events = recorded()
    page = show(save("run", trajectory(steps, status="completed"), events))
    bar = page.until(lambda: page.one(".ap-progressbar, .ap-progress"))
    page.script(
        "const box = arguments[0].getBoundingClientRect();"
        "for (const kind of ['mousedown', 'mouseup', 'click']) arguments[0].dispatchEvent(new MouseEvent(kind, "
        "{bubbles: true, button: 0, clientX: box.left + box.width * 0.99, clientY: box.top + box.height / 2}));",
        page.all(".ap-bar")[0] if page.all(".ap-bar") else bar,
    )
    page.until(lambda: page.lit == [5])


def test_long_pauses_are_skipped_and_positions_stay_right(show, save):
    steps, events = recorded(3, 100.0)
    page = show(save("run", trajectory(steps, status="completed"), events))
    page.until(lambda: page.all(".ap-player"))
    page.choose(4)
    # 2 seconds each stand for the pauses of 99.5, 99.5 seconds; 0.5 is played at the beginning, and in each turn.
    page.until(lambda: clock(page) == "00:05")
    page.one(".skip input").click()
    page.until(lambda: clock(page) == "03:20")
    page.until(lambda: page.lit == [4])


@pytest.mark.parametrize("form", [2, 3])
def test_the_players_own_parser_reads_recordings(show, save, form):
    """Times and labels, as asciinema-player gives them."""
    steps, events = recorded(2, 0.5)
    if form == 3:
        last = 0.0
        for event in events:
            event[0], last = round(event[0] - last, 6), event[0]
    size = {"width": 80, "height": 24} if form == 2 else {"term": {"cols": 80, "rows": 24}}
    text = "\n".join(json.dumps(each) for each in [{"version": form, **size}, *events]) + "\n"
    page = show(save("run", trajectory(steps)))
    found = page.await_script(
        """
        const host = document.createElement("div");
        document.body.append(host);
        const player = AsciinemaPlayer.create({ data: arguments[0] }, host, { preload: true });
        const markers = [];
        player.addEventListener("marker", (marker) => markers.push([marker.time, marker.label]));
        const ended = new Promise((resolve) => player.addEventListener("ended", resolve));
        await player.play();
        await ended;
        return [await player.getDuration(), markers];
        """,
        text,
    )
    assert found[0] == pytest.approx(1.0)
    assert [(pytest.approx(at), label) for at, label in found[1]] == [
        (0.5, "Episode 1: 1 commands"),
        (1.0, "Episode 2: 1 commands"),
    ]


def test_without_a_recording_the_text_of_the_step_is_shown(show, save):
    steps = [prompt_step(), agent_step(2, 1, text="first text"), agent_step(3, 2, text="second text")]
    page = show(save("run", trajectory(steps, status="completed")))
    assert page.texts(".tabs button") == ["Text of step 1"]
    page.press("jj")
    assert page.texts(".tabs button") == ["Text of step 3"]
    assert page.text(".screen") == "second text"
    assert not page.all(".ap-player")


def test_without_the_player_the_page_says_what_to_install(show, save, monkeypatch):
    from terminus_plugins.commands.view import page as module  # noqa: PLC0415

    monkeypatch.setattr(module, "PLAYER_PACKAGE", "a_package_that_is_not_there")
    find_player.cache_clear()
    try:
        steps, events = recorded()
        page = show(save("run", trajectory(steps, status="completed"), events))
    finally:
        find_player.cache_clear()
    assert "pip install 'terminus-agent[view]'" in page.text(".note")
    assert page.texts(".tabs button") == ["Text of step 1"]


# -- what somebody sees who knows nothing ------------------------------------------------------------------------------


def test_a_failed_run_says_what_when_at_what_cost_and_after_which_command(show, save):
    steps = [
        prompt_step(),
        agent_step(2, 5, keys=["make test\n"]),
        agent_step(3, 9, keys=(), text="Previous response had parsing errors:\nERROR: no JSON\n\nPlease fix"),
        agent_step(4, 65, keys=["cd src\n", "rm -r build\n"]),
    ]
    reason = "the provider refuses the key: 401 Unauthorized"
    page = show(save("cleanup", trajectory(steps, status="error", reason=reason)))
    when = page.script("return new Date('2026-05-04T12:01:05Z').toTimeString().slice(0, 8)")
    assert page.texts(".failure p") == [
        f"This run failed: {reason}",
        f"At 2026-05-04 {when} after step 4. By then it had taken 1 min 05 s, 3 episodes, 3,150 tokens, $0.0300.",
        "Last command (step 4): rm -r build",
    ]
    assert page.texts(".badge") == ["failed"]
    assert page.chosen == [4], "it opens where it ended"
    assert page.step(3).find_element("css selector", ".flag.error").text == "The answer could not be used"
    assert page.texts(".fact")[:5] == ["3 episodes", "3,000 tokens in", "150 out", "$0.0300 cost", "1 min 05 s time"]
    page.press("k")
    page.press("k")
    page.button("step 4").click()
    assert page.chosen == [4]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("session_ended", "This run ended because its terminal had ended"),
        ("limit_reached", "This run was stopped at a limit: max_cost_usd"),
        ("max_episodes", "This run was stopped after its last episode"),
        ("cancelled", "This run was cancelled"),
    ],
)
def test_every_other_end_is_said_in_words(show, save, status, said):
    reason = "max_cost_usd" if status == "limit_reached" else ""
    page = show(save("run", trajectory([prompt_step()], status=status, reason=reason)))
    lines = page.texts(".failure p")
    assert lines[0] == said
    assert lines[2] == "No command had been typed."


def test_a_completed_run_complains_about_nothing(show, save):
    page = show(save("run", trajectory([prompt_step(), agent_step(2, 5)], status="completed")))
    assert not page.all(".failure, .problem, .flag")
    assert page.texts(".badge") == ["completed"]


# -- finding things ----------------------------------------------------------------------------------------------------


def test_search_filters_and_keys(show, save):
    steps = [prompt_step(), *(agent_step(n, n) for n in range(2, 12))]
    steps[4]["observation"]["results"][0]["content"] = "Needle in the output"
    steps[7]["reasoning_content"] = "a needle, thought of"
    steps[9]["extra"] = {"finish_reason": "length"}
    page = show(save("run", trajectory(steps, status="completed")))

    page.press("/needle")
    page.until(lambda: len(page.all(".step")) == 2)
    assert page.text(".found") == "2 of 11 steps"
    field = page.one("input[type=search]")
    field.send_keys("\ue00c")  # Escape
    assert len(page.all(".step")) == 11

    page.press("/needle")
    page.script("document.activeElement.blur()")
    page.press("j")
    assert page.chosen == [5]
    assert page.texts(".chosen mark") == ["Needle"]
    assert page.texts(".screen mark") == ["Needle"]
    page.press("/")
    field.send_keys("\ue00c")

    page.button("problems").click()
    assert page.numbers(".step") == [10]
    page.button("prompts").click()
    assert page.numbers(".step") == [1]
    page.button("commands").click()
    assert len(page.all(".step")) == 10
    page.button("all").click()
    page.press("e")
    assert page.chosen == [10]
    page.press("k")
    assert page.chosen == [9]
    page.press("\ue015")  # down
    assert page.chosen == [10]
    page.press("?")
    assert page.one("dialog").is_displayed()
    page.button("close").click()
    assert not page.one("dialog").is_displayed()


def test_light_and_dark(show, save):
    page = show(save("run", trajectory([prompt_step()])))

    def brightness():
        color = page.script("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(","))

    page.script("document.documentElement.dataset.theme = 'light'")
    assert brightness() > 600
    page.press("d")
    assert brightness() < 150
    page.press("d")
    assert brightness() > 600


def test_the_bar_of_all_steps_goes_to_a_step(show, save):
    steps = [prompt_step(), *(agent_step(n, n * n) for n in range(2, 41))]
    page = show(save("run", trajectory(steps, status="completed")))
    assert page.script("return document.querySelector('.overview path.time').getAttribute('d').split('M').length") == 40
    page.script(
        "const svg = document.querySelector('.overview svg'); const box = svg.getBoundingClientRect();"
        "const place = {bubbles: true, clientX: box.left + box.width * 20.5 / 40, clientY: box.top + 5};"
        "svg.dispatchEvent(new MouseEvent('click', place));"
    )
    assert page.chosen == [21]


# -- documents that refer to each other --------------------------------------------------------------------------------


def test_subagents_and_continuations_open_where_they_are_referred_to(show, save):
    aside = trajectory([prompt_step(text="Summarise, please."), agent_step(2, 4, keys=())], session_id="aside")
    embedded = trajectory([prompt_step(text="Embedded one.")], trajectory_id="inner", session_id="e")
    system = {
        "step_id": 3,
        "source": "system",
        "message": "The history was replaced.",
        "observation": {
            "results": [
                {
                    "subagent_trajectory_ref": [
                        {"trajectory_path": "trajectory.aside.json", "session_id": "aside"},
                        {"trajectory_id": "inner"},
                        {"trajectory_path": "../../etc/passwd"},
                        {"trajectory_path": "gone.json"},
                    ]
                }
            ]
        },
    }
    first = trajectory(
        [prompt_step(), agent_step(2, 3), system],
        continued_trajectory_ref="trajectory.cont-1.json",
        subagent_trajectories=[embedded],
    )
    copied = prompt_step() | {"is_copied_context": True}
    second = trajectory([copied, agent_step(2, 9, keys=["echo second\n"])], status="error", reason="broken")
    folder = save("run", first, others={"trajectory.cont-1.json": second, "trajectory.aside.json": aside})
    page = show(folder)
    assert page.text(".path .document") == "trajectory.cont-1.json", "it failed in the last document"
    assert page.step(1).find_element("css selector", ".flag").text == "copied from before"
    assert "echo second" in page.text(".failure")

    page.button("first document").click()
    page.choose(3)
    assert page.texts(".refs > *") == [
        "open trajectory.aside.json",
        "open inner",
        "../../etc/passwd (not found)",
        "gone.json (not found)",
    ]
    page.button("open trajectory.aside.json").click()
    assert "Summarise, please." in page.step(1).text
    page.button("first document").click()
    page.choose(3)
    page.button("open inner").click()
    assert "Embedded one." in page.step(1).text
    page.button("first document").click()
    page.button("goes on in trajectory.cont-1.json").click()
    assert "echo second" in page.step(2).text
    page.driver.refresh()
    page.until(lambda: page.script("return document.body.dataset.ready"))
    assert page.text(".path .document") == "trajectory.cont-1.json", "the address remembers the document"


# -- many runs ---------------------------------------------------------------------------------------------------------


def test_many_runs_are_a_table_to_pick_from_and_to_compare(show, save, tmp_path):
    save("runs/one", trajectory([prompt_step(), agent_step(2, 10)], status="completed"))
    many = [prompt_step(), *(agent_step(n, n * 5) for n in range(2, 6))]
    save("runs/deep/two", trajectory(many, status="error", reason="out of luck"))
    save("runs/three", trajectory([prompt_step()]))
    page = show(tmp_path / "runs")

    def rows():
        return page.texts("tbody tr th")

    def cells(name):
        row = next(row for row in page.all("tbody tr") if row.text.startswith(name))
        return [cell.text for cell in row.find_elements("css selector", "td")][1:7]

    assert sorted(row.split("\n")[0] for row in rows()) == ["deep/two", "one", "three"]
    assert cells("deep/two") == ["failed", "4", "4,000", "200", "$0.0400", "25.0 s"]
    assert cells("one") == ["completed", "1", "1,000", "50", "$0.0100", "10.0 s"]
    assert cells("three")[0] == "no status"
    page.button("cost").click()
    assert [row.split("\n")[0] for row in rows()] == ["one", "deep/two", "three"], "unknown ones come last"
    page.button("cost").click()
    assert [row.split("\n")[0] for row in rows()] == ["deep/two", "one", "three"]
    page.press("/luck")
    page.until(lambda: len(rows()) == 1)
    page.one("input[type=search]").send_keys("\ue00c")

    for name in ("one", "deep/two"):
        page.one(f"input[aria-label='Compare {name}']").click()
    page.button("compare two").click()
    page.until(lambda: len(page.all(".run .badge")) == 2)
    strip = page.until(lambda: page.all(".strip tbody tr"))
    assert [row.text for row in strip][2].startswith("difference +300 % +300 % +300 % +300 % +150 %")
    left, right = page.all(".pair .run")
    assert left.find_elements("css selector", ".step")[1].text.startswith("2\nDo thing 2.")
    assert "out of luck" in right.text

    page.button("all runs").click()
    page.button("one").click()
    page.until(lambda: page.texts("h1") == ["one"])
    page.press("r")
    page.until(lambda: page.all("tbody tr"))
    page.driver.back()
    page.until(lambda: page.texts("h1") == ["one"])


# -- nothing gets out, nothing gets in ---------------------------------------------------------------------------------

EVIL = (
    "</script></style></textarea><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    "<svg onload=window.hacked=1><!--<script> javascript:window.hacked=1 \u2028\u2029 \x00\x1b[31mred\x1b[0m"
    "\x1b]0;title\x07\x1b[2J 🦀👩‍👩‍👧 \u202e\ud800 <!--data--> ${window.hacked=1}"
)


def test_hostile_text_does_no_harm(show, save):
    step = agent_step(2, 3, keys=[EVIL], text=EVIL + "X" * 1_000_000)
    step |= {"message": EVIL, "reasoning_content": EVIL, "model_name": EVIL, "extra": {"error": EVIL, EVIL: EVIL}}
    step["tool_calls"].append({"tool_call_id": EVIL, "function_name": EVIL, "arguments": {EVIL: EVIL}})
    step["observation"]["results"].append({"subagent_trajectory_ref": [{"trajectory_path": EVIL}]})
    image = {"type": "image", "source": {"media_type": "image/png", "path": 'data:image/png;base64,"onerror=x'}}
    step["observation"]["results"].append({"content": [image, {"type": "text", "text": EVIL}]})
    document = trajectory([prompt_step(text=EVIL), step], status="error", reason=EVIL, notes=EVIL)
    document["agent"] = {"name": EVIL, "version": EVIL, "model_name": EVIL}
    document["continued_trajectory_ref"] = EVIL
    events = [[0.1, "o", EVIL], [0.5, "m", EVIL], [1.0, "o", "Y" * 1_000_000], [2.0, "r", EVIL], [3.0, "q", EVIL]]
    folder = save("<img src=x onerror=window.hacked=1>", document, events)
    text = (folder / "recording.cast").read_text()
    (folder / "recording.cast").write_text(text + '[3.5, "o", "</script><script>window.hacked=1')
    page = show(folder)
    page.until(lambda: page.all(".ap-player"))
    page.press("kj")
    page.press("t")
    assert page.script("return window.hacked") is None
    assert not page.all("main script, main img[src=x], main svg[onload]")
    shown = page.step(2).text
    assert "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>" in shown
    assert "red" in shown
    outside = "[...document.querySelectorAll('h1, p, span, button, pre')].filter((each) => !each.closest('.ap-line'))"
    assert not page.script(f"return {outside}.some((each) => /[\\x1b\u202e]/.test(each.textContent))")
    assert "[U+202E]" in shown
    assert "👩‍👩‍👧" in shown
    assert page.one("h1").text == "<img src=x onerror=window.hacked=1>"
    assert page.one(".screen .more").text.endswith(" more characters")
    page.one(".screen .more").click()
    assert page.script("return document.querySelector('.screen').textContent.split('X').length") > 1_000_000
    assert page.script("return document.documentElement.scrollWidth <= innerWidth"), "a long row widens the page"
    page.complaints()  # of the image that is none


def test_the_page_asks_the_network_for_nothing(show, save):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

    asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        steps, events = recorded()
        page = show(save("run", trajectory(steps, status="completed"), events))
        page.until(lambda: page.all(".ap-player"))
        assert page.script("return performance.getEntriesByType('resource').map((each) => each.name)") == []
        address = f"http://127.0.0.1:{server.server_port}/"
        said = page.await_script("return (await fetch(arguments[0], { mode: 'no-cors' })).type", address)
        assert said.startswith("failed:")
        page.await_script(
            "const image = new Image(); const done = new Promise((go) => { image.onload = image.onerror = go; });"
            "image.src = arguments[0]; await done;",
            address,
        )
        page.script(
            "const s = document.createElement('script'); s.textContent = 'window.hacked=1'; document.body.append(s);"
        )
        assert page.script("return window.hacked") is None, "a script that is not the page's own ran"
        assert asked == []
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert len(page.complaints()) >= 3  # the policy's refusals


def test_a_run_of_1000_steps_opens_within_two_seconds(show, save):
    rows = "\n".join(f"row {n} of the output" for n in range(60))
    steps = [prompt_step(text="Rules.\n" * 500), *(agent_step(n, n * 7, text=rows) for n in range(2, 1001))]
    events = [[n * 7.0, "o", rows] for n in range(1000)]
    page = show(save("run", trajectory(steps, status="completed"), events))
    times = []
    for _ in range(3):
        page.driver.refresh()
        page.until(lambda: page.script("return document.body.dataset.ready"))
        page.until(lambda: page.all(".ap-player"))
        times.append(float(page.script("return document.body.dataset.ready")))
    assert min(times) < 2000
    assert len(page.all(".step")) == 1000
