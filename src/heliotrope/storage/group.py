"""A thread in front of a store: what many clients write at a time is synced together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import sleep

from heliotrope.errors import ConflictError, HeliotropeError, StoreError
from heliotrope.storage.protocol import Append, Store

_MOST = 1_000  # appends in one transaction
_PAUSE, _PAUSES = 0.001, 5  # seconds in which a crowd may gather, and how often it is given them


@dataclass(frozen=True)
class _Waiting:
    append: Append
    follows: Future[int] | None
    future: Future[int] = field(default_factory=Future)

    def is_due(self) -> bool:
        """Whether it is still to be written; if it counted on a failed one, it fails too."""
        if not self.future.set_running_or_notify_cancel():
            return False
        if self.follows is not None and self.follows.done() and _failed(self.follows):
            self.future.set_exception(_groundless(self.append))
            return False
        return True


class GroupCommit:
    """Hands all that waits to :meth:`Store.append` in one piece, in the order in which it came.

    While the disk syncs one batch, the next one gathers. If several came together last time, the
    next are given some milliseconds to do so too, as long as ever more come: a transaction takes
    more of the processor than many appends do. One that comes alone is written at once.

    An append may be submitted on top of another one whose result is not there yet, and then names
    it: ``submit(second, follows=first_future)``. If the first is refused, so is the second, even
    if somebody else's events have come to fill the numbers between.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._lock = Lock()
        self._open = True
        self._thread = Thread(target=self._work, name="heliotrope-group-commit", daemon=True)
        self._thread.start()

    def submit(self, append: Append, follows: Future[int] | None = None) -> Future[int]:
        """Have events written; the result is the number of the last one, once it is on disk."""
        waiting = _Waiting(append, follows)
        with self._lock:
            if not (self._open and self._thread.is_alive()):
                raise StoreError(
                    "an open group commit", "one that was closed", "Make one in each process."
                )
            self._queue.put(waiting)
        return waiting.future

    def close(self) -> None:
        """Write what waits, and stop. The store stays open."""
        with self._lock:
            if self._open:
                self._queue.put(None)
            self._open = False
        self._thread.join()

    def _work(self) -> None:
        batch: list[_Waiting] = []
        while (first := self._queue.get()) is not None:
            if len(batch) > 1:
                self._let_gather()
            batch, more = self._gather(first)
            self._write([waiting for waiting in batch if waiting.is_due()])
            if not more:
                return

    def _let_gather(self) -> None:
        for _ in range(_PAUSES):
            before = self._queue.qsize()
            sleep(_PAUSE)
            if self._queue.qsize() == before:
                return

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        """All that waits by now, and whether more may come."""
        batch = [first]
        while len(batch) < _MOST:
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                break
            if waiting is None:
                return batch, False
            batch.append(waiting)
        return batch, True

    def _write(self, batch: Sequence[_Waiting]) -> None:
        try:
            results = self._store.append([waiting.append for waiting in batch])
        except Exception as error:  # each of them is told, and the thread lives on
            for waiting in batch:
                waiting.future.set_exception(error)
            return
        for waiting, result in zip(batch, results, strict=True):
            if isinstance(result, HeliotropeError):
                waiting.future.set_exception(result)
            else:
                waiting.future.set_result(result)


def _failed(future: Future[int]) -> bool:
    return future.cancelled() or future.exception() is not None


def _groundless(append: Append) -> ConflictError:
    return ConflictError(
        f"event {append.after} of study {append.study} to be written",
        "a refusal of it",
        "Read the study and try again.",
    )
