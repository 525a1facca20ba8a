"""The site: it builds without a warning, holds every public name, and its search works offline."""

from __future__ import annotations

import functools
import http.server
import json
import logging
import os
import re
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.utils import CountHandler

import heliotrope as ht
from browser import launched

ROOT = Path(__file__).parents[1]
WORDS = [("minimize", "minimize"), ("outlier", "outliers"), ("kubernetes", "docker")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning, such as a broken link or anchor, is an error."""
    folder = tmp_path_factory.mktemp("site")
    counter = CountHandler()
    counter.setLevel(logging.WARNING)
    logging.getLogger("mkdocs").addHandler(counter)
    here = Path.cwd()
    try:
        os.chdir(ROOT)
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    finally:
        os.chdir(here)
        logging.getLogger("mkdocs").removeHandler(counter)
    assert counter.get_counts() == []
    return folder


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    names = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines()}
    assert set(ht.__all__) - {"__version__"} <= {name.rpartition(".")[2] for name in names}
    verbs = ("create", "open", "ask", "tell", "add", "cancel", "belief", "summary", "optimize")
    assert {f"heliotrope.Study.{verb}" for verb in verbs} <= names
    assert {"heliotrope.policies.cp_gp_ucb", "heliotrope.terms.Season"} <= names
    results = ("Summary", "BestChoice", "Drift", "Gain", "BeliefReport", "Track", "Front")
    assert {f"heliotrope.study.results.{one}" for one in results} <= names
    assert "heliotrope.plot.limits" in names


def test_the_reference_lists_every_command(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text()
    for command in ("demo", "serve", "study ask", "study import", "replay", "bounds"):
        assert f"heliotrope {command}" in page


@pytest.mark.parametrize(("word", "page"), WORDS)
def test_the_index_holds_the_page(site: Path, word: str, page: str) -> None:
    docs = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    titles = {doc["location"]: doc["title"].lower() for doc in docs}
    assert word in titles[f"how-to/{page}.html"]


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    loaded = r'<(?:script|img|iframe)[^>]+src="https?:|<link[^>]+rel="stylesheet"[^>]+href="https?:'
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    assert [page.name for page in pages if re.search(loaded, page.read_text())] == []


def test_every_picture_is_there(site: Path) -> None:
    missing = [
        (page.name, source)
        for page in site.rglob("*.html")
        for source in re.findall(r'<img[^>]+src="([^"]+)"', page.read_text())
        if not (page.parent / source).exists()
    ]
    assert missing == []


def test_links_of_the_checkout_are_replaced(site: Path) -> None:
    pages = [page.read_text() for page in site.rglob("*.html")]
    targets = [target for page in pages for target in re.findall(r'<a[^>]+href="([^"#]+)', page)]
    assert [one for one in targets if "/src/" in one or one.endswith(".ipynb")] == []
    outside = {one.partition("/blob/main/")[2] for one in targets if "/blob/main/" in one}
    assert "README.md" in outside
    assert [one for one in outside if not (ROOT / one).exists()] == []


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_search_finds_words_in_a_browser(address: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        asked = list[str]()
        page.on("request", lambda request: asked.append(request.url))
        for word, file in WORDS:
            page.goto(f"{address}/index.html?q={word}")
            page.wait_for_selector(f".md-search-result__link[href*='how-to/{file}.html']")
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_serious_accessibility_error(
    address: str, scheme: Literal["light", "dark"]
) -> None:
    with launched() as browser:
        page = browser.new_page(color_scheme=scheme)
        for file in ("index", "how-to/limit", "reference/api/study", "gallery/index"):
            page.goto(f"{address}/{file}.html")
            found = Axe().run(page).response["violations"]
            grave = [one["help"] for one in found if one["impact"] in ("serious", "critical")]
            assert grave == [], file
