"""The site builds without a warning, and its pages ask nobody but themselves for anything."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
"""Elements that make a browser fetch something, and where they say what."""


class Links(HTMLParser):
    """What a page fetches and what it links to."""

    def __init__(self, page):
        super().__init__()
        self.fetched, self.linked, self.ids = [], [], set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.add(values["id"])
        if tag in FETCHED and values.get(FETCHED[tag]) and values.get("rel") not in {"next", "prev", "canonical"}:
            self.fetched.append(values[FETCHED[tag]])
        if tag == "a" and values.get("href"):
            self.linked.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site: strict, so each warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", ROOT / ".mkdocs.yml", "-d", folder]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {page: Links(page) for page in sorted(site.rglob("*.html"))}


def test_each_page_of_the_docs_is_there(site):
    sources = [path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT / "docs").parts[0] != "examples"]
    made = [site / path.relative_to(ROOT / "docs").with_suffix(".html") for path in sources]
    assert made
    assert [page for page in made if not page.is_file()] == []


def test_nothing_is_fetched_from_elsewhere(site, pages):
    for page, links in pages.items():
        assert [url for url in links.fetched if urlsplit(url).scheme or url.startswith("//")] == [], page
    for style in site.rglob("*.css"):
        addresses = re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)\"']+", style.read_text())
        assert addresses == [], style


def test_what_pages_fetch_and_link_to_is_there(site, pages):
    missing = []
    for page, links in pages.items():
        if page.name == "404.html":  # served at any depth: its addresses begin at the site's root
            continue
        for url in [*links.fetched, *links.linked]:
            parts = urlsplit(url)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.exists() or (
                parts.fragment
                and target in pages
                and parts.fragment != "__skip"
                and unquote(parts.fragment) not in pages[target].ids
            ):
                missing.append((page.relative_to(site), url))
    assert missing == []


def test_generated_pieces_are_in_their_places(site):
    for page in site.rglob("*.html"):
        assert "<!-- generated:" not in page.read_text(), page
    settings = (site / "settings.html").read_text()
    for key in ("max_cost_usd", "linear_history", "pane_width", "reasoning_effort"):
        assert f"<code>{key}</code>" in settings
    assert "<code>--max-episodes</code>" in (site / "command-line.html").read_text()
    assert ":class:" not in (site / "roles.html").read_text()
