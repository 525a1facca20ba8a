"""The service under load: pairs of ask and tell per second, lost events, many idle studies."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter
from urllib.parse import urlsplit

import numpy as np
import psutil

from benchmarks.limit import against_bare, as_port, batches
from benchmarks.load import Connection, Load, Outcome, run
from benchmarks.report import Finding
from heliotrope.storage import Append, Store, open_store
from heliotrope.study import Study, StudyConfig

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgres import server
from serving import Command, command

SETUP = StudyConfig.from_json({"options": [f"option {i}" for i in range(50)]})
CLIENTS, PAIRS, WARM = 16, 80, 25  # each client first makes WARM pairs that are not measured
CROWD, CROWD_PAIRS, CROWD_WARM = 100, 10, 3
WORKERS = (1, 2)
MANY, COLD, TOLD = 10_000, 2_000, 100  # idle studies, number of asks, results of each
LONG = 100_000  # results of one study
TOGETHER = 100  # written in one append
SYNCS = 200


def findings() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder, server(fsync=True) as postgres:
        yield from against_bare(Path(folder), _played)
        yield batches(f"sqlite:///{folder}/fleet.db", SETUP, _port_of_serving)
        yield from _pairs(f"sqlite:///{folder}/pairs.db", postgres.new_place(), Path(folder))
        for workers in WORKERS:
            for studies in (1, CROWD):
                store = f"sqlite:///{folder}/crowd-{workers}-{studies}.db"
                yield _crowd("SQLite", store, workers, studies)
        yield _crowd("PostgreSQL", postgres.new_place(), WORKERS[-1], CROWD)
        yield from _idle(f"sqlite:///{folder}/many.db")
        yield _long(f"sqlite:///{folder}/long.db")


# Pairs per second


def _pairs(sqlite: str, postgres: str, folder: Path) -> Iterator[Finding]:
    for together, how in ((True, "one request per pair"), (False, "two requests per pair")):
        load = Load(0, [f"together-{together}"], CLIENTS, PAIRS, together)
        here, cpu, whole = _played(sqlite, 1, load, WARM)
        there, _, whole_there = _played(postgres, 1, load, WARM)
        yield Finding(
            f"50 options, 16 clients, one process on SQLite, {how}, every result synced: "
            "at least 300 pairs of ask and tell per second",
            f"{here.rate:.0f}, {1e3 * cpu:.1f} ms of CPU each, where a bare sync takes "
            f"{1e3 * _sync(folder):.2f} ms; on PostgreSQL {there.rate:.0f}",
            whole and whole_there and here.rate >= 300,
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


# Crowds


def _crowd(kind: str, store: str, workers: int, studies: int) -> Finding:
    names = [f"crowd-{number}" for number in range(studies)]
    outcome, _, whole = _played(store, workers, Load(0, names, CROWD, CROWD_PAIRS), CROWD_WARM)
    where = "one study" if studies == 1 else f"{studies} studies"
    processes = "one process" if workers == 1 else f"{workers} processes"
    return Finding(
        f"{CROWD} clients of {where}, {processes}, {kind}: "
        "no event lost, duplicated or out of order",
        f"{outcome.pairs:,} results in their logs; {outcome.rate:.0f} pairs per second, "
        f"99 % of requests within {np.quantile(outcome.latencies, 0.99):.2f} s",
        whole,
    )


def _played(store: str, workers: int, load: Load, warm: int) -> tuple[Outcome, float, bool]:
    """The outcome of a load, CPU seconds per pair, and whether the logs are complete."""
    with closing(open_store(store)) as opened:
        for name in load.studies:
            Study.create_from(name, SETUP, opened)
        with _serving(store, "--workers", str(workers)) as service:
            load = replace(load, port=port_of(service))
            before = run(replace(load, pairs=warm))
            started = _cpu(service)
            outcome = run(load)
            spent = (_cpu(service) - started) / outcome.pairs
        told = [*before.told, *outcome.told]
        return outcome, spent, all(_is_whole(opened, name, told) for name in load.studies)


def _is_whole(store: Store, name: str, told: Sequence[Sequence[tuple[str, str, float]]]) -> bool:
    log = store.events(store.find(name).uid)
    asked = [event.body["id"] for event in log if event.body["kind"] == "asked"]
    logged = [
        (name, e.body["id"], e.body["value"]["value"]) for e in log if e.body["kind"] == "told"
    ]
    numbers = [int(id.rpartition("-")[2]) for id in asked]
    clients = [[(name, id, value) for study, id, value in one if study == name] for one in told]
    places = {entry: place for place, entry in enumerate(logged)}
    return (
        [event.seq for event in log] == list(range(1, len(log) + 1))
        and numbers == list(range(len(asked)))
        and sorted(logged) == sorted(entry for one in clients for entry in one)
        and all(one == sorted(one, key=places.__getitem__) for one in clients)
    )


# Many idle studies


def _idle(store: str) -> Iterator[Finding]:
    with closing(open_store(store)) as opened:
        _fill(opened)
    with _serving(store) as service:
        seconds, megabytes = asyncio.run(_asked_cold(service))
    yield Finding(
        f"{MANY:,} studies of 50 options with {TOLD} results each: memory under 1 GB",
        f"at most {megabytes:.0f} MB while {COLD:,} of them were asked",
        megabytes < 1000,
    )
    yield Finding(
        "an ask of one that is not in memory within 100 ms",
        f"median {1e3 * np.median(seconds):.0f} ms, 99 % within "
        f"{1e3 * np.quantile(seconds, 0.99):.0f} ms, maximum {1e3 * max(seconds):.0f} ms",
        float(np.quantile(seconds, 0.99)) < 0.1,
    )


def _fill(store: Store) -> None:
    """Write the log of one study under many names."""
    played, rng = Study.create_from("played", SETUP, store), Random(0)
    for _ in range(TOLD):
        played.tell(played.ask().id, rng.random())
    log = [event.body for event in played.events()]
    kept = store.snapshot(store.find("played").uid)  # as asking and telling leaves it
    assert kept is not None
    prefix, text = log[1]["id"].partition("-")[0], json.dumps(log[1:])
    for start in range(0, MANY, TOGETHER):
        names = [f"study-{number}" for number in range(start, start + TOGETHER)]
        uids = [store.create(name, log[0], at=0.0) for name in names]
        logs = [json.loads(text.replace(prefix, uid[: len(prefix)])) for uid in uids]
        store.append([Append(uid, 1, bodies) for uid, bodies in zip(uids, logs, strict=True)])
        for uid in uids:
            store.keep_snapshot(uid, *kept)


async def _asked_cold(service: Command) -> tuple[list[float], float]:
    """Seconds of asks, each of an unused study, and the maximum memory."""
    seconds, megabytes, process = [], 0.0, psutil.Process(service.process.pid)
    connection = await Connection.to(port_of(service))
    for number in Random(1).sample(range(MANY), COLD):
        started = perf_counter()
        await connection.post(f"/api/studies/study-{number}/ask", {})
        seconds.append(perf_counter() - started)
        megabytes = max(megabytes, process.memory_info().rss / 1e6)
    connection.close()
    return seconds, megabytes


# A long study


def _long(place: str) -> Finding:
    """Open it as a new process does, after an earlier ask saved a snapshot."""
    with closing(open_store(place)) as store:
        _write_long(store)
        Study(store, "long").ask()
    started = perf_counter()
    study = Study.open("long", place)
    study.ask()
    seconds = perf_counter() - started
    return Finding(
        f"a study of {LONG:,} results is opened and asked within 2 s",
        f"{seconds:.2f} s, from a snapshot",
        seconds < 2.0 and study.summary()["told"] == LONG,
    )


def _write_long(store: Store) -> None:
    """Write the log of a study directly: each option in turn, with random values."""
    study, rng = Study.create_from("long", SETUP, store), Random(0)
    ask = study.ask()
    study.cancel(ask.id)
    *_, asked, _ = (event.body for event in study.events())
    prefix, last = ask.id.partition("-")[0], len(study.events())
    bodies = []
    for number in range(1, LONG + 1):
        id, place = f"{prefix}-0000beef-{number}", number % 50
        chosen = {"id": id, "t": number + 1.0, "place": place, "option": f"option {place}"}
        told = {"v": asked["v"], "kind": "told", "id": id, "value": {"value": rng.random()}}
        bodies += [{**asked, **chosen}, told]
    store.append([Append(study.uid, last, bodies)])


# The service


def _serving(store: str, *options: str) -> AbstractContextManager[Command]:
    return command(store, "--no-demo", *options)


def _port_of_serving(store: str) -> AbstractContextManager[int]:
    return as_port(_serving(store), port_of)


def port_of(service: Command) -> int:
    """The port it listens on."""
    port = urlsplit(service.url).port
    assert port is not None
    return port


def _cpu(service: Command) -> float:
    """CPU seconds of all its processes."""
    parent = psutil.Process(service.process.pid)
    times = [one.cpu_times() for one in (parent, *parent.children(recursive=True))]
    return float(sum(one.user + one.system for one in times))
