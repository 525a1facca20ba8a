"""Files of this version and of each released one open, and continue unchanged.

``scripts/write_assets.py`` wrote them, a folder for each version.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import heliotrope as ht
from heliotrope.errors import ClosedSuggestionError
from heliotrope.storage import Store, open_store
from heliotrope.study import Study

FOLDERS = sorted(
    folder for folder in (Path(__file__).parent / "assets").iterdir() if folder.is_dir()
)
OPTIMIZERS = [(folder, path.name) for folder in FOLDERS for path in folder.glob("*.heliotrope")]
NOW = 1_700_015_000.0
ROUNDING = 1e-6  # of another processor, in a search along continuous coordinates


def expected(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text())


def names(one: tuple[Path, str]) -> str:
    return f"{one[0].name}-{one[1]}"


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Iterator[Store]:
    """The studies of a version, in a store that the tests may change."""
    if request.param == "sqlite":
        shutil.copy(folder / "studies.sqlite", tmp_path / "studies.sqlite")
        url = f"sqlite:///{tmp_path}/studies.sqlite"
    else:
        url = request.getfixturevalue("postgres").new_place()
        with psycopg.connect(url) as connection:
            connection.execute((folder / "studies.sql").read_bytes())
    with closing(open_store(url)) as opened:
        yield opened


def test_there_are_assets_of_every_kind() -> None:
    kinds = {name.removesuffix(".heliotrope") for _, name in OPTIMIZERS}
    assert kinds >= {"tv", "r", "box", "rexp3"}


@pytest.mark.parametrize("one", OPTIMIZERS, ids=names)
def test_a_saved_optimizer_asks_the_same_next(one: tuple[Path, str]) -> None:
    folder, name = one
    optimizer = ht.Optimizer.load(folder / name)
    assert len(optimizer.history) == 20
    (waiting,) = optimizer.open
    following = optimizer.ask()
    wanted = expected(folder)["optimizers"][name.removesuffix(".heliotrope")]
    assert (following.t, following.index) == (wanted["t"], wanted["index"])
    assert following.x.tolist() == pytest.approx(wanted["x"], abs=ROUNDING)
    optimizer.tell(waiting, 0.5)
    assert len(optimizer.history) == 21


def test_a_saved_study_asks_the_same_next(store: Store, folder: Path) -> None:
    for name, wanted in expected(folder)["studies"].items():
        study = Study.open(name, store, now=lambda: NOW)
        best, label = study.summary()["best"], "params" if "params" in wanted["best"] else "option"
        for number in ("mean", "std"):
            assert best[number] == pytest.approx(wanted["best"][number], rel=ROUNDING)
        assert_close(best[label], wanted["best"][label])
        ask = study.ask()
        assert ask.t == wanted["ask"]["t"]
        assert_close(ask.to_json()[label], wanted["ask"][label])


def test_the_open_asks_of_a_study_are_known_by_their_keys(store: Store, folder: Path) -> None:
    for name in expected(folder)["studies"]:
        study = Study.open(name, store, now=lambda: NOW)
        (waiting,) = study.open_asks()
        assert study.ask(key="waiting") == waiting
        with pytest.raises(ClosedSuggestionError):
            study.ask(key="given up")
        study.tell(waiting.id, 21.0)
        assert study.open_asks() == []


def test_snapshot_and_events_agree(store: Store) -> None:
    uid = store.find("sensors").uid
    assert store.snapshot(uid) is not None
    by_snapshot = Study.open("sensors", store, now=lambda: NOW).belief()
    store.keep_snapshot(uid, store.last(uid), b"no longer there")
    by_events = Study.open("sensors", store, now=lambda: NOW).belief()
    for one, other in zip(by_snapshot["options"], by_events["options"], strict=True):
        assert one["mean"] == pytest.approx(other["mean"], rel=1e-9)
        assert one["std"] == pytest.approx(other["std"], rel=1e-9)


def assert_close(found: Any, wanted: Any) -> None:
    """An option, or parameters whose numbers may differ by rounding."""
    if not isinstance(wanted, dict):
        assert found == wanted
        return
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name] == (
            pytest.approx(value, rel=ROUNDING) if type(value) is float else value
        )
