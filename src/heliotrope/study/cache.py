"""The state of a study in this process, kept in step with its log in the store."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import RLock
from typing import Any, Generic, TypeAlias, TypeVar

from heliotrope.errors import ConflictError, FormatError, HeliotropeError
from heliotrope.storage import Append, EventBody, Journal, Store
from heliotrope.study.state import StudyState, config_of
from heliotrope.surroundings import Now

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Chain: TypeAlias = Generator[EventBody, None, T]
"""Yields events, and returns a result.

Each event is applied to the state before the chain goes on, and the chain itself changes nothing.
It checks everything before its first event: until then it may raise an error, which refuses the
command.
"""

_TRIES = 50  # when other processes write at the same time
_INTERVAL = (100, 1000)  # least and most events between two snapshots
_BYTES = 10_000  # of snapshot per event between two snapshots


@dataclass(frozen=True)
class Decision(Generic[T_co]):
    """A ``chain`` on a state, and one ``before`` it, whose events stay if the chain is refused.

    Both begin again if another process wrote first.
    """

    chain: Callable[[StudyState], Chain[T_co]]
    before: Callable[[StudyState], Chain[None]] | None = None


class _Draft:
    """Events to write together; the state has them already."""

    def __init__(self, state: StudyState) -> None:
        self.state, self.after, self.bodies = state, state.seq, list[EventBody]()

    def run(self, chain: Chain[T]) -> T:
        """Apply the events of a chain, and return its result."""
        while True:
            try:
                body = next(chain)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            self.bodies.append(body)
            self.state.apply(body)


class StateCache:
    """The state of a study, for several threads that read and change it.

    A decision may rest on events that the disk still syncs. If these fail because another process
    wrote first, the state is read again and every decision on top of them is repeated. So no
    result is returned before its events are on disk, and no event rests on one that was lost.
    """

    def __init__(self, store: Store, journal: Journal, uid: str, now: Now) -> None:
        self._store, self._journal, self._uid, self._now = store, journal, uid, now
        self._lock = RLock()
        self._state: StudyState | None = None
        self._written: Future[int] | None = None  # the latest append to this state
        self._due = 0  # number of the event after which the next snapshot is kept
        self._shared = False  # whether other processes write too
        self._base = 0, b""  # of a shared study: a snapshot in memory

    def read(self, look: Callable[[StudyState], T]) -> T:
        """Look at the state of all events on disk."""
        with self._lock:
            return look(self._latest())

    def change(self, decision: Decision[T]) -> T:
        """Decide, apply and write events; repeat that if another process wrote first."""
        outcome = self._outcome(decision)
        if not isinstance(outcome, Exception):
            return outcome
        try:
            raise outcome
        finally:
            del outcome  # or it would hold itself, with all that it refers to

    def _outcome(self, decision: Decision[T]) -> T | Exception:
        """The result of a decision, or the error that refuses it."""
        for _ in range(_TRIES):
            with self._lock:
                draft, outcome = self._decided(decision)
                written = self._submit(draft)
            if self._is_written(draft.state, written):
                return outcome
        raise ConflictError("a study with fewer writers", f"{_TRIES} conflicts", "Try again.")

    def change_all(self, decisions: Sequence[Decision[Any]]) -> list[Any]:
        """Change the state by many decisions, written together; return each result or error."""
        return self._finished(decisions, lambda: self._together(decisions)())

    def begin_all(self, decisions: Sequence[Decision[Any]]) -> Callable[[], list[Any]]:
        """Decide and submit what needs no waiting, and return a function that does the rest.

        That function waits for the disk, and returns each result or error.
        """
        begun = self._together(decisions)
        return lambda: self._finished(decisions, begun)

    def _finished(
        self, decisions: Sequence[Decision[Any]], begun: Callable[[], list[Any]]
    ) -> list[Any]:
        results = list[Any]()
        while left := decisions[len(results) :]:
            try:
                together = self._together(left)() if results else begun()
            except Exception as error:
                return results + [error for _ in left]
            results += together or [self._outcome_of_one(left[0])]
        return results

    def _together(self, decisions: Sequence[Decision[Any]]) -> Callable[[], list[Any]]:
        """Submit the decisions before the first one without events.

        The function that it returns waits for the disk and returns their results, or an empty list
        if another process wrote first.
        """
        results = list[Any]()
        with self._lock:
            draft = _Draft(self._known())
            with suppress(Exception):  # a defect, which the next round raises again
                for decision in decisions:
                    before, outcome = len(draft.bodies), self._drafted(draft, decision)
                    if len(draft.bodies) == before:
                        break
                    results.append(outcome)
            written = self._submit(draft)
        return lambda: results if self._is_written(draft.state, written) else []

    def _outcome_of_one(self, decision: Decision[T]) -> T | Exception:
        try:
            return self._outcome(decision)
        except Exception as error:
            return error

    def in_memory(self) -> tuple[StudyState | None, bytes]:
        """The state, if it has been read, and the snapshot in memory."""
        return self._state, self._base[1]

    def unload(self) -> None:
        """Drop the state; the next use reads it from the store."""
        with self._lock:
            self._state, self._base = None, (0, b"")

    # ---- deciding

    def _decided(self, decision: Decision[T]) -> tuple[_Draft, T | Exception]:
        draft = _Draft(self._known())
        outcome = self._drafted(draft, decision)
        if draft.bodies:
            return draft, outcome
        latest = self._latest()  # newer events may change an outcome without events
        if latest is draft.state and latest.seq == draft.after:
            return draft, outcome
        draft = _Draft(latest)
        return draft, self._drafted(draft, decision)

    def _known(self) -> StudyState:
        """The state to decide on: the latest of a shared study, unless that means waiting."""
        is_idle = self._written is None or self._written.done()
        return self._latest() if self._shared and is_idle else self._current()

    def _drafted(self, draft: _Draft, decision: Decision[T]) -> T | Exception:
        """The result of a decision, or the error that refuses it.

        An error after its first event is a defect, and is raised: the state is read again.
        """
        kept = len(draft.bodies)
        try:
            if decision.before is not None:
                draft.run(decision.before(draft.state))
                kept = len(draft.bodies)
            return draft.run(decision.chain(draft.state))
        except BaseException as error:
            if len(draft.bodies) == kept and isinstance(error, Exception):
                return error
            del draft.bodies[kept:]
            self._forget(draft.state)
            raise

    def _submit(self, draft: _Draft) -> Future[int] | None:
        """Submit the events; without any, return the latest append to wait for."""
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
        """The state with the events known here."""
        if self._state is None:
            self._state, self._written = self._read(), None
        return self._state

    def _latest(self) -> StudyState:
        """The state with the events of other processes, once all events from here are on disk."""
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
            with suppress(FormatError):  # such as a newer version: then the events are replayed
                state.loads(data)
        self._due = _next_due(state.seq, data)
        state.extend([event.body for event in self._store.events(self._uid, state.seq)])
        if self._shared:
            self._base = state.seq, state.dumps()
        return state

    def _forget(self, state: StudyState) -> None:
        """Read the state from the store next time, unless it has been replaced."""
        with self._lock:
            if self._state is state:
                self._state = None

    def _keep_snapshot(self, state: StudyState) -> None:
        """Keep a snapshot if one is due."""
        with self._lock:
            if self._state is not state or state.seq < self._due:
                return
            written, seq, data = self._written, state.seq, state.dumps()
            self._due = _next_due(seq, data)
        if written is None or written.exception() is None:
            with suppress(HeliotropeError):  # a snapshot only saves time
                self._store.keep_snapshot(self._uid, seq, data)


def _next_due(seq: int, data: bytes) -> int:
    least, most = _INTERVAL
    return seq + min(max(least, len(data) // _BYTES), most)
