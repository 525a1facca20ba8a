"""The folder for OptunaHub: what its registry asks for, and that it loads."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import optuna
import optunahub
import pytest

from heliotrope.integrations.optuna import HeliotropeSampler

ROOT = Path(__file__).parents[2] / "optunahub" / "package"
FOLDER = ROOT / "samplers" / "heliotrope"


def test_it_loads_as_a_local_module_and_samples() -> None:
    module = optunahub.load_local_module("samplers/heliotrope", registry_root=str(ROOT))
    assert module.HeliotropeSampler is HeliotropeSampler
    study = optuna.create_study(sampler=module.HeliotropeSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=5)
    assert len(study.trials) == 5


def test_the_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    local = optunahub.load_local_module("samplers/heliotrope", registry_root=str(ROOT))
    monkeypatch.setattr(optunahub, "load_module", lambda _: local)
    runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")
    assert re.findall(r"(\d+): chose", capsys.readouterr().out) == ["55", "56", "57", "58", "59"]


def test_the_registry_finds_what_it_asks_for() -> None:
    present = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert present == {"README.md", "LICENSE", "__init__.py", "example.py", "requirements.txt"}
    _, front, body = (FOLDER / "README.md").read_text().split("---\n", 2)
    keys = re.findall(r"^(\w+):", front, flags=re.M)
    assert keys == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert {"## Abstract", "## APIs", "## Example"} <= set(
        re.findall(r"^## \w+$", body, flags=re.M)
    )
    assert (FOLDER / "LICENSE").read_text() == (ROOT.parents[1] / "LICENSE").read_text()
