"""Streams of events: a study is looked at by one task, however many watch it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool

from heliotrope.errors import HeliotropeError, UnknownStudyError
from heliotrope.service.refusals import BusyError, log
from heliotrope.storage import Event, Store

_PAUSE = 0.4  # seconds between two looks for what other processes wrote
_SILENCE = 15.0  # seconds after which a stream says that it still lives
_PAGE = 500  # events read at a time


@dataclass
class _Watched:
    """A study that somebody watches: how many do, and how far its log is known to reach."""

    last: int = 0
    watchers: int = 0
    gone: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def reached(self, last: int) -> None:
        """Wake those who wait if there is something new."""
        if last > self.last:
            self.last = last
            self._wake()

    def vanished(self) -> None:
        """Wake those who wait for the last time."""
        self.gone = True
        self._wake()

    async def more(self, after: int) -> bool:
        """Wait until there is more, or nothing for too long."""
        news = self._news
        if self.gone or self.last > after:
            return True
        with suppress(TimeoutError):
            await asyncio.wait_for(news.wait(), _SILENCE)
        return news.is_set()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class Watch:
    """All streams of one process."""

    def __init__(self, store: Store, most: int) -> None:
        self._store, self._most = store, most
        self._studies: dict[str, _Watched] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for what others write; in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._looking = self._loop.create_task(self._look())

    async def stop(self) -> None:
        """Stop looking."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    def written(self, uid: str, last: int) -> None:
        """Take note, from any thread, of what this process wrote."""
        if uid in self._studies and self._loop is not None:
            self._loop.call_soon_threadsafe(self._reached, uid, last)

    def check_room(self) -> None:
        """Refuse one stream too many; BusyError."""
        if sum(watched.watchers for watched in list(self._studies.values())) >= self._most:
            raise BusyError(f"at most {self._most} streams", "one more", "Try again later.")

    async def stream(self, uid: str, after: int) -> AsyncIterator[str]:
        """Server-sent events beyond a number, until the study is gone."""
        with self._watching(uid) as watched, suppress(UnknownStudyError):
            while not watched.gone:
                events = await run_in_threadpool(self._store.events, uid, after, _PAGE)
                yield "".join(as_message(event) for event in events)
                after = events[-1].seq if events else after
                if not await watched.more(after):
                    yield ": still here\n\n"

    @contextmanager
    def _watching(self, uid: str) -> Iterator[_Watched]:
        watched = self._studies.setdefault(uid, _Watched())
        watched.watchers += 1
        try:
            yield watched
        finally:
            watched.watchers -= 1
            if not watched.watchers:
                del self._studies[uid]

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_PAUSE)
            for uid in list(self._studies):
                await self._look_at(uid)

    async def _look_at(self, uid: str) -> None:
        try:
            self._reached(uid, await run_in_threadpool(self._store.last, uid))
        except UnknownStudyError:
            if uid in self._studies:
                self._studies[uid].vanished()
        except HeliotropeError as error:  # of the store: perhaps it comes back
            log.error("%s: %s", type(error).__name__, error)

    def _reached(self, uid: str, last: int) -> None:
        if uid in self._studies:
            self._studies[uid].reached(last)


def as_json(event: Event) -> dict[str, Any]:
    """An event as clients see it."""
    return {"seq": event.seq, "at": event.at, **event.body}


def as_message(event: Event) -> str:
    """An event as a server-sent one."""
    return f"id: {event.seq}\ndata: {json.dumps(as_json(event))}\n\n"
