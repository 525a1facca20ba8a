"""A store that lives as long as its process, for tests and trials."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from heliotrope.errors import HeliotropeError
from heliotrope.storage.protocol import (
    Append,
    Event,
    EventBody,
    Store,
    StudyInfo,
    as_bytes,
    as_name,
    as_uid,
    conflict,
    event_text,
    name_taken,
    snapshot_ahead,
    unknown_study,
)
from heliotrope.surroundings import REAL, Surroundings
from heliotrope.validation import as_number, as_whole


@dataclass
class _Study:
    name: str
    uid: str
    events: list[tuple[float, str]]  # time and JSON text, which no caller can change
    snapshot: tuple[int, bytes] | None = None

    def info(self) -> StudyInfo:
        created, updated = self.events[0][0], self.events[-1][0]
        return StudyInfo(self.name, self.uid, created, len(self.events), updated)


@dataclass
class MemoryStore(Store):
    """A :class:`heliotrope.storage.Store` without a disk."""

    surroundings: Surroundings = REAL
    _studies: dict[str, _Study] = field(default_factory=dict)  # by uid
    _named: dict[str, _Study] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __str__(self) -> str:
        return "memory"

    def create(self, name: str, body: EventBody, at: float) -> str:
        first = as_number(at, "at"), event_text(body)
        study = _Study(as_name(name), self.surroundings.uid(), [first])
        with self._lock:
            if name in self._named:
                raise name_taken(name)
            self._named[name] = self._studies[study.uid] = study
        return study.uid

    def find(self, name: str) -> StudyInfo:
        with self._lock:
            if as_name(name) not in self._named:
                raise unknown_study(name)
            return self._named[name].info()

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        limit = as_whole(limit, "limit", least=0)
        with self._lock:
            names = sorted(self._named)
            start = bisect_right(names, as_name(after)) if after else 0
            return [self._named[name].info() for name in names[start : start + limit]]

    def count(self) -> int:
        with self._lock:
            return len(self._studies)

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        refused: set[str] = set()
        with self._lock:
            return [self._append(append, refused) for append in batch]

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        after = as_whole(after, "after", least=0)
        end = None if limit is None else after + as_whole(limit, "limit", least=0)
        with self._lock:
            chosen = self._held(study).events[after:end]
        numbered = enumerate(chosen, start=after + 1)
        return [Event(seq, at, json.loads(text)) for seq, (at, text) in numbered]

    def last(self, study: str) -> int:
        with self._lock:
            return len(self._held(study).events)

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        with self._lock:
            return self._held(study).snapshot

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        seq, data = as_whole(seq, "seq", least=1), as_bytes(data)
        with self._lock:
            held = self._held(study)
            if seq > len(held.events):
                raise snapshot_ahead(seq, len(held.events))
            if held.snapshot is None or held.snapshot[0] <= seq:
                held.snapshot = seq, data

    def delete(self, study: str) -> None:
        with self._lock:
            held = self._held(study)
            del self._studies[held.uid], self._named[held.name]

    def _held(self, study: str) -> _Study:
        try:
            return self._studies[as_uid(study)]
        except KeyError:
            raise unknown_study(study) from None

    def _append(self, append: Append, refused: set[str]) -> int | HeliotropeError:
        held = self._studies.get(append.study)
        if held is None:
            return unknown_study(append.study)
        if append.study in refused or append.after != len(held.events):
            refused.add(append.study)
            return conflict(append, len(held.events))
        held.events.extend((append.at, text) for text in append.texts)
        return len(held.events)
