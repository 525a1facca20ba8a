"""The state of a study in this process: the state over its log, kept in step with the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import RLock
from typing import Any, TypeAlias, TypeVar

from heliotrope.errors import ConflictError, FormatError, HeliotropeError
from heliotrope.storage import Append, EventBody, Journal, Store
from heliotrope.study.clocks import Now
from heliotrope.study.events import config_of
from heliotrope.study.state import StudyState

T = TypeVar("T")
Emit: TypeAlias = Callable[[EventBody], None]
"""Applies an event, and has it written with the others of the same decision."""
Decision: TypeAlias = Callable[[StudyState, Emit], T]
"""What to do in the present state; it is asked again if that turns out to be an older one."""

_TRIES = 50  # at a study that others write to at the same time
_FRESH = (100, 1000)  # least and most events beyond a snapshot before the next one is kept
_BYTES = 10_000  # of snapshots that an event may cost


class _Draft:
    """Events on top of a state, which has them already, to be written together."""

    def __init__(self, state: StudyState) -> None:
        self.state, self.after, self.bodies = state, state.seq, list[EventBody]()

    def emit(self, body: EventBody) -> None:
        """Apply an event."""
        self.state.apply(body)
        self.bodies.append(body)


class StateCache:
    """What events add up to, for several threads to read and to add to.

    Whoever comes next goes on from the applied events while the disk still syncs them. If it
    cannot, because another process wrote first, the state is read anew and all that was decided on
    top is decided again; so nobody is told of an event that is not on disk, and no event rests on
    one that never was.
    """

    def __init__(self, store: Store, journal: Journal, uid: str, now: Now) -> None:
        self._store, self._journal, self._uid, self._now = store, journal, uid, now
        self._lock = RLock()
        self._state: StudyState | None = None
        self._written: Future[int] | None = None  # the latest append to this state
        self._due = 0  # the event at which the next snapshot is kept
        self._shared = False  # whether others were seen to write, too
        self._base = (0, b"")  # of a shared study: an event, and the snapshot after it, at hand

    def read(self, look: Callable[[StudyState], T]) -> T:
        """Look at the state of all that is on disk."""
        with self._lock:
            return look(self._latest())

    def change(self, decide: Decision[T]) -> T:
        """Have events decided on the present state, applied and written; again if others wrote."""
        for _ in range(_TRIES):
            with self._lock:
                draft, result = self._decided(decide)
                written = self._submit(draft)
            if self._is_written(draft.state, written):
                return result
        raise ConflictError("a study that is written to less", f"{_TRIES} conflicts", "Try again.")

    def change_all(self, decisions: Sequence[Decision[Any]]) -> list[Any]:
        """Do the same for many, written together; return the result of each, or its error."""
        results = list[Any]()
        while left := decisions[len(results) :]:
            try:
                together = self._together(left)
            except Exception as error:
                return results + [error for _ in left]
            results += together or [self._outcome(left[0])]
        return results

    def _together(self, decisions: Sequence[Decision[Any]]) -> list[Any]:
        """The results of those before the first that adds nothing; of none if others wrote."""
        results = list[Any]()
        with self._lock:
            draft = _Draft(self._known())
            with suppress(Exception):  # which is met again
                for decide in decisions:
                    before, result = len(draft.bodies), self._drafted(draft, decide)
                    if len(draft.bodies) == before:
                        break
                    results.append(result)
            written = self._submit(draft)
        return results if self._is_written(draft.state, written) else []

    def _outcome(self, decide: Decision[T]) -> T | Exception:
        try:
            return self.change(decide)
        except Exception as error:
            return error

    # ---- deciding

    def _decided(self, decide: Decision[T]) -> tuple[_Draft, T]:
        with suppress(HeliotropeError):
            draft = _Draft(self._known())
            result = self._drafted(draft, decide)
            if draft.bodies:
                return draft, result
        draft = _Draft(self._latest())  # by what was known there is nothing to do: others may know
        return draft, self._drafted(draft, decide)

    def _known(self) -> StudyState:
        """The state to decide on: where others write too, the latest, unless that takes a wait."""
        is_idle = self._written is None or self._written.done()
        return self._latest() if self._shared and is_idle else self._current()

    def _drafted(self, draft: _Draft, decide: Decision[T]) -> T:
        """The result of a decision, whose events are in the draft, or none of them."""
        before = len(draft.bodies)
        try:
            return decide(draft.state, draft.emit)
        except BaseException:
            if len(draft.bodies) > before:  # half done
                del draft.bodies[before:]
                self._forget(draft.state)
            raise

    def _submit(self, draft: _Draft) -> Future[int] | None:
        """Have events written after all those before; without any, wait for those before."""
        try:
            if draft.bodies:
                append = Append(self._uid, draft.after, draft.bodies, self._now())
                self._written = self._journal.submit(append, follows=self._written)
        except BaseException:
            self._forget(draft.state)
            raise
        return self._written

    def _is_written(self, state: StudyState, written: Future[int] | None) -> bool:
        """Wait for the disk; False if another process wrote first."""
        if written is None:
            return True
        try:
            written.result()
        except ConflictError:
            self._shared = True
            self._forget(state)
            return False
        except BaseException:
            self._forget(state)
            raise
        self._keep_snapshot(state)
        return True

    # ---- the state

    def _current(self) -> StudyState:
        """The state as far as it is known here."""
        if self._state is None:
            self._state, self._written = self._read(), None
        return self._state

    def _latest(self) -> StudyState:
        """The state with what others wrote, once all that was written here is on disk."""
        if self._written is not None and self._written.exception() is not None:
            self._state = None
        state = self._current()
        if self._store.last(self._uid) > state.seq:
            try:
                state.extend([event.body for event in self._store.events(self._uid, state.seq)])
            except BaseException:
                self._forget(state)
                raise
        return state

    def _read(self) -> StudyState:
        (first,) = self._store.events(self._uid, limit=1)
        state = StudyState(self._uid, config_of(first.body), first.at)
        seq, data = max(self._base, self._store.snapshot(self._uid) or (0, b""))
        if seq:
            with suppress(FormatError):  # of a newer version, say: the events are the truth
                state.loads(data)
        self._due = _next_due(state.seq, data)
        state.extend([event.body for event in self._store.events(self._uid, state.seq)])
        if self._shared:
            self._base = state.seq, state.dumps()
        return state

    def _forget(self, state: StudyState) -> None:
        """Read the state anew next time, unless somebody did already."""
        with self._lock:
            if self._state is state:
                self._state = None

    def _keep_snapshot(self, state: StudyState) -> None:
        """Keep the state, now and then."""
        with self._lock:
            if self._state is not state or state.seq < self._due:
                return
            written, seq, data = self._written, state.seq, state.dumps()
            self._due = _next_due(seq, data)
        if written is None or written.exception() is None:
            with suppress(HeliotropeError):  # the events are there: this only saves time
                self._store.keep_snapshot(self._uid, seq, data)


def _next_due(seq: int, data: bytes) -> int:
    least, most = _FRESH
    return seq + min(max(least, len(data) // _BYTES), most)
