"""What a request has to pass before anything of it is looked at.

In this order: the name by which the service was called, the token, the site that the request comes
from, what the body says it is, and its size.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope.service.refusals import Refusal, answer
from heliotrope.service.settings import ANY_HOST, Settings

_OPEN = ("/", "/healthz", "/openapi.json")  # without a token: nothing of a study is there
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


class Guard:
    """An ASGI application in front of another."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._limits = app, settings.limits
        self._hosts = frozenset(host.lower().strip("[]") for host in settings.hosts)
        self._tokens = Tokens(settings.tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            if scope["method"] not in _READING:
                receive = await self._received(receive)
        except Refusal as error:
            headers = {"Connection": "close"}  # whatever else comes on it is not wanted
            if error.status_code == 401:
                headers["WWW-Authenticate"] = "Bearer"
            response = answer(error.status_code, error.code, error.detail, error.field, headers)
            await response(scope, receive, send_safely)
            return
        await self._app(scope, receive, send_safely)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        path = scope["path"]
        if path not in _OPEN and not path.startswith(_OPEN_BELOW):
            if not self._tokens.accept(headers.get("authorization", "")):
                raise Refusal(401, "no_token", "The header Authorization: Bearer TOKEN is needed.")
            _check_origin(headers, reading=scope["method"] in _READING)
        if scope["method"] == "POST":  # all others that change something no page sends elsewhere
            _check_type(headers)

    def _check_host(self, headers: Headers) -> None:
        given = headers.getlist("host")
        if len(given) != 1 or not self._is_ours(given[0]):
            raise Refusal(
                403, "host", "The service goes by another name than the header Host says."
            )

    def _is_ours(self, host: str) -> bool:
        if ANY_HOST in self._hosts:
            return True
        try:
            return urlsplit(f"//{host}").hostname in self._hosts
        except ValueError:
            return False

    async def _received(self, receive: Receive) -> Receive:
        """Take the whole body, if it comes soon enough and is not too large."""
        try:
            async with asyncio.timeout(self._limits.patience):
                body = await _read(receive, self._limits.body)
        except TimeoutError:
            raise Refusal(408, "slow", "The rest of the request did not come.") from None
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Message:
            return next(messages, None) or await receive()

        return replay


class Tokens:
    """Bearer tokens, compared in a time that says nothing about them."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = [_digest(token) for token in tokens]

    def accept(self, header: str) -> bool:
        """Whether the header Authorization has one of them, or there are none."""
        if not self._digests:
            return True
        scheme, _, token = header.partition(" ")
        given = _digest(token)
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        return scheme.lower() == "bearer" and any(matches)


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _check_origin(headers: Headers, *, reading: bool) -> None:
    """Refuse what a page of another site has a browser send."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    foreign = origin is not None and origin.partition("://")[2].lower() != headers["host"].lower()
    if site == "cross-site" or (foreign and not reading):
        raise Refusal(403, "cross_site", "A page of another site may not use the service.")


def _check_type(headers: Headers) -> None:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refusal(415, "not_json", "The header Content-Type has to be application/json.")


async def _read(receive: Receive, most: int) -> bytes:
    chunks, length, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "cut_off", "The rest of the request did not come.")
        chunks.append(message.get("body", b""))
        length += len(chunks[-1])
        if length > most:
            raise Refusal(413, "too_large", f"A request may have at most {most:,} bytes.", "body")
        more = message.get("more_body", False)
    return b"".join(chunks)
