"""What is left undone when the service stops is said to be so."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope.service.refusals import answer

_SOON = "3"  # seconds until another process may have taken over


class Stopping:
    """An ASGI application that answers the requests which the server gives up as it stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; if it is given up before its answer has begun, have it sent again."""
        begun = False

        async def send_noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if begun or scope["type"] != "http":
                raise
            said = "The service stops. Nobody knows whether this was done: send it again."
            response = answer(503, "stopping", said, headers={"Retry-After": _SOON})
            await response(scope, receive, send)
