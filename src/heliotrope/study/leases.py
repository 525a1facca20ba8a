"""Leases: how long an open evaluation waits for its result or its worker's next heartbeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heliotrope.errors import ClosedSuggestionError
from heliotrope.ledger import Suggestion
from heliotrope.validation import as_number, as_whole

_REMEMBERED = 10_000  # expired evaluations whose results are still taken


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
        if len(self._expired) > _REMEMBERED:
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
        found = cls()
        for number, length, until in data["leases"]:
            found.begin(as_whole(number, "number", least=0), length, until)
        for number, t, place in data["expired"]:
            found._expired[as_whole(number, "number", least=0)] = as_number(t, "t"), place
        return found
