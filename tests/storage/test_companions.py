"""The files beside a SQLite store: whatever is removed, nothing acknowledged is lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

import writers
from heliotrope.errors import StoreError
from heliotrope.storage import Append, Store, open_store
from heliotrope.storage.sql import SqlStore

REMOVALS = [("-wal",), ("-shm",), ("-wal", "-shm")]
BODY = {"kind": "told", "value": 1.0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{path}")) as opened:
        yield opened


def remove(path: Path, suffixes: tuple[str, ...]) -> None:
    for suffix in suffixes:
        path.with_name(path.name + suffix).unlink()


def number_elsewhere(path: Path) -> int:
    process, hears = writers.start(writers.count_events, f"sqlite:///{path}")
    found: int = hears.recv()
    process.join()
    return found


@pytest.mark.parametrize("removed", REMOVALS)
def test_a_removed_companion_loses_nothing(
    store: Store, path: Path, removed: tuple[str, ...]
) -> None:
    uid = store.create("pump", BODY, at=0.0)
    for after in range(1, 20):
        assert store.append([Append(uid, after, [BODY])]) == [after + 1]
    remove(path, removed)
    assert store.last(uid) == 20  # the next call saves what the removed file held
    assert number_elsewhere(path) == 20
    remove(path, removed)
    assert store.append([Append(uid, 20, [BODY])]) == [21]
    assert number_elsewhere(path) == 21


@pytest.mark.parametrize("removed", REMOVALS)
def test_companions_are_removed_again_and_again_under_load(
    store: Store, path: Path, removed: tuple[str, ...]
) -> None:
    """Threads write; each acknowledged event must be found by another process at the end."""
    uids = [store.create(name, BODY, at=0.0) for name in ("pump", "fan", "valve", "lamp")]
    rounds = count()

    def write(uid: str) -> int:
        last = 1
        for _ in range(40):
            (result,) = store.append([Append(uid, last, [BODY])])
            assert result == last + 1
            last += 1
            if uid == uids[0] and next(rounds) % 5 == 0:
                for suffix in removed:
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
        return last

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write, uids)) == [41] * 4
    assert [len(store.events(uid)) for uid in uids] == [41] * 4
    assert number_elsewhere(path) == 41


def test_a_log_removed_during_the_commit_is_saved_before_the_answer(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = store.create("pump", BODY, at=0.0)
    assert isinstance(store, SqlStore)
    check = store._database.check_address

    def check_then_remove() -> None:
        check()
        monkeypatch.undo()
        remove(path, ("-wal",))

    monkeypatch.setattr(store._database, "check_address", check_then_remove)
    assert store.append([Append(uid, 1, [BODY])]) == [2]
    assert number_elsewhere(path) == 2


def test_two_processes_that_share_a_removed_log_both_go_on(store: Store, path: Path) -> None:
    uid = store.create("pump", BODY, at=0.0)
    process, hears = writers.start(writers.write, f"sqlite:///{path}", 1, 60)
    heard = [hears.recv()]
    remove(path, ("-wal",))
    writers.append_all(store, uid, 2, 60, lambda _: None)
    while len(heard) < 60:
        heard.append(hears.recv())
    process.join()
    assert [event.seq for event in store.events(uid)] == list(range(1, 122))
    assert number_elsewhere(path) == 121


def test_a_log_that_somebody_else_began_anew_is_refused(store: Store, path: Path) -> None:
    """Both logs hold commits, so neither may be written over the other."""
    uid = store.create("pump", BODY, at=0.0)
    remove(path, ("-wal", "-shm"))
    process, hears = writers.start(writers.change_otherwise, f"sqlite:///{path}")
    assert hears.recv() == "written"
    for _ in range(2):
        with pytest.raises(StoreError, match=r"opened as .*-wal; got another one with content"):
            store.append([Append(uid, 1, [BODY])])
    process.kill()
    process.join()


def test_all_names_of_a_file_have_one_lock(store: Store, path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    with closing(open_store(f"sqlite:///{link}")) as other:
        uid = other.create("pump", BODY, at=0.0)
        assert store.append([Append(uid, 1, [BODY])]) == [2]
        assert other.last(uid) == 2
    assert sorted(file.name for file in path.parent.iterdir() if "lock" in file.name) == [
        "store.db-lock"
    ]


def test_the_work_of_an_append_does_not_grow_with_the_log(store: Store) -> None:
    """Counted in SQLite's own steps: the time of a machine varies."""
    uid = store.create("pump", BODY, at=0.0)
    assert isinstance(store, SqlStore)
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def steps_of_an_append(last: int) -> int:
        nonlocal steps
        steps = 0
        assert store.append([Append(uid, last, [BODY])]) == [last + 1]
        return steps

    with closing(store._database.engine.raw_connection()) as connection:
        assert connection.driver_connection is not None
        connection.driver_connection.set_progress_handler(step, 1)
    early = steps_of_an_append(1)
    store.append([Append(uid, 2, [BODY] * 5000)])
    assert 0 < steps_of_an_append(5002) <= early + 50
