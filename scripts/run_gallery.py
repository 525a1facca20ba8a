"""Execute the notebooks of the gallery and keep their outputs: ``python scripts/run_gallery.py``.

Those with measured tables read them from $HELIOTROPE_DATA; without it they simulate.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"


def execute(path: Path) -> None:
    """Run all cells of a notebook in a fresh kernel, and save it with the outputs."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": FOLDER}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of this run
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.name for path in FOLDER.glob("*.ipynb")):
        print(name)
        execute(FOLDER / name)
