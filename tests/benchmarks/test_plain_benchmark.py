"""The benchmark of plain worlds: its surfaces, its rows and its exact functions."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from heliotrope.lab.plain import PLAIN_WORLDS, Truth, play

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    module = importlib.import_module("benchmarks.plain")
    monkeypatch.setattr(module, "STEPS", 8)
    return module


@pytest.mark.parametrize("name", ["late/cancelled options", "space/server", "results/with n"])
def test_optuna_plays_plain_worlds(plain: ModuleType, name: str) -> None:
    truth = Truth(PLAIN_WORLDS[name])
    record = play(truth, plain.OptunaSurface(truth), 20)
    assert record.failures + record.warnings + record.messages + record.differences == []
    assert len(record.regrets) == 20


def test_every_surface_plays_and_worlds_are_drawn_by_their_seeds(plain: ModuleType) -> None:
    names = [plain.surface_for(plain.draw(seed)) for seed in range(40)]
    assert set(names) == set(plain.SURFACES)
    first = {name: names.index(name) for name in plain.SURFACES}
    rows = [plain.row_of(seed) for seed in first.values()]
    assert [row.surface for row in rows] == list(first)
    assert [row.failures + row.warnings + row.differences for row in rows] == [[]] * 4


def test_the_table_has_a_line_for_each_family_and_one_for_all(
    plain: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "FILE", tmp_path / "plain.csv")
    parts: dict[str, list[str]] = {
        "fallbacks": [],
        "messages": [],
        "differences": [],
        "warnings": [],
    }
    rows = [
        plain.Row(
            seed,
            family,
            "study",
            ["step 1"],
            **parts,
            own=own,
            random=2.0,
            reference=1.0,
            short=own > 1.0,
            median_ms=1.0,
            slowest=3.0,
        )
        for seed, (family, own) in enumerate([("exact", 1.0), ("noise", 2.0), ("noise", 0.0)])
    ]
    plain._write(rows)
    lines = list(csv.DictReader(plain.FILE.read_text().splitlines()))
    assert [(line["family"], line["worlds"], line["short"]) for line in lines] == [
        ("exact", "1", "0"),
        ("noise", "2", "1"),
        ("all", "3", "1"),
    ]
    assert lines[-1]["failed calls"] == "3"
    assert lines[-1]["regret / random's, median"] == "0.500"


@pytest.mark.usefixtures("plain")
def test_an_exact_function_is_lowest_where_it_says() -> None:
    exact = importlib.import_module("benchmarks.plain_exact")
    for seed in range(12):
        cost, c = exact.exact_function(seed)
        rng = np.random.default_rng(seed)
        others = [cost(c + rng.uniform(-0.05, 0.05, len(c))) for _ in range(50)]
        assert cost(c) < min(others)


@pytest.mark.usefixtures("plain")
def test_options_of_plain_are_refused_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    main = importlib.import_module("benchmarks.__main__")
    assert main._read(["plain", "--worlds", "5"]) == (["plain"], {"worlds": 5})
    with pytest.raises(SystemExit):
        main._read(["speed", "--seed", "1"])
    assert "--seed is an option of plain" in capsys.readouterr().err
