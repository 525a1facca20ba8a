"""The service as an ASGI application."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from heliotrope.linalg import one_thread
from heliotrope.service import Limits, Settings, pages
from heliotrope.service.auth import AuthMiddleware
from heliotrope.service.connections import PiecesMiddleware
from heliotrope.service.errors import HANDLERS
from heliotrope.service.memory import return_large_arrays
from heliotrope.service.metrics import Health, Metrics, MetricsMiddleware
from heliotrope.service.routes import Api
from heliotrope.service.routing import openapi_document, routes_of
from heliotrope.service.running import ShutdownMiddleware, end_soon, end_with, inherited_settings
from heliotrope.service.streaming import EventStreams
from heliotrope.service.studies import Demos, Studies
from heliotrope.storage import GroupCommit, open_store
from heliotrope.study.estimators import Estimators
from heliotrope.surroundings import REAL, Surroundings

_THREADS = 200  # requests that may wait for the disk at a time


def create_app(
    store: str,
    *,
    tokens: Sequence[str] = (),
    hosts: Sequence[str] = Settings.hosts,
    demo: bool = True,
    estimators: int | None = None,
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
    estimators
        Number of processes beside the service that estimate models. With 0 another process of the
        store has to, such as ``heliotrope estimate``. By default the requests estimate.
    """
    settings = Settings(store, tuple(tokens), tuple(hosts), demo, estimators, limits or Limits())
    return app_from(settings)


def worker_app() -> Starlette:
    """The application of a worker process, with the settings of its parent."""
    return_large_arrays()
    settings, supervisor = inherited_settings()
    if supervisor is not None:
        end_with(supervisor)
    return app_from(settings, stopping=end_soon)


def app_from(
    settings: Settings,
    stopping: Callable[[], None] = lambda: None,
    surroundings: Surroundings = REAL,
) -> Starlette:
    """The application with these settings; ``stopping`` is called before the last writes."""
    store = open_store(settings.store, surroundings=surroundings)
    metrics, streams = Metrics(), EventStreams(store, settings.limits.streams)
    journal = GroupCommit(store, written=streams.notify, conflict=metrics.conflicts.inc)
    estimators = None if settings.estimators is None else Estimators(settings.estimators)
    studies = Studies(
        store, journal, settings.limits, metrics.studies.set, estimators, surroundings
    )
    demos = Demos(studies, settings.limits.demos) if settings.demo else None

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        gc.freeze()  # a full collection of all imported modules takes 50 ms of a request
        with one_thread():  # requests have threads of their own
            async with streams.polling():
                yield
        stopping()
        if demos is not None:
            demos.close()
        if estimators is not None:
            estimators.close()
        journal.close()
        store.close()

    operations = Api(studies, streams, demos, metrics, Health(store)).operations()
    document = bytes(JSONResponse(openapi_document(operations)).body)  # all requests share it
    openapi = Route("/openapi.json", lambda _: Response(document, media_type="application/json"))
    routes = [*routes_of(operations), openapi, *pages.ROUTES]
    paths = {route.endpoint: route.path for route in routes}
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(PiecesMiddleware),
            Middleware(MetricsMiddleware, metrics, paths),
            Middleware(AuthMiddleware, settings),
            Middleware(ShutdownMiddleware),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app
