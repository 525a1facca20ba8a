"""Checks that a request passes before the application sees it.

In this order: host name, token, origin, content type, size of the body.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope.service.errors import RequestError, response_to
from heliotrope.service.settings import ANY_HOST, Settings

_OPEN = ("/", "/healthz", "/openapi.json")  # need no token: they reveal nothing about a study
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
        self._tokens = Tokens(settings.tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with the reason of its rejection."""
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
                receive = await self._received(receive)
        except RequestError as error:
            headers = {"Connection": "close"}  # the rest of the request is not read
            if error.status == 401:
                headers["WWW-Authenticate"] = "Bearer"
            await response_to(error, headers)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        path = scope["path"]
        if path not in _OPEN and not path.startswith(_OPEN_BELOW):
            if not self._tokens.accept(headers.get("authorization", "")):
                raise RequestError(
                    401, "no_token", "the header Authorization: Bearer TOKEN", "no valid token"
                )
            _check_origin(headers, reading=scope["method"] in _READING)
        if scope["method"] == "POST":  # the one writing method that browsers send cross-site
            _check_type(headers)

    def _check_host(self, headers: Headers) -> None:
        given = headers.getlist("host")
        if len(given) != 1 or not self._is_ours(given[0]):
            raise RequestError(
                403,
                "host",
                "a name of this service in the header Host",
                "another name",
                "Start the service with --allow-host NAME.",
            )

    def _is_ours(self, host: str) -> bool:
        if ANY_HOST in self._hosts:
            return True
        try:
            return urlsplit(f"//{host}").hostname in self._hosts
        except ValueError:
            return False

    async def _received(self, receive: Receive) -> Receive:
        """Read the whole body, within the limits of time and size."""
        seconds = self._limits.patience
        try:
            async with asyncio.timeout(seconds):
                body = await _read(receive, self._limits.body)
        except TimeoutError:
            expected = f"the whole request within {seconds:g} s"
            raise RequestError(408, "slow", expected, "a part of it") from None
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Message:
            return next(messages, None) or await receive()

        return replay


class Tokens:
    """Bearer tokens, compared in constant time."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = [_digest(token) for token in tokens]

    def accept(self, header: str) -> bool:
        """Whether the header Authorization holds a valid token, or none is required."""
        if not self._digests:
            return True
        scheme, _, token = header.partition(" ")
        given = _digest(token)
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        return scheme.lower() == "bearer" and any(matches)


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _check_origin(headers: Headers, *, reading: bool) -> None:
    """Reject requests that a browser sends for a page of another site."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    foreign = origin is not None and origin.partition("://")[2].lower() != headers["host"].lower()
    if site == "cross-site" or (foreign and not reading):
        raise RequestError(
            403, "cross_site", "a request from this site", "one from a page of another site"
        )


def _check_type(headers: Headers) -> None:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RequestError(
            415, "not_json", "the header Content-Type: application/json", "another content type"
        )


async def _read(receive: Receive, most: int) -> bytes:
    chunks, length, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestError(400, "cut_off", "a complete request", "a part of it")
        chunks.append(message.get("body", b""))
        length += len(chunks[-1])
        if length > most:
            expected = f"a request of at most {most:,} bytes"
            raise RequestError(413, "too_large", expected, "a larger one", field="body")
        more = message.get("more_body", False)
    return b"".join(chunks)
