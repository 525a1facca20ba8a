"""Numbers about the service for Prometheus."""

from __future__ import annotations

import os
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where worker processes keep theirs, to be added up
_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Metrics:
    """What is counted."""

    def __init__(self) -> None:
        self._registry = here = CollectorRegistry()
        self.requests = Counter(
            "heliotrope_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=here,
        )
        self.seconds = Histogram(
            "heliotrope_request_seconds",
            "Time until a request was answered; of a stream, until it ended.",
            ["method", "route"],
            registry=here,
            buckets=_SECONDS,
        )
        self.asks = Counter("heliotrope_asks", "Asks answered.", registry=here)
        self.tells = Counter("heliotrope_tells", "Results taken.", registry=here)
        self.conflicts = Counter(
            "heliotrope_conflicts", "Writes done again: another process came first.", registry=here
        )
        self.studies = Gauge(
            "heliotrope_studies_in_memory",
            "Studies held in memory.",
            registry=here,
            multiprocess_mode="livesum",
        )

    def text(self) -> bytes:
        """Everything, of all worker processes, in Prometheus' own form."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


class Measured:
    """An ASGI application that counts what another one answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it by its route: what clients make up is no label."""
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
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if route != "none" else "any"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(method, route).observe(perf_counter() - started)
