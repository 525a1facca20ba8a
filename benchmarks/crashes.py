"""The service killed again and again under load: nothing acknowledged is lost."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from time import sleep

from benchmarks.load import Load, Outcome, run
from benchmarks.report import Finding
from benchmarks.service import SETUP, port_of
from heliotrope.storage import Append, MemoryStore, Store, open_store
from heliotrope.study import Evaluation, Study

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from askers import lost
from cluster import wait_for
from postgres import Server, server
from serving import Command, command, post
from studies import what

KILLS = 50  # of each store's service, or of the database under it
DATABASE = 5  # each so many times it is the database, and the service has to get over it
CLIENTS = 8
EVENTS, SECONDS = 400, 0.01  # at most, of load before a kill
ENDLESS = 10**6  # pairs
NAME = "pump"


def findings() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder, server(fsync=True) as postgres:
        places = {
            "SQLite": (f"sqlite:///{folder}/store.db", None),
            "PostgreSQL": (postgres.new_place(), postgres),
        }
        with ThreadPoolExecutor(len(places)) as pool:  # most of the time goes into starting
            yield from pool.map(lambda kind: _survived(kind, *places[kind]), places)


def _survived(kind: str, url: str, database: Server | None) -> Finding:
    with closing(open_store(url)) as store:
        Study.create_from(NAME, SETUP, store)
        game = _Game(store, Random(kind))
        for number in range(KILLS):
            with command(url, "--no-demo") as service:
                game.check(service)
                if database is not None and number % DATABASE == DATABASE - 1:
                    game.play_until(service, database.stop)
                    database.restart()
                    game.check(service)
                else:
                    game.play_until(service, service.kill)
        with command(url, "--no-demo") as service:
            game.check(service)
    killed = f"killed {KILLS} times under load"
    if database is not None:
        killed += f", {KILLS // DATABASE} times its database instead"
    return Finding(
        f"{kind}, the service {killed}: every acknowledged result is there, and the next "
        "suggestion is that of a twin that was never killed",
        f"{game.told:,} acknowledged, {game.lost} lost; "
        f"{game.equal} of {game.checks} suggestions equal",
        game.lost == 0 and game.equal == game.checks,
    )


class _Game:
    """One study that is played on from kill to kill, and what came of it."""

    def __init__(self, store: Store, rng: Random) -> None:
        self._store, self._rng, self._twin = store, rng, _Twin(store)
        self._latest = Outcome()
        self.told = self.lost = self.checks = self.equal = 0

    def play_until(self, service: Command, kill: Callable[[], None]) -> None:
        """Have clients ask and tell, and kill what they rest on at a random moment."""
        load = Load(port_of(service), [NAME], CLIENTS, ENDLESS, until_cut=True)
        due = self._last() + self._rng.randint(1, EVENTS)
        with ThreadPoolExecutor(1) as pool:
            playing = pool.submit(run, load)
            wait_for(lambda: self._last() >= due)
            sleep(self._rng.uniform(0.0, SECONDS))
            kill()
            self._latest = playing.result()
        self.told += self._latest.pairs

    def check(self, service: Command) -> None:
        """Look for what was acknowledged last, and compare the next suggestion."""
        study = Study.open(NAME, self._store)
        for one in self._latest.told:
            self.lost += len(lost(study, [("told", id, value) for _, id, value in one]))
        with service.client() as client:
            asked = Evaluation(**post(client, f"/{NAME}/ask"))
            self.checks += 1
            self.equal += what(asked) == what(self._twin.asked())
            for ask in study.open_asks():
                post(client, f"/{NAME}/cancel", id=ask.id)

    def _last(self) -> int:
        return self._store.find(NAME).events


class _Twin:
    """A study of the same events, in the memory of this process, which nobody kills."""

    def __init__(self, store: Store) -> None:
        self._store, self._uid, self._twins = store, store.find(NAME).uid, MemoryStore()
        (first,) = store.events(self._uid)
        self._own = self._twins.create("twin", dict(first.body), first.at)
        self._study, self._fed = Study(self._twins, "twin"), 1

    def asked(self) -> Evaluation:
        """What it asks where the other one asked last, after all that came before."""
        *before, asked = self._store.events(self._uid, self._fed)
        assert asked.body["kind"] == "asked", asked
        if before:
            text = json.dumps([event.body for event in before])
            bodies = json.loads(text.replace(f'"{self._uid[:12]}-', f'"{self._own[:12]}-'))
            self._twins.append([Append(self._own, self._fed, bodies)])
        self._study.open_asks()  # takes note of them
        self._fed = asked.seq
        return self._study.ask()
