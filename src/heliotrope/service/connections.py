"""Connections of clients that send no request, or one that never ends.

They need no token, so they are limited before any of the application runs: the size, the number
and the time of headers, and the number of connections. When there are too many, those that have
sent no request yet give way.
"""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if sys.platform != "win32":
    import resource

HEADER_BYTES = 32_768  # of the request line and all headers
HEADERS = 100
HEADER_SECONDS = 10.0  # from the first byte, or from connecting
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


class Waiting:
    """The connections of this process that wait for a request, oldest first."""

    def __init__(self) -> None:
        self.new: dict[GuardedProtocol, None] = {}  # without any request so far
        self.idle: dict[GuardedProtocol, None] = {}

    def begin(self, connection: "GuardedProtocol", *, new: bool) -> None:
        (self.new if new else self.idle)[connection] = None

    def end(self, connection: "GuardedProtocol") -> None:
        self.new.pop(connection, None)
        self.idle.pop(connection, None)

    def __iter__(self) -> "Iterator[GuardedProtocol]":
        yield from self.new
        yield from self.idle


_waiting = Waiting()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits of headers and connections."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._in_body = self._refused = False
        self._header_bytes = self._received = self._framing = self._body = 0

    # ---- connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _waiting.begin(self, new=True)
        self._start_deadline()
        if len(self.connections) > most_connections():
            next(iter(_waiting)).transport.abort()  # it may be this one

    def connection_lost(self, exc: Exception | None) -> None:
        _waiting.end(self)
        self._stop_deadline()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline:
            _waiting.begin(self, new=False)

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
