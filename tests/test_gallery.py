"""The notebooks of the gallery run, and hold the pictures of their last run."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "gallery").glob("*.ipynb"))
LARGEST = 400_000  # bytes of a notebook with its pictures


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def test_there_are_six_and_the_page_lists_them() -> None:
    listed = (ROOT / "docs" / "gallery" / "index.md").read_text()
    assert len(NOTEBOOKS) == 6
    assert all(f"({path.name})" in listed for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_was_executed(path: Path) -> None:
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    pictures = [
        output
        for cell in cells
        for output in cell["outputs"]
        if "image/png" in output.get("data", {})
    ]
    assert pictures
    assert path.stat().st_size < LARGEST
    assert not [
        output for cell in cells for output in cell["outputs"] if output["output_type"] == "error"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_needs_no_certain_port(path: Path) -> None:
    """Another program, or the tests of another checkout, may use it."""
    sources = ["".join(cell["source"]) for cell in code_cells(path)]
    assert [one for one in sources if re.search(r"--port\W+[1-9]|:[1-9]\d{3,4}\b", one)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_the_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELIOTROPE_DATA", raising=False)
    mpl.use("Agg")
    namespace: dict[str, Any] = {}
    try:
        for cell in code_cells(path):
            exec(compile("".join(cell["source"]), path.name, "exec"), namespace)
    finally:
        if "server" in namespace:
            namespace["server"].kill()  # after an error it would go on
            namespace["server"].wait()
    sys.modules["matplotlib.pyplot"].close("all")
