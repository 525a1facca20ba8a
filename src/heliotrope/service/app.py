"""The service as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope import __version__
from heliotrope.service import pages
from heliotrope.service.auth import AuthMiddleware
from heliotrope.service.demos import Demos
from heliotrope.service.errors import RequestError, add_handlers, response_to
from heliotrope.service.metrics import Metrics, MetricsMiddleware
from heliotrope.service.openapi import document
from heliotrope.service.routes import Api
from heliotrope.service.routing import Endpoint, LabelledRoute, Operation
from heliotrope.service.settings import Limits, Settings, inherited_settings
from heliotrope.service.streaming import EventStreams
from heliotrope.service.studies import Studies
from heliotrope.storage import GroupCommit, Store, open_store

_THREADS = 200  # requests that may wait for the disk at a time
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_RETRY_AFTER = "3"  # seconds until another process may have taken over


def create_app(
    store: str,
    *,
    tokens: Sequence[str] = (),
    hosts: Sequence[str] = Settings.hosts,
    demo: bool = True,
    limits: Limits | None = None,
) -> Starlette:
    """The service of a store as an ASGI application.

    Parameters
    ----------
    store
        URL of the store: sqlite:///file.db, postgresql://..., memory:
    tokens
        Bearer tokens; a client has to send one of them. Without any, every client is accepted.
    hosts
        Host names of the service; "*" allows any.
    demo
        Whether clients may start studies that the service drives itself.
    """
    return app_from(Settings(store, tuple(tokens), tuple(hosts), demo, limits or Limits()))


def worker_app() -> Starlette:
    """The application of a worker process, with the settings of its parent."""
    return app_from(inherited_settings())


def app_from(settings: Settings) -> Starlette:
    """The application with these settings."""
    store = open_store(settings.store)
    metrics, streams = Metrics(), EventStreams(store, settings.limits.streams)
    journal = GroupCommit(store, written=streams.notify, conflict=metrics.conflicts.inc)
    studies = Studies(store, journal, settings.limits, metrics.studies.set)
    demos = Demos(studies, settings.limits.demos) if settings.demo else None

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        streams.start()
        yield
        await streams.stop()
        if demos is not None:
            demos.close()
        journal.close()
        store.close()

    endpoints = [*Api(studies, streams, demos, metrics).endpoints(), *_monitoring(store, metrics)]
    described = document(endpoints)

    async def openapi(_: Request) -> Response:
        return JSONResponse(described)

    app = Starlette(
        routes=[
            *(LabelledRoute(endpoint.path, endpoint) for endpoint in endpoints),
            LabelledRoute("/openapi.json", openapi),
            *pages.ROUTES,
        ],
        middleware=[
            Middleware(MetricsMiddleware, metrics=metrics),
            Middleware(AuthMiddleware, settings=settings),
            Middleware(ShutdownMiddleware),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    add_handlers(app)
    return app


def _monitoring(store: Store, counters: Metrics) -> list[Endpoint]:
    def health() -> Response:
        """Check that the service runs and reaches its store."""
        store.studies(limit=1)
        return JSONResponse({"status": "ok", "version": __version__})

    def metrics() -> Response:
        """Export metrics in the Prometheus text format."""
        return Response(counters.text(), media_type=_METRICS)

    return [
        Endpoint("/healthz", Operation("GET", health, "Health")),
        Endpoint("/metrics", Operation("GET", metrics, None, media_type=_METRICS)),
    ]


class ShutdownMiddleware:
    """ASGI middleware that answers the requests which the server cancels when it stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; if it is cancelled before its answer starts, answer 503."""
        started = False

        async def send_noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if started or scope["type"] != "http":
                raise
            error = RequestError(
                503,
                "stopping",
                "a running service",
                "a service that is shutting down",
                "The request may or may not have been carried out. Send it again.",
            )
            await response_to(error, {"Retry-After": _RETRY_AFTER})(scope, receive, send)
