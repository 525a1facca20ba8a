"""Clients that try to fill the memory of the service: they never read, or use large studies."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event, Thread
from time import monotonic, perf_counter, sleep

import httpx
import psutil

from benchmarks.report import Finding

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from served import Served

TOKEN = "correct-horse-battery-staple"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
FILES = (1024, 8192)
READERS, READING = 600, 25.0  # connections that never read, and seconds
OPTIONS, STUDIES, AT_ONCE = 2_000, 8, 6
MEGABYTES, SECONDS = 500.0, 1.0  # allowed


def findings() -> Iterator[Finding]:
    for files in FILES:
        for header in ("", "Accept-Encoding: gzip\r\n"):
            with _served(files) as service:
                yield _readers(service, header, files)
    with _served(FILES[0]) as service:
        yield from _large_studies(service)


@contextmanager
def _served(files: int) -> Iterator[Served]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Served(f"sqlite:///{folder}/a.db", TOKEN, files=files) as service,
    ):
        yield service


@dataclass
class _Watch:
    """The slowest health check and the most memory while it runs, in a thread."""

    service: Served
    start: float = 0.0  # megabytes
    slowest: float = 0.0
    most: float = 0.0
    failed: int = 0

    def __post_init__(self) -> None:
        self._process = psutil.Process(self.service.process.pid)
        self.start = self.start or self._megabytes()
        self._stop = Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [Thread(target=self._probe), Thread(target=self._weigh)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def finding(self, claim: str, detail: str = "") -> Finding:
        grown = self.most - self.start
        return Finding(
            f"{claim}: memory grows by at most {MEGABYTES:.0f} MB, others are answered within 1 s",
            f"{grown:.0f} MB, {self.slowest:.2f} s, {self.failed} failed{detail}",
            grown <= MEGABYTES and self.slowest <= SECONDS and not self.failed,
        )

    def _probe(self) -> None:
        while not self._stop.wait(0.25):
            started = perf_counter()
            try:
                httpx.get(f"{self.service.url}/healthz", timeout=30.0).raise_for_status()
            except httpx.HTTPError:
                self.failed += 1
            self.slowest = max(self.slowest, perf_counter() - started)

    def _weigh(self) -> None:
        while not self._stop.wait(0.05):
            self.most = max(self.most, self._megabytes())

    def _megabytes(self) -> float:
        return float(self._process.memory_info().rss / 1e6)


def _readers(service: Served, header: str, files: int) -> Finding:
    request = f"GET /static/plotly.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n".encode()
    watch = _Watch(service)
    with watch.running(), ExitStack() as stack:
        end = monotonic() + READING
        for _ in range(READERS):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.settimeout(10.0)
            with suppress(OSError):
                client.connect(("127.0.0.1", service.port))
                client.sendall(request)
        sleep(max(end - monotonic(), 0.0))
    packed = "compressed" if header else "plain"
    return watch.finding(f"{READERS} readers of a {packed} file that never read, {files} files")


def _large_studies(service: Served) -> Iterator[Finding]:
    statuses: list[int] = []
    names = [f"large {number}" for number in range(STUDIES)]
    with httpx.Client(base_url=service.url, headers=HEADERS, timeout=300.0) as client:
        watch = _Watch(service)
        with watch.running():
            for first in range(0, STUDIES, AT_ONCE):
                _at_once(
                    [partial(_use, client, name, statuses) for name in names[first:][:AT_ONCE]]
                )
        yield watch.finding(
            f"{AT_ONCE} studies of {OPTIONS:,} options at once", f"; {_counted(statuses)}"
        )
        watch = _Watch(service, start=watch.start)
        with watch.running():
            asks = [{"study": name, "verb": "ask", "body": {}} for name in names]
            batch = client.post("/api/batch", json={"commands": asks})
        answers = [answer["status"] for answer in batch.json()["answers"]]
        yield watch.finding(f"a batch of {STUDIES} asks of them", f"; {_counted(answers)}")


def _use(client: httpx.Client, name: str, statuses: list[int]) -> None:
    options = [f"option {number}" for number in range(OPTIONS)]
    created = client.post("/api/studies", json={"name": name, "options": options})
    statuses.append(created.status_code)
    for step in range(2):
        asked = client.post(f"/api/studies/{name}/ask", json={})
        statuses.append(asked.status_code)
        if asked.is_success:
            result = {"id": asked.json()["id"], "value": float(step)}
            told = client.post(f"/api/studies/{name}/tell", json=result)
            statuses.append(told.status_code)


def _at_once(actions: list[Callable[[], None]]) -> None:
    threads = [Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _counted(statuses: list[int]) -> str:
    return ", ".join(f"{statuses.count(status)} times {status}" for status in sorted({*statuses}))
