"""What one client sees of a store that others share: now and then a call fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from heliotrope.errors import HeliotropeError, StoreError
from heliotrope.storage import Append, Event, EventBody, Store, StudyInfo

BEFORE, AFTER = 0.04, 0.04  # chances that an append fails before, or after its commit
RACE = 0.08  # that another client writes first
UNREADABLE = 0.005  # that a read fails
LOST = 0.2  # that a snapshot is lost, when it is kept or read


class FaultyStore:
    """A :class:`heliotrope.storage.Store` whose faults are drawn while it is ``armed``.

    ``race`` is called before an append that another client is to forestall. ``written`` has the
    kinds of all events that were committed by way of this object.
    """

    def __init__(self, store: Store, rng: Random, race: Callable[[], None]) -> None:
        self._store, self._rng, self._race = store, rng, race
        self.armed, self.written = False, list[str]()

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        if self._strikes(RACE):
            self._race()
        if self._strikes(BEFORE):
            raise StoreError("a disk", "a crash before the commit")
        outcomes = self._store.append(batch)
        for append, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, int):
                self.written += [body["kind"] for body in append.bodies]
        if self._strikes(AFTER):
            raise StoreError("an answer", "a crash after the commit")
        return outcomes

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        self._read()
        return self._store.events(study, after, limit)

    def last(self, study: str) -> int:
        self._read()
        return self._store.last(study)

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        self._read()
        return None if self._strikes(LOST) else self._store.snapshot(study)

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        if not self._strikes(LOST):
            self._store.keep_snapshot(study, seq, data)

    def _read(self) -> None:
        if self._strikes(UNREADABLE):
            raise StoreError("a disk", "a crash while it was read")

    def _strikes(self, chance: float) -> bool:
        return self.armed and self._rng.random() < chance

    # ---- without faults

    def create(self, name: str, body: EventBody, at: float) -> str:
        return self._store.create(name, body, at)

    def find(self, name: str) -> StudyInfo:
        return self._store.find(name)

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        return self._store.studies(after, limit)

    def count(self) -> int:
        return self._store.count()

    def delete(self, study: str) -> None:
        self._store.delete(study)

    def clock_offset(self) -> float:
        return self._store.clock_offset()

    def probe(self) -> None:
        self._store.probe()

    def close(self) -> None:
        self._store.close()
