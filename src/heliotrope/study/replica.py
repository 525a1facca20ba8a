"""The state of a study in this process: the fold over its log, kept in step with the store."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import RLock
from typing import TypeAlias, TypeVar

from heliotrope.errors import ConflictError, FormatError, HeliotropeError
from heliotrope.storage import Append, Store
from heliotrope.study.clocks import Now
from heliotrope.study.fold import Body, Fold, setup_of
from heliotrope.study.journals import Journal

T = TypeVar("T")
Emit: TypeAlias = Callable[[Body], None]
"""Applies an event, and has it written with the others of the same decision."""

_TRIES = 50  # at a study that others write to at the same time
_FRESH = (100, 1000)  # least and most events beyond a snapshot before the next one is kept
_BYTES = 10_000  # of snapshots that an event may cost


class Replica:
    """What events add up to, for several threads to read and to add to.

    Whoever comes next goes on from the applied events while the disk still syncs them. If it
    cannot, because another process wrote first, the state is read anew and all that was decided on
    top is decided again; so nobody is told of an event that is not on disk, and no event rests on
    one that never was.
    """

    def __init__(self, store: Store, journal: Journal, uid: str, now: Now) -> None:
        self._store, self._journal, self._uid, self._now = store, journal, uid, now
        self._lock = RLock()
        self._fold: Fold | None = None
        self._written: Future[int] | None = None  # the latest append to this fold
        self._due = 0  # the event at which the next snapshot is kept
        self._shared = False  # whether others were seen to write, too
        self._base = (0, b"")  # of a shared study: an event, and the snapshot after it, at hand

    def read(self, look: Callable[[Fold], T]) -> T:
        """Look at the state of all that is on disk."""
        with self._lock:
            return look(self._latest())

    def change(self, decide: Callable[[Fold, Emit], T]) -> T:
        """Have events decided on the present state, applied and written; again if others wrote."""
        for _ in range(_TRIES):
            with self._lock:
                fold, after, bodies, result = self._decision(decide)
                written = self._submit(fold, after, bodies)
            if written is None:
                return result
            try:
                written.result()
            except ConflictError:
                self._shared = True
                self._forget(fold)
            except BaseException:
                self._forget(fold)
                raise
            else:
                self._keep_snapshot(fold)
                return result
        raise ConflictError("a study that is written to less", f"{_TRIES} conflicts", "Try again.")

    # ---- deciding

    def _decision(self, decide: Callable[[Fold, Emit], T]) -> tuple[Fold, int, list[Body], T]:
        is_idle = self._written is None or self._written.done()
        try:
            fold = self._latest() if self._shared and is_idle else self._current()
            return self._decided(fold, decide)
        except HeliotropeError:  # by what was known here: somebody else may have written
            return self._decided(self._latest(), decide)

    def _decided(
        self, fold: Fold, decide: Callable[[Fold, Emit], T]
    ) -> tuple[Fold, int, list[Body], T]:
        after, bodies = fold.seq, list[Body]()

        def emit(body: Body) -> None:
            fold.apply(body)
            bodies.append(body)

        try:
            return fold, after, bodies, decide(fold, emit)
        except BaseException:
            if fold.seq > after:  # half done
                self._forget(fold)
            raise

    def _submit(self, fold: Fold, after: int, bodies: list[Body]) -> Future[int] | None:
        """Have events written after all those before; without any, wait for those before."""
        try:
            if bodies:
                append = Append(self._uid, after, bodies, self._now())
                self._written = self._journal.submit(append, follows=self._written)
        except BaseException:
            self._forget(fold)
            raise
        return self._written

    # ---- the state

    def _current(self) -> Fold:
        """The state as far as it is known here."""
        if self._fold is None:
            self._fold, self._written = self._read(), None
        return self._fold

    def _latest(self) -> Fold:
        """The state with what others wrote, once all that was written here is on disk."""
        if self._written is not None and self._written.exception() is not None:
            self._fold = None
        fold = self._current()
        if self._store.last(self._uid) > fold.seq:
            try:
                fold.extend([event.body for event in self._store.events(self._uid, fold.seq)])
            except BaseException:
                self._forget(fold)
                raise
        return fold

    def _read(self) -> Fold:
        (first,) = self._store.events(self._uid, limit=1)
        fold = Fold(self._uid, setup_of(first.body), first.at)
        seq, data = max(self._base, self._store.snapshot(self._uid) or (0, b""))
        if seq:
            with suppress(FormatError):  # of a newer version, say: the events are the truth
                fold.loads(data)
        self._due = _next_due(fold.seq, data)
        fold.extend([event.body for event in self._store.events(self._uid, fold.seq)])
        if self._shared:
            self._base = fold.seq, fold.dumps()
        return fold

    def _forget(self, fold: Fold) -> None:
        """Read the state anew next time, unless somebody did already."""
        with self._lock:
            if self._fold is fold:
                self._fold = None

    def _keep_snapshot(self, fold: Fold) -> None:
        """Keep the state, now and then."""
        with self._lock:
            if self._fold is not fold or fold.seq < self._due:
                return
            written, seq, data = self._written, fold.seq, fold.dumps()
            self._due = _next_due(seq, data)
        if written is None or written.exception() is None:
            with suppress(HeliotropeError):  # the events are there: this only saves time
                self._store.keep_snapshot(self._uid, seq, data)


def _next_due(seq: int, data: bytes) -> int:
    least, most = _FRESH
    return seq + min(max(least, len(data) // _BYTES), most)
