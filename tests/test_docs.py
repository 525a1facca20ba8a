"""All code in README, docs and examples runs."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pages import blocks

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITHOUT_CODE = {"index.md", "engines.md", "benchmarks.md", "paper.md", "study.md", "optimizer.md"}


def test_every_other_page_has_code() -> None:
    assert [
        page for page in PAGES if not blocks(page, "python") and page.name not in WITHOUT_CODE
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


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(name: str) -> None:  # of the other pages the site's build tests them
    links = re.findall(r"\]\(([^)#\s]+?)(?:#[^)]*)?\)", (ROOT / name).read_text())
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_the_reference_has_every_route_with_its_fields() -> None:
    page = (ROOT / "docs" / "reference" / "service.md").read_text()
    routes = dict(re.findall(r"^\| `([^`]+)` (\|.*)$", page, flags=re.M))
    described = json.loads((ROOT / "clients" / "typescript" / "openapi.json").read_text())
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            short = re.sub(r"^/api/studies/{name}(?=/)", "...", path)
            row = routes[f"{method.upper()} {short}"]
            row = row.replace("as for `tell`", routes["POST .../tell"])
            missing = [one for one in _inputs(operation) if not re.search(rf"\b{one}\b", row)]
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
