"""Kill the service repeatedly under load: no acknowledged result is lost."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from time import sleep

from benchmarks.load import Load, Outcome, run
from benchmarks.report import Finding
from benchmarks.service import SETUP, port_of
from heliotrope.storage import Append, EventBody, MemoryStore, Store, open_store
from heliotrope.study import Evaluation, Study, StudyConfig, decisions
from heliotrope.study.state import StudyState

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from askers import logged, lost
from cluster import wait_for
from postgres import Server, server
from serving import Command, command, post
from studies import what

KILLS = 50  # of each store's service, or of the database under it
DATABASE = 5  # every fifth time the database is killed, and the service must recover
CLIENTS = 8
EVENTS, LIVE_EVENTS, SECONDS = 400, 100, 0.01  # at most, of load before a kill
ENDLESS = 10**6  # pairs
PATIENCE = 600.0  # seconds until the events of a load are there, on a busy machine
NAME, VARIED = "pump", "share"
LIVE = StudyConfig.from_json(
    {
        "space": {VARIED: {"type": "real", "low": 0.0, "high": 1.0}},
        "metrics": {"throughput": "maximize", "p99": "watch"},
        "limits": {"p99": {"below": 0.97}},  # results are from 0 to 1, anywhere
        "baseline": {VARIED: 0.5},
        "moves": {"largest": {VARIED: 0.25}},
    }
)


def findings() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder, server(fsync=True) as postgres:
        places = {
            "SQLite": (f"sqlite:///{folder}/store.db", None, SETUP),
            "SQLite, with limits": (f"sqlite:///{folder}/live.db", None, LIVE),
            "PostgreSQL": (postgres.new_place(), postgres, SETUP),
        }
        with ThreadPoolExecutor(len(places)) as pool:  # starting takes most of the time
            yield from pool.map(lambda kind: _survived(kind, *places[kind]), places)


def _survived(kind: str, url: str, database: Server | None, setup: StudyConfig) -> Finding:
    with closing(open_store(url)) as store:
        Study.create_from(NAME, setup, store)
        survivor = _Survivor(store, Random(kind))
        for number in range(KILLS):
            with command(url, "--no-demo") as service:
                survivor.check(service)
                if database is not None and number % DATABASE == DATABASE - 1:
                    survivor.play_until(service, database.stop)
                    database.restart()
                    survivor.check(service)
                else:
                    survivor.play_until(service, service.kill)
        with command(url, "--no-demo") as service:
            survivor.check(service)
        reasons = survivor.reasons()
    killed = f"killed {KILLS} times under load"
    if database is not None:
        killed += f", {KILLS // DATABASE} times its database instead"
    return Finding(
        f"{kind}, the service {killed}: everything acknowledged is stored, and the "
        "next suggestion equals that of an uninterrupted copy",
        f"{survivor.told:,} results and {survivor.applied:,} applied settings acknowledged, "
        f"{survivor.lost} lost; {survivor.equal} of {survivor.checks} suggestions equal; "
        f"{survivor.held:,} asks held; reasons {dict(reasons)}",
        survivor.lost == 0 and survivor.equal == survivor.checks,
    )


class _Survivor:
    """One study that continues from kill to kill, with the counts of its checks."""

    def __init__(self, store: Store, rng: Random) -> None:
        self._store, self._rng, self._copy = store, rng, _Copy(store)
        self._latest = Outcome()
        self.told = self.applied = self.held = self.lost = self.checks = self.equal = 0

    def play_until(self, service: Command, kill: Callable[[], None]) -> None:
        """Let clients ask and tell, and kill the service or its database at a random time."""
        goals = Study.open(NAME, self._store).config.goals
        load = Load(port_of(service), [NAME], CLIENTS, ENDLESS, until_cut=True)
        if goals is not None:
            load = replace(load, metrics=list(goals.metrics), applied=VARIED)
        due = self._last() + self._rng.randint(1, EVENTS if goals is None else LIVE_EVENTS)
        with ThreadPoolExecutor(1) as pool:
            playing = pool.submit(run, load)
            wait_for(lambda: self._last() >= due, PATIENCE)
            sleep(self._rng.uniform(0.0, SECONDS))
            kill()
            self._latest = playing.result()
        self.told += self._latest.pairs
        self.applied += sum(map(len, self._latest.applied))
        self.held += self._latest.held

    def check(self, service: Command) -> None:
        """Look for what was acknowledged, and compare the next suggestion."""
        study = Study.open(NAME, self._store)
        for told in self._latest.told:
            self.lost += len(lost(study, [("told", id, logged(value)) for _, id, value in told]))
        for applied in self._latest.applied:
            self.lost += len(lost(study, [("applied", logged(params)) for params in applied]))
        with service.client() as client:
            asked = Evaluation(**post(client, f"/{NAME}/ask"))
            self.checks += 1
            self.equal += what(asked) == what(self._copy.asked())
            for ask in study.open_asks():
                post(client, f"/{NAME}/cancel", id=ask.id)

    def reasons(self) -> Counter[str]:
        """How often each reason was given for an ask."""
        bodies = [event.body for event in Study.open(NAME, self._store).events()]
        return Counter(str(body["reason"]) for body in bodies if "reason" in body)

    def _last(self) -> int:
        return self._store.find(NAME).events


class _Copy:
    """An uninterrupted copy: a study of the same events in the memory of this process."""

    def __init__(self, store: Store) -> None:
        self._store, self._uid, self._memory = store, store.find(NAME).uid, MemoryStore()
        (first,) = store.events(self._uid)
        self._own = self._memory.create("copy", dict(first.body), first.at)
        self._study, self._fed = Study(self._memory, "copy"), 1

    def asked(self) -> Evaluation:
        """Its suggestion where the other study asked last, after the same events."""
        *before, asked = self._store.events(self._uid, self._fed)
        assert asked.body["kind"] == "asked", asked
        self._feed([event.body for event in before])
        found = self._study._cache.read(_suggestion)
        self._feed([asked.body])  # with its id, whose mark is random
        return found

    def _feed(self, bodies: Sequence[EventBody]) -> None:
        if bodies:
            text = json.dumps(list(bodies)).replace(f'"{self._uid[:12]}-', f'"{self._own[:12]}-')
            self._memory.append([Append(self._own, self._fed, json.loads(text))])
            self._fed += len(bodies)
        self._study.open_asks()  # reads the events of the other study


def _suggestion(state: StudyState) -> Evaluation:
    """What a study would ask next, without an event."""
    t, place, why = decisions.chosen(state, None, None)
    return Evaluation(state.ids.next(mark=1), t, **state.config.adapter.describe(place), **why)
