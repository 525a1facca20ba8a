"""Synced commits per second of one client and of 16 clients; reading and growing a long log."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock
from time import perf_counter, process_time

import numpy as np

from benchmarks.report import Finding
from heliotrope.storage import Append, GroupCommit, Store, open_store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgres import server

CLIENTS = 16
ALONE = 300  # commits
SHARED = 150  # appends per client
LOG = 100_000  # events
LENGTHS = (1_000, 100_000, 1_000_000)  # of logs to append to
APPENDS, TOGETHER = 300, 20_000  # measured, and events of one append that fills a log
GROWTH = 1.3
Clients = Callable[[Store, GroupCommit], Callable[[int], None]]
BODY = {"kind": "told", "id": "0123456789abcdef", "y": 0.123456789, "t": 1234.5, "x": [0.25, 0.75]}


def findings() -> Iterator[Finding]:
    with _stores() as stores:
        for name, store in stores.items():
            alone, sync = _alone(store)
            yield Finding(
                f"{name}: one client, one event per commit: at least 50 per second",
                f"{1 / alone:.0f}; {1e3 * alone:.2f} ms, where a bare sync takes {1e3 * sync:.2f}",
                alone < 0.02,
            )
            least = 600.0 if name == "SQLite" else 2.0 / alone
            yield _shared(f"{name}: 16 clients, one study each", store, _own_studies, alone, least)
            yield _shared(f"{name}: 16 clients of one study", store, _one_study, alone, least)
            yield _reading(name, store)
    with _places() as places:
        for name, urls in places.items():
            yield _growing(name, urls)


@contextmanager
def _stores() -> Iterator[dict[str, Store]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        server(fsync=True) as postgres,
        closing(open_store(f"sqlite:///{folder}/store.db")) as sqlite,
        closing(open_store(postgres.new_place())) as remote,
    ):
        yield {"SQLite": sqlite, "PostgreSQL": remote}


@contextmanager
def _places() -> Iterator[dict[str, list[str]]]:
    """A place for a store of each length, of each kind."""
    with tempfile.TemporaryDirectory() as folder, server(fsync=True) as postgres:
        yield {
            "SQLite": [f"sqlite:///{folder}/{length}.db" for length in LENGTHS],
            "PostgreSQL": [postgres.new_place() for _ in LENGTHS],
        }


def _growing(name: str, urls: Sequence[str]) -> Finding:
    """Append to logs of several lengths in turn, so that all meet the same load of the machine."""
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(open_store(url))) for url in urls]
        uids = [_filled(store, length) for store, length in zip(stores, LENGTHS, strict=True)]
        seconds = np.zeros((APPENDS, len(LENGTHS)))
        for step in range(APPENDS):
            for column, (store, uid) in enumerate(zip(stores, uids, strict=True)):
                append = Append(uid, LENGTHS[column] + step, [BODY])
                started = perf_counter()
                store.append([append])
                seconds[step, column] = perf_counter() - started
    medians = np.median(seconds, axis=0)
    shown = ", ".join(f"{1e3 * one:.2f}" for one in medians)
    return Finding(
        f"{name}: an append after {', '.join(f'{length:,}' for length in LENGTHS)} events takes "
        f"the same time, within {GROWTH:g} times",
        f"{medians.max() / medians.min():.2f} times: {shown} ms",
        bool(medians.max() <= GROWTH * medians.min()),
    )


def _filled(store: Store, length: int) -> str:
    uid = store.create("growing", BODY, at=0.0)
    for after in range(1, length, TOGETHER):
        store.append([Append(uid, after, [BODY] * min(TOGETHER, length - after))])
    return uid


def _alone(store: Store) -> tuple[float, float]:
    """Median seconds of a single client's append and of a bare sync, alternating."""
    uid = store.create("alone", BODY, at=0.0)
    seconds = np.zeros((ALONE, 2))
    with tempfile.TemporaryFile(buffering=0) as file:
        for step in range(ALONE):
            started = perf_counter()
            store.append([Append(uid, step + 1, [BODY])])
            appended = perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            seconds[step] = appended - started, perf_counter() - appended
    alone, sync = np.median(seconds, axis=0)
    return float(alone), float(sync)


def _own_studies(store: Store, group: GroupCommit) -> Callable[[int], None]:
    uids = [store.create(f"client {number}", BODY, at=0.0) for number in range(CLIENTS)]

    def run(client: int) -> None:
        for after in range(1, SHARED + 1):
            group.submit(Append(uids[client], after, [BODY])).result()

    return run


def _one_study(store: Store, group: GroupCommit) -> Callable[[int], None]:
    """Each append follows the previous one without waiting for its result."""
    uid = store.create("shared", BODY, at=0.0)
    lock, submitted = Lock(), [Future[int]()]
    submitted[0].set_result(1)

    def run(_: int) -> None:
        for _ in range(SHARED):
            with lock:
                append = Append(uid, len(submitted), [BODY])
                submitted.append(group.submit(append, follows=submitted[-1]))
                mine = submitted[-1]
            mine.result()

    return run


def _shared(claim: str, store: Store, prepare: Clients, alone: float, least: float) -> Finding:
    """Run clients that wait until an event is on disk before they send the next."""
    with closing(GroupCommit(store)) as group, ThreadPoolExecutor(CLIENTS) as pool:
        run = prepare(store, group)
        started = perf_counter()
        list(pool.map(run, range(CLIENTS)))
        rate = CLIENTS * SHARED / (perf_counter() - started)
    return Finding(
        f"{claim}: at least {least:.0f} synced events per second",
        f"{rate:.0f}, {rate * alone:.1f} times a single client",
        rate >= least,
    )


def _reading(name: str, store: Store) -> Finding:
    uid = store.create("long", BODY, at=0.0)
    store.append([Append(uid, 1, [BODY] * (LOG - 1))])
    texts = [json.dumps(BODY)] * LOG
    reading = _cpu(lambda: store.events(uid))
    parsing = _cpu(lambda: [json.loads(text) for text in texts])
    return Finding(
        f"{name}: {LOG:,} events read and verified within 1 s of CPU",
        f"{reading:.2f} s, {reading / parsing:.1f} times json.loads of their bodies",
        reading < 1.0,
    )


def _cpu(call: Callable[[], object]) -> float:
    """Minimum CPU seconds of five calls."""
    seconds = []
    for _ in range(5):
        started = process_time()
        call()
        seconds.append(process_time() - started)
    return min(seconds)
