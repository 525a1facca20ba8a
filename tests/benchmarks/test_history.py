"""The record of ratios that the site plots."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    assert importlib.util.find_spec("benchmarks.history") is not None
    return importlib.import_module("benchmarks.history")


def test_a_run_adds_a_row_for_each_ratio(history: ModuleType, tmp_path: Path) -> None:
    Finding = sys.modules["benchmarks.report"].Finding
    file = tmp_path / "history.csv"
    for commit in ("1234567", "89abcde+"):
        found = [Finding("faster", "3 times", True, ratio=3.0), Finding("exact", "yes", True)]
        history.record(found, commit, file)
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [(row["commit"], row["figure"], row["value"]) for row in rows] == [
        ("1234567", "faster", "3"),
        ("89abcde+", "faster", "3"),
    ]
    assert tuple(rows[0]) == history.COLUMNS


def test_the_record_names_the_current_commit(history: ModuleType) -> None:
    assert len(history.current_commit().rstrip("+")) == 8


def test_the_committed_record_is_readable(history: ModuleType) -> None:
    rows = list(csv.DictReader(history.FILE.read_text().splitlines()))
    assert len(rows) >= 16
    assert all(float(row["value"]) > 0 for row in rows)
