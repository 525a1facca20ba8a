"""Everyday use of the command line: completion, JSON everywhere, pairs beside JSON, restarts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from heliotrope.cli import app

LAB = ["demo", "reproduce", "replay", "league", "bounds"]
VERBS = ["create", "ask", "tell", "add", "import", "cancel", "show", "list", "export", "delete"]
VERBS += ["heartbeat", "retime", "save", "load"]
SPACE = json.dumps(
    {
        "pool": {"type": "integer", "low": 1, "high": 64},
        "mode": {"type": "categorical", "choices": ["eco", "1"]},
    }
)


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def at(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/s.db"


@pytest.mark.parametrize("command", [*LAB, *(f"study {verb}" for verb in VERBS)])
def test_every_command_accepts_json(command: str) -> None:
    shown = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert "--json" in shown.output


def test_a_lab_command_prints_json(tmp_path: Path) -> None:
    done = run("demo", "--steps", "5", "--no-animation", "--out", str(tmp_path), "--json")
    shown = json.loads(done.stdout)
    assert [row["policy"] for row in shown["tables"][0]["rows"]] == [
        "GP-UCB",
        "R-GP-UCB",
        "TV-GP-UCB",
    ]
    assert all(isinstance(row["average regret"], float) for row in shown["tables"][0]["rows"])
    assert shown["files"] == [str(tmp_path / "demo.png")]
    assert len(shown["sentences"]) == 1


def test_values_are_given_as_pairs(at: str, tmp_path: Path) -> None:
    made = run("study", "create", "s", "--space", SPACE, "--policy", "epsilon=0.01", "--at", at)
    assert made.exit_code == 0, made.output
    for params, mode in {"pool=9,mode=eco": "eco", 'pool=9, mode="1"': "1"}.items():
        added = json.loads(run("study", "add", "s", "1.5", "--params", params, "--at", at).stdout)
        assert added["params"] == {"pool": 9, "mode": mode}
    shown = json.loads(run("study", "show", "s", "--json", "--at", at).stdout)
    assert shown["setup"]["policy"] == {"kind": "tv_gp_ucb", "epsilon": 0.01}
    wrong = run("study", "add", "s", "1.5", "--params", "pool=9,mode", "--at", at)
    assert wrong.exit_code == 1
    assert "expected NAME=VALUE,NAME=VALUE for --params; got 'mode'" in wrong.stderr
    file = tmp_path / "a=b.json"
    file.write_text('{"pool": 3, "mode": "eco"}')
    assert run("study", "add", "s", "1", "--params", str(file), "--at", at).exit_code == 0


def test_numbers_may_be_written_as_people_do(at: str) -> None:
    space = '{"r": {"type": "real", "low": -1, "high": 5}}'
    run("study", "create", "s", "--space", space, "--at", at)
    for text, value in {".1": 0.1, "-.5": -0.5, "1.": 1.0, "+2": 2.0, "1.e-1": 0.1}.items():
        added = run("study", "add", "s", "1", "--params", f"r={text}", "--at", at)
        assert json.loads(added.stdout)["params"] == {"r": value}
    codes = '{"code": {"type": "categorical", "choices": ["007", "08.1"]}}'
    run("study", "create", "c", "--space", codes, "--at", at)
    added = run("study", "add", "c", "1", "--params", "code=007", "--at", at)
    assert json.loads(added.stdout)["params"] == {"code": "007"}


def test_neither_pairs_nor_json_nor_a_file(at: str) -> None:
    run("study", "create", "s", "--space", SPACE, "--at", at)
    wrong = run("study", "add", "s", "1", "--params", "pool", "--at", at)
    assert wrong.exit_code == 1
    assert "expected NAME=VALUE,..., JSON or a JSON file for --params" in wrong.stderr
    assert "got 'pool' (No such file or directory)" in " ".join(wrong.stderr.split())


def test_a_create_can_be_repeated(at: str) -> None:
    given = ["study", "create", "s", "--space", SPACE, "--clock", "10m", "--at", at]
    assert run(*given).exit_code == 0
    assert run(*given).exit_code == 1
    assert json.loads(run(*given, "--exist-ok").stdout) == {"continued": "s"}
    respelled = ["10min" if word == "10m" else word for word in given]
    assert json.loads(run(*respelled, "--exist-ok").stdout) == {"continued": "s"}
    other = run(*given, "--exist-ok", "--minimize")
    assert "direction 'minimize' instead of 'maximize'" in other.stderr


def test_the_shell_completes_commands_and_studies(at: str) -> None:
    run("study", "create", "boiler", "--options", "a,b", "--at", at)

    def completed(words: str) -> list[str]:
        environment = {
            "_HELIOTROPE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
            "HELIOTROPE_STORE": at,
        }
        command = [str(Path(sys.executable).parent / "heliotrope")]
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert completed("heliotrope stu") == ["study"]
    assert completed("heliotrope study show bo") == ["boiler"]
    assert completed("heliotrope study show z") == []
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).output


def test_an_export_is_json_if_wished(at: str) -> None:
    run("study", "create", "s", "--options", "a,b", "--at", at)
    run("study", "add", "s", "1", "--option", "a", "--at", at)
    assert json.loads(run("study", "export", "s", "--json", "--at", at).stdout)["results"]


def test_a_study_is_saved_to_a_file_and_loaded(at: str, tmp_path: Path) -> None:
    run("study", "create", "s", "--options", "a,b", "--at", at)
    run("study", "add", "s", "1", "--option", "a", "--at", at)
    path, other = str(tmp_path / "file"), f"sqlite:///{tmp_path}/other.db"
    saved = run("study", "save", "s", path, "--at", at)
    assert json.loads(saved.stdout) == {"saved": path}
    loaded = run("study", "load", path, "copy", "--at", other)
    assert json.loads(loaded.stdout) == {"loaded": "copy"}
    rows = [
        json.loads(run("study", "ask", *where).stdout)
        for where in (("s", "--at", at), ("copy", "--at", other))
    ]
    assert rows[0]["option"] == rows[1]["option"]
    again = run("study", "load", path, "copy", "--at", other)
    assert again.exit_code == 1
    assert "a name that is not taken" in again.stderr or "copy" in again.stderr
    missing = run("study", "load", f"{path}-2", "third", "--at", other)
    assert "an existing file" in missing.stderr
    service = run("study", "load", path, "copy", "--at", "http://localhost:1")
    assert "Load it into the store of the service" in service.stderr
