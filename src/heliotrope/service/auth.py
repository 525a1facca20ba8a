"""Checks that a request passes before the application sees it.

In this order: host name, token, origin, content type, size of the body.
"""

import asyncio
import hmac
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope.service import Settings
from heliotrope.service.errors import RequestError, response_to

ANY_HOST = "*"
# these need no token: they reveal nothing about a study
_OPEN = ("/", "/docs", "/healthz", "/openapi.json")
_OPEN_BELOW = ("/static/", "/studies/")
_READING = ("GET", "HEAD", "OPTIONS")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class AuthMiddleware:
    """ASGI middleware that rejects requests without the right token, host or origin."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._limits = app, settings.limits
        self._hosts = frozenset(host.lower().strip("[]") for host in settings.hosts)
        self._digests = [digest(token) for token in settings.tokens]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            if scope["method"] not in _READING:
                receive = await self._received(scope, receive)
        except RequestError as error:
            headers = {"Connection": "close"}  # the rest of the request is not read
            if error.status == 401:
                headers["WWW-Authenticate"] = "Bearer"
            await response_to(error, headers)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        if not self._is_ours(headers.getlist("host")):
            expected = "a name of this service in the header Host"
            advice = "Start the service with --allow-host NAME."
            raise RequestError(403, "host", expected, "another name", advice)
        if path not in _OPEN and not path.startswith(_OPEN_BELOW):
            if not is_accepted(headers.get("authorization", ""), self._digests):
                expected = "the header Authorization: Bearer TOKEN"
                raise RequestError(401, "no_token", expected, "no valid token")
            if _is_foreign(headers, reading=method in _READING):
                got = "one from a page of another site"
                raise RequestError(403, "cross_site", "a request from this site", got)
        if method == "POST" and not _is_json(headers):  # browsers send no other method cross-site
            expected = "the header Content-Type: application/json"
            raise RequestError(415, "not_json", expected, "another content type")

    def _is_ours(self, hosts: Sequence[str]) -> bool:
        if len(hosts) != 1:
            return False
        try:
            return ANY_HOST in self._hosts or urlsplit(f"//{hosts[0]}").hostname in self._hosts
        except ValueError:
            return False

    async def _received(self, scope: Scope, receive: Receive) -> Receive:
        """Read the whole body, within the limits of time and size."""
        seconds, most, body = self._limits.patience, self._limits.body, bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for chunk in Request(scope, receive).stream():
                    body += chunk
                    if len(body) > most:
                        expected = f"a request of at most {most:,} bytes"
                        raise RequestError(413, "too_large", expected, "a larger one", field="body")
        except TimeoutError:
            expected = f"the whole request within {seconds:g} s"
            raise RequestError(408, "slow", expected, "a part of it") from None
        except ClientDisconnect:
            raise RequestError(400, "cut_off", "a complete request", "a part of it") from None
        messages = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def replay() -> Message:
            return next(messages, None) or await receive()

        return replay


def digest(token: str) -> bytes:
    """A hash of a token."""
    return sha256(token.encode()).digest()


def is_accepted(header: str, digests: Sequence[bytes]) -> bool:
    """Whether the header Authorization holds a token with one of these digests, if there are any.

    Each comparison takes constant time, and all are made.
    """
    scheme, _, token = header.partition(" ")
    sent = digest(token)
    matches = [hmac.compare_digest(sent, accepted) for accepted in digests]
    return not digests or (scheme.lower() == "bearer" and any(matches))


def _is_foreign(headers: Headers, *, reading: bool) -> bool:
    """Whether a browser sends the request for a page of another site."""
    origin = headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2].lower() != headers["host"].lower()
    return headers.get("sec-fetch-site") == "cross-site" or (foreign and not reading)


def _is_json(headers: Headers) -> bool:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json"
