"""A store that lives as long as its process, for tests and trials."""

from __future__ import annotations

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
    StudyInfo,
    as_bytes,
    as_name,
    as_uid,
    conflict,
    event_text,
    name_taken,
    new_uid,
    snapshot_ahead,
    unknown_study,
)
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
class MemoryStore:
    """A :class:`heliotrope.storage.Store` without a disk."""

    _studies: dict[str, _Study] = field(default_factory=dict)
    _uids: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def create(self, name: str, body: EventBody, at: float) -> str:
        """Create a study."""
        study = _Study(as_name(name), new_uid(), [(as_number(at, "at"), event_text(body))])
        with self._lock:
            if name in self._uids:
                raise name_taken(name)
            self._uids[name] = study.uid
            self._studies[study.uid] = study
        return study.uid

    def find(self, name: str) -> StudyInfo:
        """Find a study by name."""
        with self._lock:
            uid = self._uids.get(as_name(name))
            if uid is None:
                raise unknown_study(repr(name))
            return self._studies[uid].info()

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        """Studies by name."""
        limit = as_whole(limit, "limit", least=0)
        with self._lock:
            names = sorted(self._uids)
            start = bisect_right(names, as_name(after)) if after else 0
            return [self._studies[self._uids[n]].info() for n in names[start : start + limit]]

    def count(self) -> int:
        """The number of studies."""
        with self._lock:
            return len(self._studies)

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        """Write a batch of appends."""
        refused: set[str] = set()
        with self._lock:
            return [self._append(append, refused) for append in batch]

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events after a number."""
        after = as_whole(after, "after", least=0)
        end = None if limit is None else after + as_whole(limit, "limit", least=0)
        with self._lock:
            chosen = self._held(study).events[after:end]
        numbered = enumerate(chosen, start=after + 1)
        return [Event(seq, at, json.loads(text)) for seq, (at, text) in numbered]

    def last(self, study: str) -> int:
        """The number of a study's last event."""
        with self._lock:
            return len(self._held(study).events)

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        """The latest snapshot."""
        with self._lock:
            return self._held(study).snapshot

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        """Keep a snapshot."""
        seq, data = as_whole(seq, "seq", least=1), as_bytes(data)
        with self._lock:
            held = self._held(study)
            if seq > len(held.events):
                raise snapshot_ahead(seq, len(held.events))
            if held.snapshot is None or held.snapshot[0] <= seq:
                held.snapshot = seq, data

    def delete(self, study: str) -> None:
        """Remove a study."""
        with self._lock:
            held = self._held(study)
            del self._studies[held.uid], self._uids[held.name]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

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
