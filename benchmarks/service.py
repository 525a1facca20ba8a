"""The service under load: pairs of ask and tell a second, nothing lost, many studies at rest."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np
import psutil

from benchmarks.load import Connection, Load, Outcome, run
from benchmarks.report import Finding
from heliotrope.storage import Append, Store, open_store
from heliotrope.study import Setup, Study

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgres import server

SETUP = Setup.from_json({"options": [f"option {i}" for i in range(50)]})
WARM = 20  # pairs a client before it is measured
CLIENTS, PAIRS = 16, 60
CROWD, CROWD_PAIRS = 100, 10
MANY, COLD, TOLD = 10_000, 1_500, 100  # studies at rest, how many are asked, results of each
TOGETHER = 100  # of them written at a time
SYNCS = 200


def findings() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder, server(fsync=True) as postgres:
        yield from _pairs(f"sqlite:///{folder}/pairs.db", postgres.new_place(), Path(folder))
        for workers in (1, 2):
            for studies in (1, CROWD):
                store = f"sqlite:///{folder}/crowd-{workers}-{studies}.db"
                yield _crowd(store, workers, studies)
        yield from _at_rest(f"sqlite:///{folder}/many.db")


# Pairs a second


def _pairs(sqlite: str, postgres: str, folder: Path) -> Iterator[Finding]:
    for together, how in ((True, "one request a pair"), (False, "two requests a pair")):
        load = Load(0, [f"together-{together}"], CLIENTS, PAIRS, together)
        (here, whole), (there, _) = _played(sqlite, 1, load), _played(postgres, 1, load)
        yield Finding(
            f"50 options, 16 clients, one process on SQLite, {how}, every result synced: "
            "at least 300 pairs of ask and tell a second",
            f"{_rate(here):.0f}, where a bare sync takes {1e3 * _sync(folder):.2f} ms; "
            f"on PostgreSQL {_rate(there):.0f}",
            whole and _rate(here) >= 300,
        )


def _sync(folder: Path) -> float:
    """Median seconds of a bare sync."""
    seconds = []
    with tempfile.TemporaryFile(buffering=0, dir=folder) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            started = perf_counter()
            os.fsync(file.fileno())
            seconds.append(perf_counter() - started)
    return float(np.median(seconds))


def _rate(outcome: Outcome) -> float:
    return len(outcome.told) / outcome.seconds


# Crowds


def _crowd(store: str, workers: int, studies: int) -> Finding:
    names = [f"crowd-{number}" for number in range(studies)]
    outcome, whole = _played(store, workers, Load(0, names, CROWD, CROWD_PAIRS))
    where = "one study" if studies == 1 else f"{studies} studies"
    processes = "one process" if workers == 1 else f"{workers} processes"
    return Finding(
        f"{CROWD} clients of {where}, {processes}: no event lost, doubled or out of order",
        f"{len(outcome.told):,} results in their logs; {_rate(outcome):.0f} pairs a second, "
        f"99 % of requests within {np.quantile(outcome.latencies, 0.99):.2f} s",
        whole,
    )


def _played(store: str, workers: int, load: Load) -> tuple[Outcome, bool]:
    """What came of a load, and whether the logs have all of it, once and in order."""
    with closing(open_store(store)) as opened:
        for name in load.studies:
            Study.create_from(name, SETUP, opened)
        with _serving(store, workers) as service:
            load = replace(load, port=service.port)
            warm = run(replace(load, pairs=WARM))
            outcome = run(load)
        told = warm.told + outcome.told
        return outcome, all(_is_whole(opened, name, told) for name in load.studies)


def _is_whole(store: Store, name: str, told: Sequence[tuple[str, str, float]]) -> bool:
    log = store.events(store.find(name).uid)
    asked = [event.body["id"] for event in log if event.body["kind"] == "asked"]
    logged = [(name, e.body["id"], e.body["value"]) for e in log if e.body["kind"] == "told"]
    numbers = [int(id.rpartition("-")[2]) for id in asked]
    return (
        [event.seq for event in log] == list(range(1, len(log) + 1))
        and numbers == list(range(len(asked)))
        and sorted(logged) == sorted(tuple(one) for one in told if one[0] == name)
    )


# Many studies at rest


def _at_rest(store: str) -> Iterator[Finding]:
    with closing(open_store(store)) as opened:
        _fill(opened)
    with _serving(store, 1) as service:
        seconds, megabytes = asyncio.run(_asked_cold(service))
    yield Finding(
        f"{MANY:,} studies of 50 options with {TOLD} results each: memory under 1 GB",
        f"at most {megabytes:.0f} MB while {COLD:,} of them were asked",
        megabytes < 1000,
    )
    yield Finding(
        "an ask on a cold one of them within 100 ms",
        f"median {1e3 * np.median(seconds):.0f} ms, 99 % within "
        f"{1e3 * np.quantile(seconds, 0.99):.0f} ms, the slowest {1e3 * max(seconds):.0f} ms",
        float(np.quantile(seconds, 0.99)) < 0.1,
    )


def _fill(store: Store) -> None:
    """Write one study's log under many names, as if each had been played."""
    played, rng = Study.create_from("played", SETUP, store), Random(0)
    for _ in range(TOLD):
        played.tell(played.ask().id, rng.random())
    log = [event.body for event in played.events()]
    prefix, text = log[1]["id"].rpartition("-")[0], json.dumps(log[1:])
    for start in range(0, MANY, TOGETHER):
        names = [f"study-{number}" for number in range(start, start + TOGETHER)]
        uids = [store.create(name, log[0], at=0.0) for name in names]
        logs = [json.loads(text.replace(prefix, uid[: len(prefix)])) for uid in uids]
        store.append([Append(uid, 1, bodies) for uid, bodies in zip(uids, logs, strict=True)])


async def _asked_cold(service: Service) -> tuple[list[float], float]:
    """Seconds of asks, each on a study not used before, and the most memory meanwhile."""
    seconds, megabytes = [], 0.0
    connection = await Connection.to(service.port)
    for number in Random(1).sample(range(MANY), COLD):
        started = perf_counter()
        await connection.post(f"/api/studies/study-{number}/ask", {})
        seconds.append(perf_counter() - started)
        megabytes = max(megabytes, service.megabytes())
    connection.close()
    return seconds, megabytes


# The service


@dataclass(frozen=True)
class Service:
    """``heliotrope serve`` as a process."""

    process: psutil.Process
    port: int

    def megabytes(self) -> float:
        """Memory that it holds."""
        return float(self.process.memory_info().rss) / 1e6


@contextmanager
def _serving(store: str, workers: int) -> Iterator[Service]:
    options = ("--store", store, "--port", "0", "--workers", str(workers), "--no-demo")
    process = subprocess.Popen(
        [sys.executable, "-m", "heliotrope.cli", "serve", *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        found = next(f for line in lines if (f := re.search(r"http://[\d.]+:(\d+)", line)))
        yield Service(psutil.Process(process.pid), int(found[1]))
    finally:
        process.terminate()
        process.communicate()
