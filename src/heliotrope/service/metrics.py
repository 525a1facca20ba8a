"""What an operator watches: metrics for Prometheus, and the health check."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope.errors import StoreError
from heliotrope.storage import Store
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Add, Ask, Tell

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # variable with the folder that the workers share
_LABELS = ("method", "route", "status")
_PATIENCE = 5.0  # seconds until a silent store counts as failed
_FRESH = 1.0  # seconds for which a success is valid: checks need no token, and a write takes a sync
_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Metrics:
    """The counters, histograms and gauges."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "heliotrope_requests", "Requests answered.", _LABELS, registry=registry
        )
        self.seconds = Histogram(
            "heliotrope_request_seconds",
            "Time to answer a request; of a stream, until its end.",
            _LABELS[:2],
            registry=registry,
            buckets=_SECONDS,
        )
        self.asks = Counter("heliotrope_asks", "Evaluations suggested.", registry=registry)
        self.tells = Counter("heliotrope_tells", "Results recorded.", registry=registry)
        self.conflicts = Counter(
            "heliotrope_conflicts", "Writes repeated after a conflict.", registry=registry
        )
        self.studies = Gauge(
            "heliotrope_studies_in_memory",
            "Studies held in memory.",
            registry=registry,
            multiprocess_mode="livesum",
        )

    def count(self, command: Command[Any]) -> None:
        """Count a command that was carried out."""
        if isinstance(command, Ask) or (isinstance(command, Tell) and command.ask is not None):
            self.asks.inc()
        if isinstance(command, (Tell, Add)):
            self.tells.inc()

    def text(self) -> bytes:
        """The metrics of all worker processes, in the Prometheus text format."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        forget_dead_workers(Path(os.environ[FOLDER]))
        combined = CollectorRegistry()
        MultiProcessCollector(combined)  # type: ignore[no-untyped-call]
        return generate_latest(combined)


def forget_dead_workers(folder: Path) -> None:
    """Remove the gauges of workers that were killed; their counters stay."""
    for file in folder.glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]


class MetricsMiddleware:
    """ASGI middleware that counts and times the requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Mapping[Any, str]) -> None:
        self._app, self._metrics = app, metrics
        self._paths = paths  # by endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, perf_counter()

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        finally:
            # a label must not be a client's own text
            route = self._paths.get(scope.get("endpoint"), "none")
            method = scope["method"] if route != "none" else "any"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(method, route).observe(perf_counter() - started)


class Health:
    """Whether the store accepts writes; simultaneous checks share one write."""

    def __init__(self, store: Store, patience: float = _PATIENCE) -> None:
        self._store, self._patience = store, patience
        self._probe: asyncio.Future[None] | None = None
        self._started = 0.0

    async def check(self) -> None:
        """Return if a write succeeds; StoreError if it fails, or takes too long."""
        loop = asyncio.get_running_loop()
        if self._probe is None or (self._probe.done() and not self._is_fresh(self._probe)):
            self._started = monotonic()
            self._probe = asyncio.ensure_future(loop.run_in_executor(None, self._store.probe))
            self._probe.add_done_callback(lambda done: done.exception())  # somebody looked at it
        finished, _ = await asyncio.wait([self._probe], timeout=self._patience)
        if not finished:
            raise StoreError(f"a store that writes within {self._patience:g} s", "a silent one")
        self._probe.result()

    def _is_fresh(self, probe: asyncio.Future[None]) -> bool:
        return probe.exception() is None and monotonic() - self._started < _FRESH
