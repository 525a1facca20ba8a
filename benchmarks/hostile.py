"""Clients that send nothing, half a header, or headers without end; and those that fill memory."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from time import perf_counter

import httpx
import numpy as np
import psutil

from benchmarks import hostile_memory
from benchmarks.report import Finding

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from served import Served

FILES = 1024
REQUESTS = 200
START = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def findings() -> Iterator[Finding]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Served(f"sqlite:///{folder}/a.db", files=FILES) as service,
    ):
        for name, attack in {
            "1,100 silent connections": _silent,
            "300 half-sent header blocks": _half_sent,
            "endless headers, again and again": _endless,
        }.items():
            yield _finding(service, name, attack)
    yield from hostile_memory.findings()


def _finding(service: Served, name: str, attack: Callable[[Served, ExitStack], None]) -> Finding:
    usual, before = _seconds(service), _megabytes(service)
    with ExitStack() as stack:
        attack(service, stack)
        attacked, grown = _seconds(service), _megabytes(service) - before
    return Finding(
        f"{name}: others are answered within twice the usual time, memory grows by less than 50 MB",
        f"{attacked / usual:.2f} times ({1e3 * attacked:.1f} ms), {grown:.0f} MB",
        attacked <= 2.0 * usual and grown < 50.0,
    )


def _seconds(service: Served) -> float:
    """Median seconds of a request on an open connection."""
    seconds = []
    with httpx.Client(base_url=service.url, timeout=60.0) as client:
        for _ in range(REQUESTS):
            started = perf_counter()
            client.get("/openapi.json").raise_for_status()
            seconds.append(perf_counter() - started)
    return float(np.median(seconds))


def _megabytes(service: Served) -> float:
    return float(psutil.Process(service.process.pid).memory_info().rss / 1e6)


def _connected(service: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=10.0)


def _silent(service: Served, stack: ExitStack) -> None:
    for _ in range(FILES + 76):
        stack.enter_context(_connected(service))


def _half_sent(service: Served, stack: ExitStack) -> None:
    for _ in range(300):
        stack.enter_context(_connected(service)).sendall(START)


def _endless(service: Served, stack: ExitStack) -> None:
    stop = Event()

    def flood() -> None:
        while not stop.wait(0.02):
            with suppress(OSError), _connected(service) as client:
                client.sendall(START + b"X-Endless: " + b"x" * 2_000_000)

    thread = Thread(target=flood)
    thread.start()
    stack.callback(thread.join)
    stack.callback(stop.set)
