"""The books of an optimizer: what was asked, what was told, and what is open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np

from heliotrope.domains.adapter import Ground
from heliotrope.errors import (
    ClosedSuggestionError,
    InputError,
    TimeError,
    UnknownSuggestionError,
)
from heliotrope.history import History, Observation, Suggestion
from heliotrope.serialization import codec
from heliotrope.serialization.state import part, under
from heliotrope.validation import as_number, as_whole


@dataclass(frozen=True)
class Counting:
    """Which results count: all but what was left out of the first ``told``.

    Of those count the ones from number ``first`` on whose times are ``since`` then.
    """

    first: int = 0
    told: int = 0
    since: float = -np.inf

    def among(self, history: History) -> list[Observation]:
        """The results that count, in the order of telling."""
        seen = [one for one in history[self.first : self.told] if one.t >= self.since]
        return seen + history[self.told :]


class Ledger:
    """Suggestions by number, times that never run backwards, and the history of results."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.history = History(ground.domain.dimension)
        self.open: dict[int, Suggestion] = {}
        self.counting = Counting()
        self.asked = 0
        self._latest = -np.inf  # of all times asked for or told

    @property
    def latest(self) -> float:
        """The latest time asked for or told, 0 before any."""
        return 0.0 if np.isinf(self._latest) else self._latest

    def is_past(self, t: float) -> bool:
        """Whether a time lies before the latest one."""
        return t < self._latest

    def time(self, t: float | None) -> float:
        """A time to ask for: as given, but not before the latest; by default one unit after it."""
        if t is None:
            return max(self._latest + 1.0, 1.0)
        t = as_number(t, "t")
        if self.is_past(t):
            raise TimeError(f"a time of at least {self._latest:g}, the latest seen", f"{t:g}")
        return t

    def begin(self, suggestion: Suggestion) -> None:
        """Write down a suggestion as open."""
        self.open[suggestion.id] = suggestion
        self.asked += 1
        self._latest = suggestion.t

    def tell(self, suggestion: Suggestion, y: float) -> None:
        """Write down the result of an open suggestion."""
        self.cancel(suggestion)
        s = suggestion
        self.history._append(Observation(s.t, s.x, y, s.index, s.id))

    def cancel(self, suggestion: Suggestion) -> None:
        """Strike out an open suggestion."""
        del self.open[suggestion.id]

    def add(self, observations: Iterable[Observation]) -> None:
        """Write down results that nobody asked for."""
        for observation in observations:
            self.history._append(observation)
            self._latest = max(self._latest, observation.t)

    def lookup(self, suggestion: Suggestion | int) -> Suggestion:
        """The open suggestion of an id, or the same one as given."""
        key = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise InputError("a Suggestion or its id", repr(suggestion))
        known = self.open.get(int(key))
        if known is None and 0 <= key < self.asked:
            raise ClosedSuggestionError(
                "an open suggestion", f"suggestion {key}, which was told or cancelled before"
            )
        if known is None or not _same(known, suggestion):
            raise UnknownSuggestionError("a suggestion of this optimizer", repr(suggestion))
        return known

    def parts(self) -> tuple[codec.Json, codec.Arrays]:
        """Everything as a JSON tree and arrays, not to be changed."""
        waiting = self.open.values()
        arrays: codec.Arrays = {
            "open_places": np.array([s.x if s.index is None else s.index for s in waiting])
        }
        header = {
            "asked": self.asked,
            "latest": codec.encode(float(self._latest), arrays),
            "open": [[s.id, s.t] for s in waiting],
        }
        if self.counting != Counting():
            header["counting"] = codec.encode(astuple(self.counting), arrays)
        return header, arrays | under("history/", self.history.state())

    def restore(self, header: codec.Json, arrays: codec.Arrays) -> None:
        """Become the ledger whose :meth:`parts` are among these."""
        self.asked = as_whole(header["asked"], "asked", least=0)
        self._latest = float(codec.decode(header["latest"], arrays))
        for (id, t), place in zip(header["open"], arrays["open_places"], strict=True):
            key, t = as_whole(id, "id", least=0), as_number(t, "t")
            self.open[key] = self._ground.suggestion(key, t, self._ground.saved(place[None]))
        self.history = History.restored(part(arrays, "history/"))
        if "counting" in header:  # nothing was left out before files had it
            first, told, since = codec.decode(header["counting"], arrays)
            first, told = (as_whole(count, "a count", least=0) for count in (first, told))
            self.counting = Counting(first, told, float(since))


def _same(known: Suggestion, given: Suggestion | int) -> bool:
    """Whether a suggestion is the one of that id, and not another optimizer's."""
    if given is known or not isinstance(given, Suggestion):
        return True
    return given.t == known.t and np.array_equal(given.x, known.x)
