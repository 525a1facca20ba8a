"""The end of the service: answers to requests that are cut off, and an end that always comes."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from threading import Thread

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope.service.errors import RequestError, log, response_to

_RETRY_AFTER = "3"  # seconds until another process may have taken over
_PATIENCE = 10.0  # seconds for the last writes, of which none was acknowledged
_POLL = 1.0  # seconds between two looks for the supervisor


class ShutdownMiddleware:
    """ASGI middleware that answers 503 to the requests which the server cancels when it stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            advice = "The request may or may not have been carried out. Send it again."
            got = "a service that is shutting down"
            error = RequestError(503, "stopping", "a running service", got, advice)
            await response_to(error, {"Retry-After": _RETRY_AFTER})(scope, receive, send)


def end_soon(seconds: float = _PATIENCE) -> None:
    """End this process after some seconds even if a thread waits for a silent store."""

    def end() -> None:
        time.sleep(seconds)
        log.error("The store did not answer: the service ends without its last writes.")
        os._exit(1)

    _in_background(end)


def end_with(supervisor: int) -> None:
    """Stop this process when the process that supervises it is gone."""

    def watch() -> None:
        while os.getppid() == supervisor:
            time.sleep(_POLL)
        os.kill(os.getpid(), signal.SIGTERM)

    _in_background(watch)


def _in_background(work: Callable[[], None]) -> None:
    Thread(target=work, daemon=True).start()
