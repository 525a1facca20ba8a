"""Studies under load: many threads and processes, failing stores, killed processes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event as Signal, Lock
from typing import Any

import pytest

from askers import Acknowledged, acknowledged, killed, lost, start, step, work
from heliotrope.errors import HeliotropeError, StoreError
from heliotrope.storage import Append, GroupCommit, MemoryStore, Store, open_store
from heliotrope.study import Study, StudyConfig
from postgres import Server
from studies import SPACES, shown, twin_of, what

CONFIG = StudyConfig(SPACES["options"])


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    found: Server = request.getfixturevalue("postgres")
    return found.new_place()


def assert_sound(store: Store, said: Sequence[Sequence[Acknowledged]]) -> None:
    """Nothing is lost, duplicated or reordered, and the state is that of the log."""
    study = Study.open("pump", store)
    for one in said:
        assert lost(study, list(one)) == []
    events = study.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    entries = Counter((e.body["kind"], e.body["id"]) for e in events if "id" in e.body)
    assert set(entries.values()) <= {1}
    twin = twin_of(store, "pump")
    assert shown(twin) == shown(study)
    assert what(twin.ask()) == what(study.ask())


# Processes


def test_processes_share_a_study(url: str) -> None:
    with closing(open_store(url)) as store:
        Study.create("pump", SPACES["options"], store=store)
        processes = [start(work, url, seed, 40) for seed in range(3)]
        said = [acknowledged(hears) for _, hears in processes]
        for process, _ in processes:
            process.join()
            assert process.exitcode == 0
        asked = [entry for one in said for entry in one if entry[0] == "asked"]
        assert len(asked) == len(set(asked)) == Study.open("pump", store).summary()["asked"]
        assert_sound(store, said)


LIVE: dict[str, Any] = {
    "metrics": {"rate": "maximize", "heat": "watch"},
    "limits": {"heat": {"below": 15.0}},
    "baseline": {"n": 3, "x": 0.5},
    "moves": {"largest": {"x": 0.3}},
}


@pytest.mark.parametrize(
    ("space", "goals", "kills"),
    [("options", {}, 10), ("constant beside real", LIVE, 3)],
    ids=["plain", "live"],
)
def test_what_was_acknowledged_survives_a_kill(
    tmp_path: Path, space: str, goals: dict[str, Any], kills: int
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with closing(open_store(url)) as store:
        Study.create("pump", SPACES[space], store=store, **goals)
    rng, said = random.Random(5), list[list[Acknowledged]]()
    for seed in range(kills):
        said.append(killed(url, seed, after=rng.randrange(1, 30)))
        with closing(open_store(url)) as store:
            assert_sound(store, said)


# Threads


def many(study: Study, clients: int, steps: int) -> list[list[Acknowledged]]:
    """The acknowledgements of several concurrent clients."""

    def client(seed: int) -> list[Acknowledged]:
        rng, mine, said = random.Random(seed), list[str](), list[Acknowledged]()
        for _ in range(steps):
            with suppress(StoreError):  # whether it was written is unknown
                step(study, mine, rng, said.append)
        return said

    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(client, range(clients)))


@pytest.mark.parametrize("grouped", [False, True])
def test_threads_share_a_study(tmp_path: Path, grouped: bool) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/store.db")) as store:
        with closing(GroupCommit(store)) as group:
            journal = group if grouped else None
            study = Study.create_from("pump", CONFIG, store, journal=journal)
            said = many(study, clients=6, steps=25)
            assert sum(len(one) for one in said) >= 6 * 25
            assert shown(study) == shown(Study.open("pump", store))
        assert_sound(store, said)


class Unreliable(MemoryStore):
    """A store whose appends fail now and then: before, or, unknown to the caller, after."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng, self._guard = random.Random(seed), Lock()

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        with self._guard:
            fate = self._rng.random()
        if fate < 0.1:
            raise StoreError("a disk", "none")
        outcome = super().append(batch)
        if fate > 0.9:
            raise StoreError("an answer", "none: the connection was lost")
        return outcome


@pytest.mark.parametrize("grouped", [False, True])
def test_a_store_that_fails_in_the_middle_loses_nothing(grouped: bool) -> None:
    store = Unreliable(seed=3)
    with closing(GroupCommit(store)) as group:
        journal = group if grouped else None
        study = Study.create_from("pump", CONFIG, store, journal=journal)
        other = Study(store, "pump", journal=journal)
        with ThreadPoolExecutor(2) as pool:
            halves = pool.map(lambda one: many(one, clients=3, steps=25), [study, other])
            said = [one for half in halves for one in half]
    assert sum(len(one) for one in said) > 60
    store.append = lambda batch: MemoryStore.append(store, batch)  # type: ignore[method-assign]
    assert_sound(store, said)


# On top of what is not on disk yet


class Held(MemoryStore):
    """A store whose appends wait until they are let go, and may then be refused."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go = Signal(), Signal()
        self.error: HeliotropeError | None = None

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        self.reached.set()
        self.go.wait(30)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return super().append(batch)


@pytest.fixture
def held() -> Iterator[tuple[Held, Study]]:
    store = Held()
    with closing(GroupCommit(store)) as journal:
        yield (
            store,
            Study.create_from("pump", CONFIG, store, journal=journal),
        )
        store.go.set()


def in_flight(pool: ThreadPoolExecutor, store: Held, *actions: Any) -> list[Any]:
    """Begin calls one after the other, the first of which waits for the disk."""
    store.reached.clear()
    futures = [pool.submit(actions[0])]
    assert store.reached.wait(30)
    return futures + [pool.submit(action) for action in actions[1:]]


def test_a_repeated_request_waits_for_the_first_one(
    held: tuple[Held, Study],
) -> None:
    store, study = held
    store.go.set()
    ask = study.ask()
    store.go.clear()
    with ThreadPoolExecutor(3) as pool:
        again = [
            lambda: study.tell(ask.id, 1.0),
            lambda: study.ask(key="k"),
            lambda: study.ask(key="k"),
        ]
        futures = in_flight(pool, store, lambda: study.tell(ask.id, 1.0), *again)
        assert not any(future.done() for future in futures)
        assert store.last(store.find("pump").uid) == 2
        store.go.set()
        results = [future.result(30) for future in futures]
    assert results[2] == results[3]
    assert [e.body["kind"] for e in study.events()].count("told") == 1


def test_what_rests_on_a_refused_event_is_decided_again(held: tuple[Held, Study]) -> None:
    store, study = held
    store.go.set()
    ask = study.ask()
    store.go.clear()
    with ThreadPoolExecutor(2) as pool:
        store.error = StoreError("a disk", "none")
        told, after = in_flight(pool, store, lambda: study.tell(ask.id, 1.0), study.ask)
        store.go.set()
        with pytest.raises(StoreError):
            told.result(30)
        assert after.result(30).t == 2.0
    assert [one.id for one in study.open_asks()] == [ask.id, after.result().id]
    study.tell(ask.id, 7.0)  # the refused value never was
    assert_sound(store, [])


def test_reading_waits_for_what_is_on_its_way(held: tuple[Held, Study]) -> None:
    store, study = held
    with ThreadPoolExecutor(2) as pool:
        asked, read = in_flight(pool, store, study.ask, study.open_asks)
        store.go.set()
        assert read.result(30) in ([asked.result(30)], [])


def test_somebody_elses_events_are_not_put_on_top_of_refused_ones(held: tuple[Held, Study]) -> None:
    """While two asks wait for the disk, another process writes three events in their place."""
    store, study = held
    elsewhere = Study(store, "pump")
    uid = store.find("pump").uid
    with ThreadPoolExecutor(3) as pool:
        first, second, read = in_flight(pool, store, study.ask, study.ask, study.summary)
        twin = Study.create_from("twin", CONFIG, MemoryStore())
        bodies = []
        for number in range(3):
            twin.ask()
            body = twin.events()[-1].body
            bodies.append({**body, "id": f"{uid[:12]}-00000000-{number}"})
        MemoryStore.append(store, [Append(uid, 1, bodies)])
        store.go.set()
        ids = {first.result(30).id, second.result(30).id}
        assert read.result(30)["asked"] >= 3
    assert {id.rpartition("-")[2] for id in ids} == {"3", "4"}
    assert elsewhere.summary()["asked"] == 5
    assert_sound(store, [])
