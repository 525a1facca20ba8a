"""Replay of exports and of named columns, and its advice as code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import heliotrope as ht
from heliotrope.cli import app
from heliotrope.errors import FormatError
from heliotrope.lab.logs import Columns, read_log
from heliotrope.lab.replay import CANDIDATES, replay_log
from heliotrope.lab.replay.advice import write_advice
from heliotrope.spaces import Parameter

SPACE: dict[str, Parameter] = {"x": ht.Real(0, 1), "mode": ht.Categorical(["a", "b"])}


def exported(folder: Path, kind: str, options: bool = False) -> Path:
    """The export of a study of 60 results, some cancelled."""
    space: Any = ["a", "b", "c"] if options else SPACE
    study = ht.Study.create("s", space, direction="minimize", store="memory:", seed=1)
    rng = np.random.default_rng(0)
    for i in range(60):
        ask = study.ask()
        if i % 20 == 7:
            study.cancel(ask)
            continue
        best = 0.5 + 0.3 * np.sin(i / 10)
        place = {"a": 0.2, "b": 0.5, "c": 0.8}[ask.option] if ask.option else ask.params["x"]
        study.tell(ask, float(abs(place - best) + 0.05 * rng.normal()))
    path = folder / f"export.{kind}"
    path.write_text(study.export(kind))
    return path


def pasted(code: str, folder: Path) -> str:
    """Run code in a fresh interpreter, as if it were pasted there."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_export_of_a_study_is_replayed_and_its_advice_runs(tmp_path: Path, kind: str) -> None:
    file = exported(tmp_path, kind)
    given = ["replay", str(file), "--out", str(tmp_path / "out"), "--jobs", "1", "--seeds", "1"]
    given += ["--policies", "tv_gp_ucb,random"] + (["--minimize"] if kind == "csv" else [])
    run = CliRunner().invoke(app, given)
    assert run.exit_code == 0, run.output
    said, _, code = run.output.partition("To continue, paste this into Python:\n\n")
    assert "57 steps" not in said
    assert "direction='minimize'" in code
    assert pasted(code, tmp_path).startswith("measure {'x': ")
    again = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    assert again["direction"] == "minimize"
    assert again["code"] == code.rstrip("\n")
    assert again["scores"][0]["policy"] in ("tv_gp_ucb", "random")


def test_an_export_of_options_has_the_options_as_places(tmp_path: Path) -> None:
    for kind in ("csv", "json"):
        log = read_log(exported(tmp_path, kind, options=True))
        assert log.names == ("a", "b", "c")
        assert np.isfinite(log.values).sum() == 57
        assert log.study is not None
        assert log.study.direction == ("minimize" if kind == "json" else None)


def test_configurations_that_hardly_repeat_are_grouped(tmp_path: Path) -> None:
    log = read_log(exported(tmp_path, "json"))
    assert log.study is not None
    assert log.points is not None
    assert 2 <= len(log.names) <= 57 // 8
    assert np.isfinite(log.values).sum(axis=1).tolist() == [1] * 57
    assert np.isfinite(log.values[:29]).any(axis=0).all()  # seen in the first half
    assert all(choice.keys() == SPACE.keys() for choice in log.study.choices)


def test_an_export_with_contexts_is_refused(tmp_path: Path) -> None:
    study = ht.Study.create("s", ["a"], context={"out": ht.Real(0, 1)}, store="memory:")
    study.tell(study.ask(context={"out": 0.5}), 1.0)
    for kind in ("csv", "json"):
        (tmp_path / f"e.{kind}").write_text(study.export(kind))
        with pytest.raises(FormatError, match="without contexts"):
            read_log(tmp_path / f"e.{kind}")
    (tmp_path / "no.json").write_text("[]")
    with pytest.raises(FormatError, match="the export of a study"):
        read_log(tmp_path / "no.json")


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("policy", [name for name in CANDIDATES if name != "fixed"])
def test_the_advice_for_a_table_runs(tmp_path: Path, policy: str, minimize: bool) -> None:
    rng = np.random.default_rng(1)
    header = "t,hall,roof,yard\n"
    rows = [f"{t}," + ",".join(f"{20 + v:.3f}" for v in rng.normal(size=3)) for t in range(30)]
    (tmp_path / "log.csv").write_text(header + "\n".join(rows))
    log = read_log(tmp_path / "log.csv")
    done = replay_log(log, policies=[policy], seeds=1, jobs=1, minimize=minimize)
    code = write_advice(done, tmp_path)
    space: dict[str, Any] = {}
    exec(code, space)
    opt = space["opt"]
    assert opt.direction == ("minimize" if minimize else "maximize")
    assert space["s"].option in ("hall", "roof", "yard")
    opt.tell(space["s"], 20.5)
    if policy in ("tv_gp_ucb", "gp_ucb", "learning"):
        assert abs(opt.belief().mean.mean() - 20.0) < 1.0  # the prior mean has the log's sign


def test_staying_is_advice_too(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal([9.0, 0.0], size=(30, 2))
    rows = "\n".join(f"{t},{a},{b}" for t, (a, b) in enumerate(values))
    (tmp_path / "log.csv").write_text(f"t,up,down\n{rows}")
    done = replay_log(read_log(tmp_path / "log.csv"), policies=["fixed", "random"], seeds=1, jobs=1)
    assert write_advice(done, tmp_path).startswith("choice = 'up'")


# ---- named columns

LONG = "when,who,what,note\n" + "\n".join(f"{i // 2},s{i % 2},{i * 7 % 5},ok" for i in range(40))


@pytest.mark.parametrize(
    "columns",
    [
        Columns("when", "who", "what", ("note",)),
        Columns(time="when", value="what", ignore=("note",)),
        Columns(time="when", place="who", ignore=("note",)),
    ],
)
def test_columns_can_be_named(tmp_path: Path, columns: Columns) -> None:
    (tmp_path / "log.csv").write_text(LONG)
    log = read_log(tmp_path / "log.csv", columns=columns)
    assert log.names == ("s0", "s1")
    assert log.values.shape == (20, 2)
    assert log.values[1].tolist() == [4.0, 1.0]


def test_a_wide_table_without_some_columns(tmp_path: Path) -> None:
    rows = "\n".join(f"{i},{i % 3},{i % 5},text" for i in range(20))
    (tmp_path / "log.csv").write_text(f"hours since start,a,b,note\n{rows}")
    columns = Columns(time="hours since start", ignore=("note",))
    assert read_log(tmp_path / "log.csv", columns=columns).names == ("a", "b")
    run = CliRunner().invoke(app, ["replay", str(tmp_path / "log.csv"), "--time", "hour"])
    assert run.exit_code == 1
    assert "expected a column 'hour'" in run.stderr


def test_a_missing_name_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LONG)
    with pytest.raises(FormatError, match=r"one column left for the place; got 2\. Name it with"):
        read_log(tmp_path / "log.csv", columns=Columns(time="when", value="what"))
