"""The application: studies behind a guard, measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI, Response

from heliotrope import __version__
from heliotrope.service import pages, schemas
from heliotrope.service.bodies import StrictRoute
from heliotrope.service.demos import Demos
from heliotrope.service.guard import Guard
from heliotrope.service.metrics import Measured, Metrics
from heliotrope.service.refusals import add_handlers
from heliotrope.service.routes import Api
from heliotrope.service.settings import Limits, Settings, handed_on
from heliotrope.service.stopping import Stopping
from heliotrope.service.studies import Journal, Studies
from heliotrope.service.watching import Watch
from heliotrope.storage import open_store

_THREADS = 200  # requests that wait for the disk together
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


def create_app(
    store: str,
    *,
    tokens: Sequence[str] = (),
    hosts: Sequence[str] = Settings.hosts,
    demo: bool = True,
    limits: Limits | None = None,
) -> FastAPI:
    """The service of a store as an ASGI application.

    Parameters
    ----------
    store
        Its URL: sqlite:///file.db, postgresql://..., memory:
    tokens
        Bearer tokens, one of which a client has to have; without any all are let in.
    hosts
        Names by which the service may be called; "*" is any.
    demo
        Whether clients may start a study that the service drives itself.
    """
    return app_of(Settings(store, tuple(tokens), tuple(hosts), demo, limits or Limits()))


def from_parent() -> FastAPI:
    """The application of a worker process, by the settings that its parent left."""
    return app_of(handed_on())


def app_of(settings: Settings) -> FastAPI:
    """The application of some settings."""
    store = open_store(settings.store)
    metrics, watch = Metrics(), Watch(store, settings.limits.streams)
    journal = Journal(store, watch.written, metrics.conflicts.inc)
    studies = Studies(store, journal, settings.limits, metrics.studies.set)
    demos = Demos(studies, settings.limits.demos) if settings.demo else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        watch.start()
        yield
        await watch.stop()
        if demos is not None:
            demos.close()
        journal.close()
        store.close()

    app = FastAPI(
        title="Heliotrope",
        summary="Find what is best now, of a noisy function that keeps changing.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # pages that load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,
    )
    add_handlers(app)
    app.router.route_class = StrictRoute
    Api(studies, watch, demos, metrics).add_to(app.router)
    app.include_router(pages.router)

    @app.get("/healthz", response_model=schemas.Health)
    def healthz() -> dict[str, str]:
        """Say that the service runs and reaches its store."""
        store.studies(limit=1)
        return {"status": "ok", "version": __version__}

    @app.get("/metrics", response_model=None, responses={200: {"content": {_METRICS: {}}}})
    def numbers() -> Response:
        """Say how the service does, in Prometheus' own form."""
        return Response(metrics.text(), media_type=_METRICS)

    app.add_middleware(Stopping)
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Measured, metrics=metrics)
    return app
