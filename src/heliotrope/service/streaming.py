"""Streams of events: one task polls the store, however many clients follow a study."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from heliotrope.errors import HeliotropeError, UnknownStudyError
from heliotrope.service.errors import RequestError, log
from heliotrope.storage import Event, Store

STREAM = "text/event-stream"
_POLL = 0.4  # seconds between two polls for events of other processes
_KEEP_ALIVE = 15.0  # seconds of silence before a stream sends a comment
_PAGE = 500  # events in one read


@dataclass
class _Followed:
    """A study that clients follow: its last known event (inf: it is deleted), and their number."""

    last: float = 0
    followers: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def advance(self, last: float) -> None:
        """Wake the streams if there are new events."""
        if last > self.last:
            self.last = last
            self._news.set()
            self._news = asyncio.Event()

    async def wait(self, after: int) -> bool:
        """Wait for an event after a number; False if none comes before a keep-alive is due."""
        news = self._news
        if self.last > after:
            return True
        with suppress(TimeoutError):
            await asyncio.wait_for(news.wait(), _KEEP_ALIVE)
        return news.is_set()


class EventStreams:
    """All event streams of one process."""

    def __init__(self, store: Store, most: int) -> None:
        self._store, self._most = store, most
        self._studies: dict[str, _Followed] = {}
        self._running = 0  # streams
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def polling(self) -> AsyncIterator[None]:
        """Poll for events of other processes."""
        self._loop = asyncio.get_running_loop()
        task = self._loop.create_task(self._poll())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def notify(self, uid: str, last: int) -> None:
        """Note, from any thread, the last event that this process wrote."""
        if uid in self._studies and self._loop is not None:
            self._loop.call_soon_threadsafe(self._advance, uid, last)

    @contextmanager
    def room(self) -> Iterator[None]:
        """Take the place of one stream; RequestError if all are taken. Only in the event loop."""
        if self._running >= self._most:
            raise RequestError(
                429, "busy", f"at most {self._most} streams", "one more", "Try again later."
            )
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def stream(self, uid: str, after: int) -> AsyncIterator[str]:
        """Server-sent events after a number, until the study is deleted."""
        with self._following(uid) as followed, suppress(UnknownStudyError):
            while followed.last < inf:
                events = await run_in_threadpool(self._store.events, uid, after, _PAGE)
                yield "".join(as_message(event) for event in events)
                after = events[-1].seq if events else after
                if not await followed.wait(after):
                    yield ": still here\n\n"

    @contextmanager
    def _following(self, uid: str) -> Iterator[_Followed]:
        followed = self._studies.setdefault(uid, _Followed())
        followed.followers += 1
        try:
            yield followed
        finally:
            followed.followers -= 1
            if not followed.followers:
                del self._studies[uid]

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL)
            for uid in list(self._studies):
                await self._poll_study(uid)

    async def _poll_study(self, uid: str) -> None:
        try:
            self._advance(uid, await run_in_threadpool(self._store.last, uid))
        except UnknownStudyError:
            self._advance(uid, inf)
        except HeliotropeError as error:  # of the store, which may recover
            log.error("%s: %s", type(error).__name__, error)

    def _advance(self, uid: str, last: float) -> None:
        if uid in self._studies:
            self._studies[uid].advance(last)


class EventStreamResponse(StreamingResponse):
    """A stream, or the error 429 if too many run. Its place is taken when the answer begins."""

    def __init__(self, streams: EventStreams, uid: str, after: int) -> None:
        super().__init__(streams.stream(uid, after), media_type=STREAM)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.room():
            await super().__call__(scope, receive, send)


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as JSON for clients."""
    return {"seq": event.seq, "at": event.at, **event.body}


def as_message(event: Event) -> str:
    """An event as a server-sent event."""
    return f"id: {event.seq}\ndata: {json.dumps(event_to_json(event))}\n\n"
