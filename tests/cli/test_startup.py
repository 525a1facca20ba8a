"""Imports of a command before it does its work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliotrope.client import connect
from served import Served

SPACE = '{"x": {"type": "real", "low": 0, "high": 1}}'
SLOW = {"scipy", "sklearn", "pandas", "matplotlib", "heliotrope.optimizer", "heliotrope.lab"}
COMMANDS = {
    "create": ["create", "b", "--space", SPACE],
    "list": ["list"],
    "ask": ["ask", "STUDY"],
    "tell": ["tell", "STUDY", "ID", "0.5"],
    "add": ["add", "STUDY", "0.5", "--params", '{"x": 0.5}'],
    "import": ["import", "STUDY", "TABLE"],
    "cancel": ["cancel", "STUDY", "ID"],
    "show": ["show", "STUDY"],
    "export": ["export", "STUDY"],
    "save": ["save", "STUDY", "FILE"],
    "delete": ["delete", "STUDY", "--yes"],
}


def loaded(arguments: list[str]) -> set[str]:
    """The modules that a successful command has loaded."""
    script = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(list(sys.modules))))\n"
        f"from heliotrope.cli import app\napp({arguments})"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Served(f"sqlite:///{tmp_path_factory.mktemp('store')}/a.db") as service:
        yield service.url


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_at_a_service_load_no_scipy(name: str, url: str, tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text("x,value\n0.5,1.0\n")
    with connect(url) as studies:
        study = studies.create_from(f"for {name}", {"space": json.loads(SPACE)})
        words = {"STUDY": study.name, "ID": study.ask().id, "TABLE": str(table)}
        words["FILE"] = str(tmp_path / "file")
    found = loaded(["study", *(words.get(word, word) for word in COMMANDS[name]), "--at", url])
    assert not found & SLOW
    assert name != "list" or "numpy" not in found


def test_connecting_loads_no_numpy() -> None:
    code = (
        "import sys, heliotrope as ht\n"
        "ht.connect('http://127.0.0.1:1')\n"
        "assert not {'numpy', 'scipy', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
