"""Stores: one suite for all of them; damaged files, failing servers and killed processes."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

import writers
from heliotrope.errors import (
    ConflictError,
    DamagedError,
    HeliotropeError,
    InputError,
    StoreError,
    StudyExistsError,
    UnknownStudyError,
)
from heliotrope.storage import (
    Append,
    Event,
    GroupCommit,
    MemoryStore,
    Store,
    open_store,
)
from heliotrope.storage.files import WriteLock
from heliotrope.storage.sql import SqlStore
from heliotrope.storage.tables import metadata
from postgres import Server, server
from small_machine import names, store_of

CREATED = {"kind": "created", "version": 1}

DURABLE = ("sqlite", "postgresql")
OF_PACKAGE = ("memory", *DURABLE)
ALL = (*OF_PACKAGE, "page")


@pytest.fixture(params=ALL)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address where there is no store yet."""
    if request.param in ("memory", "page"):
        return f"{request.param}:"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    found: Server = request.getfixturevalue("postgres")
    return found.new_place()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    own = url == "page:"  # the store of the page "Many small machines"
    with closing(store_of(names()["Table"]()) if own else open_store(url)) as opened:
        yield opened


of_package = pytest.mark.parametrize("url", OF_PACKAGE, indirect=True)
durable = pytest.mark.parametrize("url", DURABLE, indirect=True)
in_file = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
on_server = pytest.mark.parametrize("url", ["postgresql"], indirect=True)


def begin(store: Store, name: str = "pump", told: int = 0) -> str:
    uid = store.create(name, CREATED, at=0.0)
    if told:
        write(store, uid, 1, [{"y": number} for number in range(told)])
    return uid


def write(store: Store, uid: str, after: int, bodies: Sequence[dict[str, Any]]) -> int:
    (result,) = store.append([Append(uid, after, bodies)])
    if isinstance(result, HeliotropeError):
        raise result
    return result


def bodies(store: Store, uid: str) -> list[Any]:
    return [event.body for event in store.events(uid)]


# Every store


def test_a_study_begins_with_its_first_event(store: Store) -> None:
    uid = store.create("pump", CREATED, at=12.5)
    assert store.events(uid) == [Event(1, 12.5, CREATED)]
    assert store.last(uid) == 1
    assert store.count() == 1
    info = store.find("pump")
    assert (info.name, info.uid, info.created, info.events, info.updated) == (
        "pump",
        uid,
        12.5,
        1,
        12.5,
    )


def test_a_name_is_taken_once(store: Store) -> None:
    uid = begin(store)
    with pytest.raises(StudyExistsError):
        store.create("pump", {"other": True}, at=1.0)
    assert bodies(store, uid) == [CREATED]
    assert store.count() == 1


@pytest.mark.parametrize("name", ["a", "Z9", "two words", "a.b_c-d", "-", "_", "x" * 100])
def test_names(store: Store, name: str) -> None:
    uid = begin(store, name)
    assert store.find(name).uid == uid


@pytest.mark.parametrize(
    "name", ["", " a", "a ", ".a", "a.", "a/b", "é", "a\n", "a\0b", "x" * 101, None, 5, ["a"]]
)
def test_no_names(store: Store, name: Any) -> None:
    with pytest.raises(InputError):
        store.create(name, CREATED, at=0.0)
    with pytest.raises(InputError):
        store.find(name)
    assert store.count() == 0


def test_studies_are_listed_in_the_order_of_their_names(store: Store) -> None:
    names = ["b", "B", "a", "b 1", "b-1", "b.1", "b_1", "10", "9"]
    for name in names:
        begin(store, name)
    assert [info.name for info in store.studies()] == sorted(names)
    assert [info.name for info in store.studies(after="B", limit=3)] == sorted(names)[3:6]
    assert len(store.studies(limit=10**30)) == len(names)
    assert store.studies(limit=0) == store.studies(after="b_1") == []
    with pytest.raises(InputError):
        store.studies(after="a\0")


def test_events_are_numbered_and_read_unchanged(store: Store) -> None:
    uid = begin(store)
    written: list[dict[str, Any]] = [
        {},
        {"text": "é \0 \n 日本 \ud800 '; DROP TABLE heliotrope_events; --"},
        {"numbers": [0.1, -0.0, 1e-308, 1.7976931348623157e308, 2**70, True, None]},
        {"deep": nested(99), "long": "x" * 100_000, "many": [[]] * 1_000},
    ]
    assert write(store, uid, 1, written[:1]) == 2
    assert write(store, uid, 2, written[1:]) == 5
    assert [event.seq for event in store.events(uid)] == [1, 2, 3, 4, 5]
    assert [json.dumps(body) for body in bodies(store, uid)[1:]] == [*map(json.dumps, written)]


def test_times_are_kept_and_order_nothing(store: Store) -> None:
    uid = store.create("pump", CREATED, at=100.0)
    store.append([Append(uid, 1, [{}], at=1e9 / 3), Append(uid, 2, [{}], at=-5)])
    assert [event.at for event in store.events(uid)] == [100.0, 1e9 / 3, -5.0]
    assert store.find("pump").updated == -5.0
    before = time.time()
    assert before <= Append(uid, 3, [{}]).at <= time.time()


def test_what_is_handed_out_is_a_copy(store: Store) -> None:
    body = {"list": [1]}
    uid = store.create("pump", body, at=0.0)
    body["list"].append(2)
    store.events(uid)[0].body["list"].append(3)
    assert bodies(store, uid) == [{"list": [1]}]


def nested(depth: int) -> Any:
    return {"in": [nested(depth - 2)] if depth > 1 else 0}


@pytest.mark.parametrize(
    "body",
    [
        *(None, [1], "text", {"nan": float("nan")}, {"set": {1}}, {"bytes": b""}, {(1, 2): 3}),
        *(nested(101), nested(1_700), {"long": 10**5_000}),
    ],
)
def test_no_bodies(store: Store, body: Any) -> None:
    uid = begin(store)
    with pytest.raises(InputError):
        store.create("other", body, at=0.0)
    with pytest.raises(InputError):
        Append(uid, 1, [{}, body])
    assert store.count() == store.last(uid) == 1


@of_package
def test_no_appends(store: Store) -> None:
    uid = begin(store)
    for after, given, at in ((1, [], 0.0), (-1, [{}], 0.0), (1.5, [{}], 0.0), (1, [{}], "noon")):
        with pytest.raises(InputError):
            Append(uid, after, given, at)  # type: ignore[arg-type]
    with pytest.raises(UnknownStudyError):
        Append("no uid", 1, [{}])
    with pytest.raises(InputError):
        store.create("other", CREATED, at=float("inf"))


@of_package
def test_stretches_of_a_log(store: Store) -> None:
    uid = begin(store, told=9)
    whole = store.events(uid)
    for after in range(12):
        assert store.events(uid, after) == whole[after:]
        for limit in (0, 1, 3, 20):
            assert store.events(uid, after, limit) == whole[after : after + limit]
    wrong: list[tuple[Any, Any]] = [(-1, None), (0, -1), (0.5, None), ("1", None)]
    for after, limit in wrong:
        with pytest.raises(InputError):
            store.events(uid, after, limit)


def test_one_batch_writes_many_studies(store: Store) -> None:
    first, second = begin(store, "first"), begin(store, "second")
    gone = begin(store, "gone")
    store.delete(gone)
    results = store.append(
        [
            Append(first, 1, [{"a": 1}]),
            Append(second, 1, [{"b": 1}, {"b": 2}]),
            Append(gone, 1, [{}]),
            Append(first, 2, [{"a": 2}]),
            Append(second, 1, [{"lost": True}]),
        ]
    )
    assert [results[0], results[1], results[3]] == [2, 3, 3]
    assert isinstance(results[2], UnknownStudyError)
    assert isinstance(results[4], ConflictError)
    assert bodies(store, first) == [CREATED, {"a": 1}, {"a": 2}]
    assert bodies(store, second) == [CREATED, {"b": 1}, {"b": 2}]
    assert store.append([]) == []


def test_a_batch_of_more_studies_than_one_statement_takes(store: Store) -> None:
    uids = [begin(store, f"s{number}") for number in range(30)]
    strangers = [f"{number:032x}" for number in range(2_500)]
    results = store.append([Append(uid, 1, [{}], at=0.0) for uid in (*strangers, *uids)])
    assert results[2_500:] == [2] * 30
    assert all(isinstance(result, UnknownStudyError) for result in results[:2_500])


def test_an_append_counts_on_the_one_before_it(store: Store) -> None:
    """The number fits, but event 2 is another one than the second writer assumes."""
    uid = begin(store)
    write(store, uid, 1, [{"by": "somebody else"}])
    results = store.append(
        [Append(uid, 1, [{"by": "me"}]), Append(uid, 2, [{"on": "top of mine"}])]
    )
    assert all(isinstance(result, ConflictError) for result in results)
    assert bodies(store, uid) == [CREATED, {"by": "somebody else"}]


def test_a_deleted_study_is_not_its_successor(store: Store) -> None:
    old = begin(store, told=3)
    store.keep_snapshot(old, 2, b"old")
    store.delete(old)
    assert store.count() == 0
    new = begin(store, told=3)
    calls: list[Callable[[], object]] = [
        lambda: store.last(old),
        lambda: store.events(old),
        lambda: store.snapshot(old),
        lambda: store.keep_snapshot(old, 1, b""),
        lambda: store.delete(old),
        lambda: write(store, old, 4, [{}]),
    ]
    for call in calls:
        with pytest.raises(UnknownStudyError):
            call()
    assert store.snapshot(new) is None
    assert store.find("pump").uid == new != old
    with pytest.raises(UnknownStudyError):
        store.find("boiler")
    with pytest.raises(UnknownStudyError):
        store.last(5)  # type: ignore[arg-type]


@of_package
def test_the_newest_snapshot_is_kept(store: Store) -> None:
    uid, other = begin(store, told=5), begin(store, "other")
    assert store.snapshot(uid) is None
    for seq, data, kept in ((3, b"\0three", 3), (2, b"two", 3), (3, b"again", 3), (6, b"", 6)):
        store.keep_snapshot(uid, seq, data)
        found = store.snapshot(uid)
        assert found is not None
        assert found == (kept, data if seq == kept else b"\0three")
    write(store, uid, 6, [{}])
    assert store.snapshot(uid) == (6, b"")
    assert store.snapshot(other) is None
    for seq, wrong in ((8, b""), (0, b""), (3, "text"), (3, 7)):
        with pytest.raises(InputError):
            store.keep_snapshot(uid, seq, wrong)  # type: ignore[arg-type]


class Twins:
    """A store and one in memory that get the same calls, with equal results up to uids."""

    def __init__(self, store: Store) -> None:
        self.store, self.model = store, MemoryStore()
        self.uids: list[tuple[str, str]] = []

    def create(self, name: str) -> None:
        mine, theirs = (tried(store.create, name, CREATED, 0.0) for store in self.both)
        assert (mine is StudyExistsError) == (theirs is StudyExistsError)
        if mine is not StudyExistsError:
            self.uids.append((str(mine), str(theirs)))

    def call(self, method: str, study: int, *arguments: object) -> None:
        pair = zip(self.both, self.uids[study], strict=True)
        mine, theirs = (tried(getattr(store, method), uid, *arguments) for store, uid in pair)
        assert mine == theirs

    def append(self, study: int, after: int) -> None:
        pair = zip(self.both, self.uids[study], strict=True)
        mine, theirs = (s.append([Append(u, after, [{"n": after}], at=1.0)])[0] for s, u in pair)
        assert mine == theirs or type(mine) is type(theirs) is not int

    @property
    def both(self) -> tuple[Store, Store]:
        return self.store, self.model


def tried(call: Callable[..., object], *arguments: object) -> object:
    try:
        return call(*arguments)
    except HeliotropeError as error:
        return type(error)


@durable
def test_every_store_behaves_like_the_one_in_memory(store: Store) -> None:
    rng, twins = random.Random(0), Twins(store)
    for _ in range(120):
        twins.create(f"s{rng.randrange(6)}")
        study, seq = rng.randrange(len(twins.uids)), rng.randrange(6)
        twins.append(study, seq)
        twins.call("keep_snapshot", study, seq, b"%d" % seq)
        for method in ("last", "snapshot", "events", *["delete"] * (rng.random() < 0.1)):
            twins.call(method, study)
        names = [[info.name for info in one.studies()] for one in twins.both]
        assert names[0] == names[1]


@durable
def test_what_was_written_is_there_when_opened_again(url: str) -> None:
    with closing(open_store(url)) as store:
        uid = begin(store, told=3)
        store.keep_snapshot(uid, 4, b"kept")
        before = store.events(uid), store.studies()
    with closing(open_store(url)) as again:
        assert (again.events(uid), again.studies()) == before
        assert again.snapshot(uid) == (4, b"kept")
        assert write(again, uid, 4, [{}]) == 5


# Several writers


def assert_each_once_in_order(events: Sequence[Event], writers: int, count: int) -> None:
    assert [event.seq for event in events] == [*range(1, 2 + writers * count)]
    for writer in range(writers):
        own = [event.body["number"] for event in events[1:] if event.body["writer"] == writer]
        assert own == [*range(count)]


def test_threads_neither_lose_nor_reorder(store: Store) -> None:
    uid = begin(store)
    with ThreadPoolExecutor(4) as pool:
        done = [
            pool.submit(writers.append_all, store, uid, writer, 25, lambda _: None)
            for writer in range(4)
        ]
        for future in done:
            future.result()
    assert_each_once_in_order(store.events(uid), 4, 25)


def test_batches_of_the_same_studies_do_not_wait_for_each_other(store: Store) -> None:
    uids = [begin(store, f"s{number}") for number in range(6)]

    def write_all(order: Sequence[str]) -> int:
        written = 0
        for _ in range(25):
            results = store.append([Append(uid, store.last(uid), [{}]) for uid in order])
            written += sum(isinstance(result, int) for result in results)
        return written

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(write_all, uids), pool.submit(write_all, uids[::-1])]
        written = sum(future.result() for future in futures)
    assert sum(store.last(uid) - 1 for uid in uids) == written


@durable
def test_processes_neither_lose_nor_reorder(url: str) -> None:
    with closing(open_store(url)) as store:
        uid = begin(store)
        running = [writers.start(writers.write, url, writer, 40) for writer in range(2)]
        seen: list[Event] = []
        while any(process.is_alive() for process, _ in running):
            events = store.events(uid)  # a reader meanwhile sees ever longer beginnings of one log
            assert events[: len(seen)] == seen
            assert [event.seq for event in events] == [*range(1, len(events) + 1)]
            seen = events
        for process, hears in running:
            process.join()
            hears.close()
            assert process.exitcode == 0
        assert_each_once_in_order(store.events(uid), 2, 40)


@durable
def test_what_was_acknowledged_survives_the_writer(url: str) -> None:
    rng = random.Random(0)
    with closing(open_store(url)) as store:
        uid = begin(store)
    for life in range(10):
        process, hears = writers.start(writers.write, url, life, 1_000_000)
        acknowledged = -1
        with suppress(EOFError):
            for _ in range(rng.randrange(1, 30)):
                acknowledged = hears.recv()
            time.sleep(rng.random() * 0.01)
            process.kill()
            while True:
                acknowledged = hears.recv()
        process.join()
        hears.close()
        with closing(open_store(url)) as store:
            mine = [e.body["number"] for e in store.events(uid) if e.body.get("writer") == life]
            assert mine == [*range(len(mine))]
            assert len(mine) in (acknowledged + 1, acknowledged + 2)  # one may be unsaid


@durable
def test_processes_open_a_fresh_store_at_the_same_time(url: str) -> None:
    barrier = writers.PROCESSES.Barrier(4)
    running = [writers.start(writers.begin, url, barrier) for _ in range(4)]
    uids = []
    for process, hears in running:
        uids.append(hears.recv())
        hears.close()
        process.join()
        assert process.exitcode == 0
    with closing(open_store(url)) as store:
        assert {info.uid for info in store.studies()} == set(uids)
        assert len(set(uids)) == 4


# Commits in groups


class Gated(MemoryStore):
    """A store that signals before it writes, and waits for permission."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.gate = threading.Semaphore(0), threading.Semaphore(0)
        self.batches: list[int] = []
        self.broken = False

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        self.entered.release()
        assert self.gate.acquire(timeout=60)
        self.batches.append(len(batch))
        if self.broken:
            raise StoreError("a disk", "none")
        return super().append(batch)


def outcome(future: Future[int]) -> object:
    error = future.exception(timeout=60)
    return future.result() if error is None else type(error)


def test_clients_share_a_commit(store: Store) -> None:
    uid = begin(store)
    with closing(GroupCommit(store)) as group, ThreadPoolExecutor(4) as pool:

        def client(writer: int) -> list[int]:
            own = begin(store, f"s{writer}")
            return [group.submit(Append(own, after, [{}])).result(60) for after in range(1, 20)]

        written = list(pool.map(client, range(4)))
        last: Future[int] | None = None
        for after in range(1, 101):
            last = group.submit(Append(uid, after, [{"after": after}]), last)
    assert last is not None
    assert last.done()  # to close is to wait
    assert last.result() == 101
    assert [body["after"] for body in bodies(store, uid)[1:]] == [*range(1, 101)]
    assert written == [[*range(2, 21)]] * 4


def test_what_waits_goes_in_one_piece() -> None:
    store = Gated()
    uids = [begin(store, f"s{number}") for number in range(20)]
    with closing(GroupCommit(store)) as group:
        first = group.submit(Append(uids[0], 1, [{}]))
        assert store.entered.acquire(timeout=60)
        waiting = [group.submit(Append(uid, 1, [{}])) for uid in uids[1:]]
        assert not any(future.done() for future in (first, *waiting))
        store.gate.release(2)
        assert [future.result(60) for future in (first, *waiting)] == [2] * 20
    assert store.batches == [1, 19]


@pytest.mark.parametrize("named", [True, False])
def test_what_follows_a_refused_append_is_refused(named: bool) -> None:
    """Event 2 exists when the second append arrives, but it is another one."""
    store = Gated()
    uid = begin(store)
    with closing(GroupCommit(store)) as group:
        first = group.submit(Append(uid, 1, [{"by": "me"}]))
        assert store.entered.acquire(timeout=60)
        MemoryStore.append(store, [Append(uid, 1, [{"by": "somebody else"}])])
        second = group.submit(Append(uid, 2, [{"on": "mine"}]), follows=first if named else None)
        third = group.submit(Append(uid, 3, [{"on": "that"}]), follows=second)
        store.gate.release(3)
        assert outcome(first) is ConflictError
        assert (outcome(second), outcome(third)) == ((ConflictError,) * 2 if named else (3, 4))
        assert store.last(uid) == (2 if named else 4)


def test_what_was_cancelled_is_not_written() -> None:
    store = Gated()
    uid, other = begin(store), begin(store, "other")
    with closing(GroupCommit(store)) as group:
        group.submit(Append(other, 1, [{}]))
        assert store.entered.acquire(timeout=60)
        cancelled = group.submit(Append(uid, 1, [{}]))
        following = group.submit(Append(uid, 2, [{}]), follows=cancelled)
        assert cancelled.cancel()
        store.gate.release(3)
        assert outcome(following) is ConflictError
    assert store.last(uid) == 1


def test_all_waiting_callers_get_the_error_of_the_store() -> None:
    store = Gated()
    uid = begin(store)
    with closing(GroupCommit(store)) as group:
        store.broken = True
        store.gate.release(1)
        assert outcome(group.submit(Append(uid, 1, [{}]))) is StoreError
        store.broken = False
        store.gate.release(1)
        assert outcome(group.submit(Append(uid, 1, [{}]))) == 2


def test_a_closed_group_takes_nothing() -> None:
    store = MemoryStore()
    uid = begin(store)
    group = GroupCommit(store)
    group.close()
    group.close()
    with pytest.raises(StoreError):
        group.submit(Append(uid, 1, [{}]))
    assert store.last(uid) == 1


# Damage


def change(store: Store, statement: str) -> None:
    assert isinstance(store, SqlStore)
    store._database.write(lambda connection: connection.exec_driver_sql(statement))


@durable
@pytest.mark.parametrize(
    ("statement", "sound"),
    [
        ("UPDATE heliotrope_events SET body = '{\"y\":7}' WHERE seq = 5", 4),
        ("UPDATE heliotrope_events SET at = at + 1 WHERE seq = 5", 4),
        ("DELETE FROM heliotrope_events WHERE seq = 5", 4),
        ("DELETE FROM heliotrope_events WHERE seq > 4", 4),
        ("UPDATE heliotrope_events SET seq = 100 WHERE seq = 5", 4),
        ("UPDATE heliotrope_events SET checksum = '' WHERE seq = 5", 4),
        ("DELETE FROM heliotrope_events", 0),
    ],
)
def test_changed_events_are_detected(store: Store, statement: str, sound: int) -> None:
    uid = begin(store, told=9)
    whole = store.events(uid)
    change(store, statement)
    for after in (0, sound):
        with pytest.raises(DamagedError, match=f"event {sound + 1} of study 'pump'") as caught:
            store.events(uid, after)
        assert caught.value.sound == sound
    assert store.events(uid, limit=sound) == whole[:sound]
    assert store.last(uid) == 10


@durable
@pytest.mark.parametrize(
    "setting",
    ["last = 4", "last = 40", "name = 'bump'", "created = 1", "updated = 1", "chain = seal"],
)
def test_a_changed_row_is_detected(store: Store, setting: str) -> None:
    uid = begin(store, told=9)
    other = begin(store, "other")
    change(store, f"UPDATE heliotrope_studies SET {setting} WHERE uid = '{uid}'")
    calls: list[Callable[[], object]] = [
        lambda: store.last(uid),
        lambda: store.events(uid),
        lambda: store.studies(),
        lambda: store.snapshot(uid),
        lambda: store.keep_snapshot(uid, 1, b""),
    ]
    for call in calls:
        with pytest.raises(DamagedError):
            call()
    results = store.append([Append(uid, 10, [{}]), Append(uid, 4, [{}]), Append(other, 1, [{}])])
    assert [type(result) for result in results] == [DamagedError, DamagedError, int]


@durable
def test_the_log_of_another_study_is_detected(store: Store) -> None:
    uid, other = begin(store, told=9), begin(store, "other", told=9)
    change(store, "DELETE FROM heliotrope_events WHERE study = 1")
    change(store, "UPDATE heliotrope_events SET study = 1 WHERE study = 2")
    for study in (uid, other):
        with pytest.raises(DamagedError):
            store.events(study)


@durable
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE heliotrope_snapshots SET data = checksum",
        "UPDATE heliotrope_snapshots SET seq = 4",
        "UPDATE heliotrope_snapshots SET seq = 40",
        "UPDATE heliotrope_snapshots SET checksum = ''",
        "UPDATE heliotrope_events SET checksum = '' WHERE seq = 5",
    ],
)
def test_a_damaged_snapshot_is_ignored(store: Store, statement: str) -> None:
    uid = begin(store, told=9)
    store.keep_snapshot(uid, 5, b"five")
    if "data" in statement and "postgres" in store._database.address:  # type: ignore[attr-defined]
        statement = statement.replace("checksum", "checksum::bytea")
    change(store, statement)
    assert store.snapshot(uid) is None


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Event]]]:
    """A store as a crash leaves it, with a part in the write-ahead log; and what it holds."""
    rng = random.Random(0)
    folder = tmp_path_factory.mktemp("undamaged")
    address = f"sqlite:///{folder}/store.db"
    with closing(open_store(address)) as store:
        for number in range(20):
            uid = begin(store, f"s{number:02}")
            told = [{"y": rng.random(), "x": [rng.random()] * 5}] * rng.randrange(1, 60)
            write(store, uid, 1, told)
        store.keep_snapshot(uid, 1, rng.randbytes(5_000))
    with closing(open_store(address)) as store:
        for info in store.studies(limit=10):
            write(store, info.uid, info.events, [{"late": 1}, {"late": 2}])
        truth = {info.name: store.events(info.uid) for info in store.studies()}
        (folder / "copy").mkdir()
        for name in ("store.db", "store.db-wal"):
            shutil.copy(folder / name, folder / "copy" / name)
    return folder / "copy", truth


def spoil(path: Path, rng: random.Random) -> None:
    """Cut a file, overwrite some of it, turn bits, or repeat a page elsewhere."""
    size, kind = path.stat().st_size, rng.choice(["cut", "noise", "zeros", "bits", "page"])
    with path.open("r+b") as file:
        start = rng.randrange(size)
        file.seek(start)
        if kind == "cut":
            file.truncate(start)
        elif kind in ("noise", "zeros"):
            length = rng.choice([1, 8, 100, 4096, 9000])
            file.write(rng.randbytes(length) if kind == "noise" else bytes(length))
        elif kind == "bits":
            byte = file.read(1)[0]
            file.seek(start)
            file.write(bytes([byte ^ 1 << rng.randrange(8)]))
        else:
            page = file.read(4096)
            file.seek(rng.randrange(size) // 4096 * 4096)
            file.write(page)


def believed(store: Store, name: str) -> list[Event] | None:
    """What can be read of a study; None where that is refused."""
    try:
        uid = store.find(name).uid
    except UnknownStudyError:
        raise AssertionError(f"{name} looks as if it had never been") from None
    except StoreError:
        return None
    try:
        return store.events(uid)
    except DamagedError as error:
        return store.events(uid, limit=error.sound)
    except StoreError:
        return None


@pytest.mark.parametrize("seed", range(50))
def test_a_damaged_file_is_refused_or_read_up_to_the_damage(
    undamaged: tuple[Path, dict[str, list[Event]]], tmp_path: Path, seed: int
) -> None:
    folder, truth = undamaged
    rng = random.Random(seed)
    for path in folder.iterdir():
        shutil.copy(path, tmp_path)
    spoil(tmp_path / rng.choice(["store.db", "store.db", "store.db-wal"]), rng)
    try:
        store = open_store(f"sqlite:///{tmp_path}/store.db")
    except StoreError:
        return
    with closing(store):
        with suppress(StoreError):
            assert [info.name for info in store.studies()] == [*truth]
        for name, events in truth.items():
            found = believed(store, name)
            assert found is None or found == events[: len(found)]


def test_a_damaged_schema_is_reported_without_an_error_text(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(f"sqlite:///{path}").close()
    path.write_bytes(
        path.read_bytes().replace(b"TABLE heliotrope_stud", b'TABLE "\xf4liotrope_stud')
    )
    with pytest.raises(StoreError, match="damaged") as caught:
        open_store(f"sqlite:///{path}")
    assert isinstance(caught.value.__cause__, UnicodeDecodeError)


# Files


@in_file
def test_only_the_owner_can_use_a_new_file(store: Store, tmp_path: Path) -> None:
    begin(store)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    names = ("store.db", "store.db-wal", "store.db-shm", "store.db-lock")
    assert modes == dict.fromkeys(names, 0o600)


@in_file
def test_commits_are_synced(store: Store) -> None:
    assert isinstance(store, SqlStore)
    for pragma, value in (("synchronous", 2), ("journal_mode", "wal"), ("foreign_keys", 1)):
        with store._database.engine.connect() as connection:
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


def moved(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replaced(path: Path) -> None:
    moved(path)
    other = path.with_name("other.db")
    open_store(f"sqlite:///{other}").close()
    other.rename(path)


@in_file
@pytest.mark.parametrize("move", [moved, replaced])
def test_a_file_that_was_moved_is_not_written_any_more(
    store: Store, tmp_path: Path, move: Callable[[Path], None]
) -> None:
    path = tmp_path / "store.db"
    uid = begin(store, told=3)
    before = store.events(uid)
    move(path)
    calls: list[Callable[[], object]] = [
        lambda: store.append([Append(uid, 4, [{}])]),
        lambda: store.create("other", CREATED, at=0.0),
        lambda: store.keep_snapshot(uid, 2, b""),
        lambda: store.delete(uid),
        lambda: store.studies(limit=1),
        lambda: store.last(uid),
    ]
    for call in calls:
        with pytest.raises(StoreError, match=f"opened as {path}; got .*file there. .* Put it back"):
            call()
    path.with_name("moved.db").replace(path)
    assert store.events(uid) == before
    assert write(store, uid, 4, [{"late": True}]) == 5
    with closing(open_store(f"sqlite:///{path}")) as again:
        assert again.events(uid) == store.events(uid)
        assert (again.count(), again.snapshot(uid)) == (1, None)


@in_file
def test_a_file_that_was_removed_is_not_written_any_more(store: Store, tmp_path: Path) -> None:
    uid = begin(store)
    (tmp_path / "store.db").unlink()
    with ThreadPoolExecutor(3) as pool:  # some of which need connections of their own
        futures = [pool.submit(write, store, uid, 1, [{}]) for _ in range(9)]
    assert {type(future.exception()) for future in futures} == {StoreError}
    with pytest.raises(StoreError, match="got no file there"):
        store.last(uid)


@in_file
def test_a_connection_to_another_file_is_not_kept(store: Store, tmp_path: Path) -> None:
    """It would write there, once the first file is back in its place."""
    uid = begin(store)
    assert isinstance(store, SqlStore)
    path = tmp_path / "store.db"
    with store._database.engine.connect():  # the only one so far
        replaced(path)
        with pytest.raises(StoreError, match="another file"):
            store.last(uid)
        path.with_name("moved.db").replace(path)
        assert write(store, uid, 1, [{}]) == 2
    assert store.last(uid) == 2


@in_file
def test_a_file_that_is_open_under_another_name_is_not_called_damaged(
    store: Store, tmp_path: Path
) -> None:
    begin(store)
    moved(tmp_path / "store.db")
    with pytest.raises(StoreError, match=r"disk I/O error.*another name.*keep its -wal") as caught:
        open_store(f"sqlite:///{tmp_path}/moved.db")
    assert "damaged" not in str(caught.value)


@in_file
def test_a_file_that_another_program_holds(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliotrope.storage.sqlite._PATIENCE", 0.05)
    with (
        closing(open_store(url)) as store,
        closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"is locked». Another program holds it"):
            begin(store)
        other.execute("ROLLBACK")
        begin(store)


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


def another_version(path: Path, number: str) -> None:
    open_store(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE heliotrope_version SET version_num = '{number}'")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.mkdir(), "expected a file; got the folder"),
        (lambda path: path.touch(), "a store of heliotrope"),
        (lambda path: path.write_text("Dear diary, " * 1_000), "not a database"),
        (foreign_database, "a store of heliotrope"),
        (lambda path: another_version(path, "9999"), "Update heliotrope"),
        (lambda path: another_version(path, "0000"), "version '0000'.*damaged"),
        (lambda path: path.with_name("store.db-wal").touch(), "a lost file"),
    ],
)
def test_other_databases_are_refused(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    make(tmp_path / "store.db")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StoreError, match=why) as caught:
        open_store(f"sqlite:///{tmp_path}/store.db")
    assert str(tmp_path / "store.db") in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} - {path.name for path in before} <= {
        "store.db-lock"
    }


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        open_store(f"sqlite:///{tmp_path}/nowhere/store.db")


@pytest.mark.parametrize("forbidden", ["file", "folder"])
def test_what_may_not_be_written_is_refused(forbidden: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        folder.mkdir()
        open_store(f"sqlite:///{folder}/store.db").close()
        Path(name).chmod(0o777)
        (folder / "store.db").chmod(0o444 if forbidden == "file" else 0o666)
        folder.chmod(0o777 if forbidden == "file" else 0o555)
        process, hears = writers.start(writers.open_as_nobody, f"sqlite:///{folder}/store.db")
        place = folder / "store.db" if forbidden == "file" else folder
        assert f"to be allowed to write {place};" in hears.recv()
        process.join()
        hears.close()
        folder.chmod(0o777)


def test_relative_paths_are_meant_where_they_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_store("sqlite:///a name with % and #.db")) as store:
        monkeypatch.chdir("/")
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda number: begin(store, f"s{number}"), range(9)))
        assert store.count() == 9
    assert (tmp_path / "a name with % and #.db").exists()


@pytest.mark.parametrize(
    "url",
    [
        *("", "memory", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///a.db?mode=ro"),
        *("sqlite://host/a.db", "sqlite+aiosqlite:///a.db", "mysql://a/b", "file.db", None, 5),
        *("postgresql://secret:secret@host:port/x", "sqlite:///a\0b"),
    ],
)
def test_no_urls(url: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert [*tmp_path.iterdir()] == []


def test_a_lock_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        closing(WriteLock(path, 0o600, patience=0.05)) as one,
        closing(WriteLock(path, 0o600, patience=0.05)) as other,
    ):
        with one.held():
            with pytest.raises(StoreError, match="another writer"), other.held():
                pass
            with ThreadPoolExecutor(1) as pool:
                same = pool.submit(one.held().__enter__)
                assert isinstance(same.exception(), StoreError)
        with other.held(), pytest.raises(StoreError), one.held():
            pass


@durable
def test_a_closed_store_is_refused(store: Store) -> None:
    uid = begin(store)
    store.close()
    store.close()
    for call in (store.last, store.delete):
        with pytest.raises(StoreError, match="which is closed"):
            call(uid)


@durable
def test_a_store_from_before_a_fork_is_refused(store: Store) -> None:
    uid = begin(store)
    assert isinstance(store, SqlStore)
    store._database._process += 1  # as if it were our parent's
    for call in (store.last, store.delete):
        with pytest.raises(StoreError, match="Open it in each process"):
            call(uid)
    store._database._process -= 1
    assert store.last(uid) == 1


def columns(connection: Any) -> dict[str, list[tuple[str, bool]]]:
    """The names of all columns by table, and whether each may be empty."""
    inspector = inspect(connection)
    return {
        table: [(column["name"], column["nullable"]) for column in inspector.get_columns(table)]
        for table in inspector.get_table_names()
    }


@durable
def test_the_tables_are_those_that_the_code_expects(store: Store) -> None:
    assert isinstance(store, SqlStore)
    assert store._database.read(columns) == {
        table.name: [(column.name, bool(column.nullable)) for column in table.columns]
        for table in metadata.tables.values()
    }


# A server


def cut_connections(postgres: Server) -> int:
    ((cut,),) = postgres.run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    return int(cut)


@on_server
def test_a_lost_connection_is_reopened(store: Store, postgres: Server) -> None:
    uid = begin(store)
    assert cut_connections(postgres) >= 1
    assert store.last(uid) == 1
    assert cut_connections(postgres) >= 1
    assert write(store, uid, 1, [{}]) == 2
    assert bodies(store, uid) == [CREATED, {}]


@on_server
def test_acknowledged_events_are_synced_under_any_server_setting(url: str) -> None:
    setting = "current_setting('synchronous_commit'), current_setting('lock_timeout')"
    for asked, got in (("off", "on"), ("local", "local")):
        with closing(open_store(f"{url}%20-csynchronous_commit%3D{asked}")) as store:
            assert isinstance(store, SqlStore)
            found = store._database.write(lambda c: c.execute(text(f"SELECT {setting}")).one())
            assert tuple(found) == (got, "10s")


@on_server
def test_a_row_that_another_transaction_holds(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliotrope.storage.postgresql._SETTINGS", ["SET lock_timeout = '50ms'"])
    with closing(open_store(url)) as store:
        uid = begin(store)
        assert isinstance(store, SqlStore)
        with store._database.engine.connect() as other:
            other.execute(text("SELECT 1 FROM heliotrope_studies FOR UPDATE"))
            with pytest.raises(StoreError, match=r"lock timeout». Another transaction holds it"):
                write(store, uid, 1, [{}])
        assert write(store, uid, 1, [{}]) == 2


def test_a_server_that_refuses(postgres: Server) -> None:
    missing = postgres.url("missing").replace("postgres@", "postgres:secret@")
    with pytest.raises(StoreError, match="does not exist") as caught:
        open_store(missing + "&password=secret")
    assert "secret" not in str(caught.value)


def test_a_missing_server(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="to use the store postgresql://"):
        open_store(f"postgresql://postgres@/x?host={tmp_path}")


@pytest.mark.usefixtures("postgres")  # or there is none
def test_a_server_that_stops() -> None:
    with server() as other:
        store = open_store(other.new_place())
        uid = begin(store)
    for call in (store.last, store.events, store.delete):
        with pytest.raises(StoreError):
            call(uid)
    store.close()


# The package


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_sqlalchemy_is_loaded_only_when_needed_and_missed_politely() -> None:
    shown = run_python(
        "import sys; from heliotrope.storage import open_store\n"
        "open_store('memory:')\n"
        "print({'sqlalchemy', 'psycopg'} & set(sys.modules))\n"
        "sys.modules['sqlalchemy'] = None\n"
        "try: open_store('sqlite:///nowhere/a.db')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    assert "set()" in shown
    assert "InputError" in shown
    assert "heliotrope[store]" in shown
