"""Limits of connections whose client sends no request, an endless one, or reads no answer.

Such clients need no token, so they are limited before any of the application runs: the size, the
number and the time of headers, the time to read a part of an answer, and the number of connections.
When there are too many, those without a request or with an unread answer give way.

An answer is sent in pieces. The next one follows when the system has taken the piece before, so a
connection holds at most one piece here and one in the system. A client that does not take it in
time is cut off: that is the least rate of every answer, also of a stream and of what is left when a
connection closes.

======  =======  ==========  ==============================
piece   seconds  least rate  held by 2,000 that never read
======  =======  ==========  ==============================
8 kB    10       0.8 kB/s    16 MB, four times the calls
32 kB   10       3.3 kB/s    66 MB
128 kB  10       13 kB/s     262 MB
======  =======  ==========  ==============================
"""

import asyncio
import socket
import sys
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if sys.platform != "win32":
    import resource

HEADER_BYTES = 32_768  # of the request line and all headers
HEADERS = 100
HEADER_SECONDS = 10.0  # from the first byte, or from connecting
PIECE = 32_768  # bytes of an answer that are handed over at a time
PIECE_SECONDS = 10.0  # for the client to read them
CONNECTIONS = 2_000
_FILES = 400  # kept free for the store and the pages
_FRAMING = 262_144  # bytes of a chunked body besides its content; a read may hold another request
_FRAMING_PER_BYTE = 8  # a chunk of one byte takes six more

_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


def most_connections() -> int:
    """The number of connections that this process accepts, given its limit of open files."""
    if sys.platform == "win32":
        return CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return CONNECTIONS
    return min(CONNECTIONS, max(files - _FILES, files // 2))


def _limit_unsent(transport: asyncio.Transport) -> None:
    """Let the system hold one unsent piece instead of up to 4 MB, besides what is under way."""
    connection = transport.get_extra_info("socket")
    if connection is not None and hasattr(socket, "TCP_NOTSENT_LOWAT"):
        with suppress(OSError):  # a socket of another family, or an older system
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, PIECE)


class PiecesMiddleware:
    """ASGI middleware that sends the body of an answer in pieces, each when the last is taken."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            last = max(len(body) - 1, 0) // PIECE * PIECE  # where the last piece begins
            for start in range(0, last, PIECE):
                piece = body[start : start + PIECE]
                await send({"type": message["type"], "body": piece, "more_body": True})
            await send({**message, "body": body[last:]} if last else message)

        await self._app(scope, receive, send_pieces)


class Waiting:
    """The connections of this process that wait for their client, oldest first."""

    def __init__(self) -> None:
        self.new: dict[GuardedProtocol, float] = {}  # without any request, and since when
        self.unread: dict[GuardedProtocol, float] = {}  # with a piece that the client has to read
        self.idle: dict[GuardedProtocol, None] = {}  # answered, without a next request

    def end(self, connection: "GuardedProtocol") -> None:
        """Note that a connection has sent a request, or is lost."""
        self.new.pop(connection, None)
        self.idle.pop(connection, None)

    def first(self) -> "GuardedProtocol":
        """The one to close: the oldest without a request or with an unread answer, or else idle."""
        oldest = [next(iter(group.items())) for group in (self.new, self.unread) if group]
        return min(oldest, key=lambda item: item[1])[0] if oldest else next(iter(self.idle))


_waiting = Waiting()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits of headers, of unread answers and of connections."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._in_body = self._refused = False
        self._header_bytes = self._received = self._framing = self._body = 0

    # ---- connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # anything unread pauses the answer
        _limit_unsent(transport)
        _waiting.new[self] = self.loop.time()
        self._start_deadline()
        if len(self.connections) > most_connections():
            _waiting.first().transport.abort()  # it may be this one

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        self._note_read()
        _waiting.end(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline:
            _waiting.idle[self] = None

    # ---- writing

    def pause_writing(self) -> None:
        """Give the client some seconds for the piece that the system has not taken."""
        super().pause_writing()
        _waiting.unread[self] = self.loop.time()
        self._unread = self.loop.call_later(PIECE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._note_read()
        super().resume_writing()

    def _note_read(self) -> None:
        _waiting.unread.pop(self, None)
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    # ---- reading

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if not self._in_body:
            self._received += len(data)
            self._start_deadline()
        before = self._body
        super().data_received(data)
        if self._in_body:
            self._framing += len(data) - (self._body - before)
            if self._framing > _FRAMING + _FRAMING_PER_BYTE * self._body:
                self._refuse(431)
        elif self._received > HEADER_BYTES:
            self._refuse(431)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = self._framing = self._body = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        if not self._in_body:  # fields after a chunked body are no headers
            super().on_header(name, value)
            if len(self.headers) > HEADERS:
                self._refuse(431)

    def on_headers_complete(self) -> None:
        self._in_body, self._received = True, 0
        self._stop_deadline()
        _waiting.end(self)
        if not self._refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        if not self._refused:
            super().on_message_complete()

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > HEADER_BYTES:
            self._refuse(431)

    # ---- refusing

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._refuse, 408)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int) -> None:
        """Answer with an error, unless an answer is on its way, and close the connection."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        if self.cycle is None or self.cycle.response_complete:
            line = f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
            self.transport.write(f"{line}connection: close\r\ncontent-length: 0\r\n\r\n".encode())
        self.transport.close()
