"""The ids, keys and leases of a study's asks.

An id is the start of the study's uid, a random mark, and a number. The numbers of a study that was
restored from a copy begin again where the copy ends. The marks tell the asks since then from those
before: a worker that still has one of the latter cannot tell its result as that of another point.
A key makes a command safe to repeat. A lease says how long an open evaluation waits for its result
or its worker's next heartbeat.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heliotrope.errors import ClosedSuggestionError, FormatError, UnknownSuggestionError
from heliotrope.ledger import Suggestion
from heliotrope.validation import Indices, as_number, as_whole

_PREFIX = 12  # digits of the uid
_FORM = re.compile(r"[0-9a-f]{0,12}-([0-9a-f]{8})-([0-9]{1,15})")
_CLOSED = 1_000  # closed asks whose keys are kept
_EXPIRED = 10_000  # expired evaluations whose results are still taken


class Ids:
    """The ids of all evaluations of a study, by number."""

    def __init__(self, uid: str) -> None:
        self._prefix = uid[:_PREFIX]
        self._marks = array("I")

    def next(self, mark: int) -> str:
        """The id of the next evaluation, not yet added, with a random mark."""
        return self._text(len(self._marks), mark)

    def add(self, id: str) -> None:
        """Add the id of the next evaluation, as it is in the log; FormatError."""
        mark, number = self._parts(id)
        if number != len(self._marks) or id != self._text(number, mark):
            raise FormatError(f"ask number {len(self._marks)} of this study next", repr(id)[:60])
        self._marks.append(mark)

    def begin(self, count: int, mark: int) -> None:
        """Give the evaluations of an optimizer's file, which had no ids, this mark."""
        self._marks = array("I", [mark] * count)

    def of(self, number: int) -> str:
        """The id of an evaluation."""
        return self._text(number, self._marks[number])

    def renamed(self, id: str) -> str:
        """The id in this study of an evaluation of its copy."""
        return f"{self._prefix}-{id.partition('-')[2]}"

    def number_of(self, id: str) -> int:
        """The number of an evaluation; UnknownSuggestionError."""
        _, number = self._parts(id)
        if not 0 <= number < len(self._marks) or id != self.of(number):
            raise UnknownSuggestionError(
                "the id of an ask of this study",
                repr(id)[:60],
                "Pass what ask returned; ask again if the study was restored from a copy since.",
                "id",
            )
        return number

    def to_array(self) -> Indices:
        return np.array(self._marks, dtype=np.int64)

    def restore(self, marks: Indices, asked: int) -> None:
        """Take over the array of a snapshot."""
        if len(marks) != asked:
            raise FormatError(f"marks of {asked} asks", str(len(marks)))
        self._marks = array("I", marks.tolist())

    def _text(self, number: int, mark: int) -> str:
        return f"{self._prefix}-{mark:08x}-{number}"

    def _parts(self, id: object) -> tuple[int, int]:
        """Mark and number; the number of anything else is -1."""
        match = _FORM.fullmatch(id) if isinstance(id, str) else None
        if match is None:
            return 0, -1
        return int(match[1], 16), int(match[2])


class Keys:
    """The ids of all open asks with a key, and of the latest closed ones, by key.

    An ask that is repeated with its key is no new ask.
    """

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._closed: dict[str, str] = {}  # oldest first
        self._key_of: dict[str, str] = {}  # keys of open asks by id

    def begin(self, key: str, id: str) -> None:
        self._closed.pop(key, None)
        self._open[key] = id
        self._key_of[id] = key

    def close(self, id: str) -> None:
        """Note that an ask, with or without a key, is closed."""
        key = self._key_of.pop(id, None)
        if key is None:
            return
        del self._open[key]
        self._closed[key] = id
        if len(self._closed) > _CLOSED:
            del self._closed[next(iter(self._closed))]

    def find(self, key: str | None) -> str | None:
        """The id of the ask with a key, or None."""
        return None if key is None else self._open.get(key) or self._closed.get(key)

    def to_json(self) -> dict[str, Any]:
        return {"keys": self._open, "closed_keys": self._closed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Keys:
        """Read the keys of a snapshot."""
        keys = cls()
        for key, id in data["keys"].items():
            keys.begin(key, id)
        keys._closed = dict(data["closed_keys"])
        return keys


@dataclass(frozen=True)
class Lease:
    """A length such as "10min", and the wall time at which it ends."""

    length: str
    until: float


class Leases:
    """The leases of open evaluations, and the evaluations whose lease has expired, by number."""

    def __init__(self) -> None:
        self._open: dict[int, Lease] = {}
        self._expired: dict[int, tuple[float, Any]] = {}  # time and place, oldest first

    def begin(self, number: int, length: str, until: float) -> None:
        """Begin or prolong the lease of an open evaluation."""
        self._open[number] = Lease(str(length), as_number(until, "until"))

    def of(self, number: int) -> Lease | None:
        return self._open.get(number)

    def close(self, number: int) -> None:
        """Note that an evaluation, with or without a lease, has its result or was cancelled."""
        self._open.pop(number, None)
        self._expired.pop(number, None)

    def due(self, now: float) -> list[int]:
        """The evaluations whose lease has ended but is still open."""
        return [number for number, lease in self._open.items() if lease.until < now]

    def expire(self, suggestion: Suggestion) -> None:
        self._open.pop(suggestion.id, None)
        place = suggestion.x.tolist() if suggestion.index is None else suggestion.index
        self._expired[suggestion.id] = suggestion.t, place
        if len(self._expired) > _EXPIRED:
            del self._expired[next(iter(self._expired))]

    def expired(self, number: int) -> tuple[float, Any] | None:
        """The time and place of an expired evaluation; None if it is not one, or long ago."""
        return self._expired.get(number)

    def check_open(self, number: int, id: str) -> None:
        """Raise a ClosedSuggestionError for an expired evaluation."""
        if number in self._expired:
            raise ClosedSuggestionError(
                "an open ask", f"{id}, whose lease has expired", "Its result is still taken.", "id"
            )

    def set_back(self, latest: float) -> None:
        """Move later times of expired evaluations back."""
        self._expired = {
            number: (min(t, latest), place) for number, (t, place) in self._expired.items()
        }

    def to_json(self) -> dict[str, Any]:
        leases = [[number, lease.length, lease.until] for number, lease in self._open.items()]
        expired = [[number, t, place] for number, (t, place) in self._expired.items()]
        return {"leases": leases, "expired": expired}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Leases:
        """Read the leases of a snapshot."""
        leases = cls()
        for number, length, until in data["leases"]:
            leases.begin(as_whole(number, "number", least=0), length, until)
        for number, t, place in data["expired"]:
            leases._expired[as_whole(number, "number", least=0)] = as_number(t, "t"), place
        return leases
