"""The site: it is built without a warning, needs no other host, and its search finds every name of the API."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.test_reference import script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_nothing_is_fetched_from_another_host(site: Path) -> None:
    elsewhere = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*\b(?:href|src)=["']?(?:https?:)?//""")
    for page in site.rglob("*.html"):
        assert not elsewhere.search(page.read_text()), f"{page.name} fetches something from another host"


def test_search_finds_every_name(site: Path) -> None:
    """The browser splits titles and queries at the separator, and finds words that begin with those of the query."""
    index = json.loads((site / "search" / "search_index.json").read_text())
    separator = re.compile(index["config"]["separator"])
    words: dict[str, list[set[str]]] = {}
    for entry in index["docs"]:
        title = html.unescape(re.sub(r"<[^>]+>", "", entry["title"])).lower()
        found = {word for word in separator.split(title) if word}
        for word in found:
            words.setdefault(word, []).append(found)
    for path in script("reference").anchors():
        typed = path.rpartition(".")[2].lower()
        whole = {word for word in separator.split(path.lower()) if word}
        assert any(whole <= title for title in words.get(typed, [])), f"the search does not find {path}"


def test_search_works_from_the_folder(site: Path) -> None:
    """Browsers start no worker and read no JSON from file: addresses."""
    assert (site / "search" / "search_index.js").read_text().startswith("var __index = {")
    assert (site / "assets" / "iframe-worker.js").is_file()
    assert 'src="assets/iframe-worker.js"' in (site / "index.html").read_text()
