"""Runs on disk, and a real browser that looks at their pages."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

BEGIN = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))


def agent_step(number, seconds, *, keys=("make\n",), text="New Terminal Output:\n$ make\nok\n$ ", **fields):
    """A turn that ended so many seconds after the begin."""
    calls = [
        {
            "tool_call_id": f"call_{number}_{i}",
            "function_name": "bash_command",
            "arguments": {"keystrokes": each, "duration": 1.0},
        }
        for i, each in enumerate(keys, start=1)
    ]
    step = {
        "step_id": number,
        "timestamp": (BEGIN + timedelta(seconds=seconds)).isoformat(),
        "source": "agent",
        "model_name": "openai/gpt-5",
        "message": f"Analysis: Step {number} is next.\nPlan: Do thing {number}.",
        "observation": {"results": [{"content": text}]},
        "metrics": {"prompt_tokens": 1000, "completion_tokens": 50, "cost_usd": 0.01},
    }
    if calls:
        step["tool_calls"] = calls
    return step | fields


def prompt_step(number=1, text="Do what is asked.", seconds=0.0):
    when = (BEGIN + timedelta(seconds=seconds)).isoformat()
    return {"step_id": number, "timestamp": when, "source": "user", "message": text}


def trajectory(steps, *, status=None, reason="", **fields):
    document = {
        "schema_version": "ATIF-v1.8",
        "session_id": "session-1",
        "agent": {"name": "terminus-core", "version": "0.1.0", "model_name": "openai/gpt-5"},
        "steps": steps,
    }
    if status:
        turns = [step for step in steps if step["source"] == "agent"]
        document["final_metrics"] = {
            "total_prompt_tokens": 1000 * len(turns),
            "total_completion_tokens": 50 * len(turns),
            "total_cost_usd": 0.01 * len(turns),
            "total_steps": len(steps),
            "extra": {"status": status, "reason": reason},
        }
    return document | fields


@pytest.fixture
def save(tmp_path):
    """Write a run: `save(name, document, events=…, **other documents by file name)`; gives its folder."""

    def write(name, document, events=None, begin=BEGIN, others=None):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for file, data in {"trajectory.json": document, **(others or {})}.items():
            (folder / file).write_text(json.dumps(data))
        if events is not None:
            header = {"version": 2, "width": 80, "height": 24, "timestamp": int(begin.timestamp())}
            lines = [json.dumps(each) for each in [header, *events]]
            (folder / "recording.cast").write_text("\n".join(lines) + "\n")
        return folder

    return write


# -- the browser -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """One headless Chromium for the tests of a module."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1500,950",
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(DRIVER, log_output=os.devnull)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


class Page:
    """A page in the browser, in a few words."""

    def __init__(self, driver):
        from selenium.webdriver.common.by import By  # noqa: PLC0415 - not there without the browser
        from selenium.webdriver.support.ui import WebDriverWait  # noqa: PLC0415 - as above

        self.driver = driver
        self._css, self._xpath = By.CSS_SELECTOR, By.XPATH
        self._wait = WebDriverWait(driver, 30, poll_frequency=0.05)

    def open(self, address, fragment=""):
        self.driver.get("about:blank")
        self.driver.get(f"{address}{fragment}")
        self.until(lambda: self.script("return document.body.dataset.ready"))
        return self

    def until(self, condition):
        return self._wait.until(lambda _: condition())

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def await_script(self, code, *arguments):
        """The value of a promise."""
        end = "then(done, (error) => done(`failed: ${error}`))"
        wrapped = f"const done = arguments[arguments.length - 1]; (async () => {{ {code} }})().{end};"
        return self.driver.execute_async_script(wrapped, *arguments)

    def all(self, selector):
        return self.driver.find_elements(self._css, selector)

    def one(self, selector):
        return self.driver.find_element(self._css, selector)

    def texts(self, selector):
        """What is to be read, asked at once: a page that follows a run may be drawn anew between two questions."""
        return self.script(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)", selector
        )

    def text(self, selector):
        return "\n".join(self.texts(selector))

    def button(self, words):
        return self.driver.find_element(self._xpath, f"//button[normalize-space()='{words}']")

    def press(self, keys):
        self.one("body").send_keys(keys)

    def step(self, number):
        return self.one(f"li[data-n='{number}']")

    def numbers(self, selector):
        return self.script(
            "return [...document.querySelectorAll(arguments[0])].map((each) => Number(each.dataset.n))", selector
        )

    @property
    def chosen(self):
        return self.numbers(".step.chosen")

    @property
    def lit(self):
        return self.numbers(".step.now")

    def choose(self, number):
        self.script("document.querySelector(`li[data-n='${arguments[0]}'] .head`).click()", number)

    def complaints(self):
        """What the browser itself has to say against the page."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in {"WARNING", "SEVERE"}]


@pytest.fixture
def page(chromium):
    seen = Page(chromium)
    seen.complaints()
    yield seen
    assert seen.complaints() == []
