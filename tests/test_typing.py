"""A stranger's program passes mypy and pyright, both with their default settings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import typed_program
from node import FOLDER, ROOT, needs_node
from pages import blocks

PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md", *(ROOT / "docs" / "tutorial").glob("*.md")]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the program of each page, and one with types."""
    for page in PAGES:
        name = "_".join(page.relative_to(ROOT).with_suffix(".py").parts)
        (tmp_path / name).write_text("\n".join(blocks(page, "python")))
    shutil.copy(typed_program.__file__, tmp_path)
    return tmp_path


def checked(command: Sequence[str], folder: Path) -> str:
    """The output of a type checker that finds no error; the package is found as installed."""
    path = {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_mypy_accepts_the_programs(programs: Path) -> None:
    installed = ["--follow-imports=silent", f"--cache-dir={ROOT / '.mypy_cache' / 'programs'}"]
    command = [sys.executable, "-m", "mypy", "--config-file=", *installed, "."]
    assert f"no issues found in {len(PAGES) + 1} source files" in checked(command, programs)


@needs_node
def test_pyright_accepts_the_programs(programs: Path) -> None:
    (programs / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")]}))
    pyright = str(FOLDER / "node_modules" / ".bin" / "pyright")
    assert "0 errors, 0 warnings" in checked([pyright, "--pythonpath", sys.executable], programs)


def test_the_typed_program_runs() -> None:
    assert typed_program.with_parameters() > 0.0
    assert typed_program.with_options() == 4.0
    assert typed_program.with_an_optimizer() > 0.0
