"""All code in README, docs and examples runs."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from markdown_links import anchors, links, pictures, read_markdown
from pages import blocks

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITHOUT_CODE = {"index.md", "engines.md", "benchmarks.md", "paper.md", "commands.md", "fields.md"}
READ_IN_A_CHECKOUT = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs").rglob("*.ipynb")),
    *sorted((ROOT / "clients").glob("*/*.md")),
    *sorted((ROOT / "optunahub").rglob("*.md")),
]


def test_every_other_page_has_code() -> None:
    assert [
        page
        for page in PAGES
        if not blocks(page, "python")
        and page.name not in WITHOUT_CODE
        and page.parent.name != "api"
    ] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page, "python")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), namespace)


@pytest.mark.parametrize("page", READ_IN_A_CHECKOUT, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = read_markdown(page)
    assert [link for link in (*links(text), *pictures(text)) if is_dead(page, link)] == []


def is_dead(page: Path, link: str) -> bool:
    """Whether a relative link leads to no file of the checkout, or to no heading of a page."""
    file, _, anchor = link.partition("#")
    if "://" in file:
        return False
    target = page.parent / file if file else page
    if not target.exists():
        return True
    if not anchor or anchor.startswith("heliotrope."):  # a name: the site's build tests these
        return False
    return anchor not in anchors(read_markdown(target))


def test_dead_links_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading: `code`\n\n# Twice\n\n# Twice\n")
    good = ["page.md", "#a-heading-code", "page.md#twice-1", "page.md#heliotrope.Study", "a://b"]
    assert [link for link in good if is_dead(page, link)] == []
    assert all(is_dead(page, link) for link in ("other.md", "#other", "page.md#twice-2"))
    assert links('[a](b) `[c](d)` <a href="e">f</a>\n\n    [g](h)\n') == ["b", "e"]
    assert pictures("[![a](b.png)](c)\n\n| d |\n|---|\n| ![e](f.png) |\n") == ["b.png", "f.png"]


def test_only_the_readme_says_how_to_add_an_extra() -> None:
    assert [page for page in PAGES[1:] if "heliotrope[" in page.read_text()] == []
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    for page in PAGES:
        named = re.findall(r"pip install '(?:\.|heliotrope)\[(.+?)\]'", page.read_text())
        assert {extra for names in named for extra in names.split(",")} <= extras.keys()


def test_the_reference_has_every_route_with_its_fields() -> None:
    folder = ROOT / "docs" / "reference"
    page, fields = (folder / "service.md").read_text(), (folder / "fields.md").read_text()
    sections = {section.partition("\n")[0]: section for section in fields.split("\n## ")}
    routes = dict(re.findall(r"^\| `([^`]+)` (\|.*)$", page, flags=re.M))
    described = json.loads((ROOT / "clients" / "typescript" / "openapi.json").read_text())
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            short = re.sub(r"^/api/studies/{name}(?=/)", "...", path)
            row = routes[f"{method.upper()} {short}"]
            row += "".join(sections[call] for call in re.findall(r"\(fields\.md#(\w+)\)", row))
            missing = [name for name in _inputs(operation) if not re.search(rf"\b{name}\b", row)]
            assert missing == [], (method, path)


def _inputs(operation: dict[str, Any]) -> list[str]:
    queries = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return [*queries, *body.get("schema", {}).get("properties", ())]


def load_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert names == {"tune_a_controller", "tune_a_server", "which_sensor", "parallel_workers"}


def test_the_controller_stays_tuned() -> None:
    assert load_example("tune_a_controller").main() < 0.5  # untuned gains lose 3 on average


def test_the_sensors_are_tracked() -> None:
    assert load_example("which_sensor").main() < 0.2  # of the regret of choosing at random


def test_the_server_is_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gains = load_example("tune_a_server").main(steps=2, seconds=0.1)
    assert set(gains) == {"default", "Optuna"}
    assert (tmp_path / "out" / "tune_a_server.png").exists()


def test_parallel_workers_get_different_points() -> None:
    assert load_example("parallel_workers").main() > 3.5  # of four; a sure best may repeat
