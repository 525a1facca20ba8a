"""The service beside its limit, a bare route that syncs one row; batches beside single calls."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks.load import Connection, Load, Outcome, run
from benchmarks.report import Finding
from heliotrope.storage import open_store
from heliotrope.study import Study, StudyConfig

Played = Callable[[str, int, Load, int], tuple[Outcome, float, bool]]
FLEET, ROUNDS, WARM_ROUNDS = 100, 6, 4


def against_bare(folder: Path, played: Played) -> Iterator[Finding]:
    """Rates of the service as shares of those of the bare route, in turn."""
    crowd = [f"young-{number}" for number in range(100)]
    for name, load, warm, least in (
        ("16 clients of one study, tell with ask", Load(0, ["old"], 16, 80, True), 25, 0.40),
        ("100 clients of 100 young studies", Load(0, crowd, 100, 10, True), 0, 0.25),
    ):
        bare = _played_bare(folder / f"{len(load.studies)}.rows", load)
        ours, _, whole = played(f"sqlite:///{folder}/{len(load.studies)}.db", 1, load, warm)
        share = ours.rate / bare.rate
        late, bare_late = (float(np.quantile(one.latencies, 0.99)) for one in (ours, bare))
        yield Finding(
            f"{name}: at least {least:.0%} of a bare route's rate",
            f"{share:.0%}: {ours.rate:.0f} of {bare.rate:.0f} per second",
            whole and share >= least,
        )
        yield Finding(
            f"{name}: 99 % of requests within 10 times the bare route's 99 %",
            f"{late / bare_late:.1f} times: {1e3 * late:.0f} and {1e3 * bare_late:.0f} ms",
            late <= 10.0 * bare_late,
        )


def _played_bare(path: Path, load: Load) -> Outcome:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.bare", str(path), str(port)]
    process = subprocess.Popen(command)
    try:
        _wait_for(port)
        return run(replace(load, port=port))
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return
        sleep(0.1)
    raise TimeoutError("the bare route does not start")


# Batches


def batches(store: str, setup: StudyConfig, serving: Callable[[str], Any]) -> Finding:
    """One client of many studies, by single calls and by batches, in turn."""
    names = [f"fleet-{number}" for number in range(FLEET)]
    with closing(open_store(store)) as opened:
        for name in names:
            Study.create_from(name, setup, opened)
    with serving(store) as port:
        single, together = asyncio.run(_fleet(port, names))
    return Finding(
        f"batches of {FLEET} studies: at least 3 times the rate of single calls",
        f"{single / together:.1f} times: {FLEET / together:.0f} and {FLEET / single:.0f} results "
        "with their next ask per second",
        single >= 3.0 * together,
    )


async def _fleet(port: int, names: list[str]) -> tuple[float, float]:
    """Median seconds to tell all studies a result and ask each for the next point."""
    connection = await Connection.to(port)
    asks = [await connection.post(f"/api/studies/{name}/ask", {}) for name in names]
    seconds = np.zeros((ROUNDS + WARM_ROUNDS, 2))
    for number in range(len(seconds)):
        for column, tell in enumerate((_one_by_one, _at_once)):
            bodies = [
                {"id": ask["id"], "value": (number + place) % 7 / 7, "ask": {}}
                for place, ask in enumerate(asks)
            ]
            started = perf_counter()
            asks = await tell(connection, names, bodies)
            seconds[number, column] = perf_counter() - started
    connection.close()
    single, together = np.median(seconds[WARM_ROUNDS:], axis=0)
    return float(single), float(together)


async def _one_by_one(connection: Connection, names: list[str], bodies: list[Any]) -> list[Any]:
    pairs = zip(names, bodies, strict=True)
    answers = [await connection.post(f"/api/studies/{name}/tell", body) for name, body in pairs]
    return [answer["ask"] for answer in answers]


async def _at_once(connection: Connection, names: list[str], bodies: list[Any]) -> list[Any]:
    commands = [
        {"study": name, "verb": "tell", "body": body}
        for name, body in zip(names, bodies, strict=True)
    ]
    answers = (await connection.post("/api/batch", {"commands": commands}))["answers"]
    return [one["answer"]["ask"] for one in answers]


@contextmanager
def as_port(service: Any, port_of: Callable[[Any], int]) -> Iterator[int]:
    """The port of a running service."""
    with service as running:
        yield port_of(running)
