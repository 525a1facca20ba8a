"""The ledger of an optimizer: its suggestions and observations, and their times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from heliotrope.errors import ClosedSuggestionError, InputError, TimeError, UnknownSuggestionError
from heliotrope.history import History, Observation, Suggestion
from heliotrope.precision import Precision
from heliotrope.serialization import codec
from heliotrope.serialization.codec import part, under
from heliotrope.validation import Array, Indices, as_number, as_whole

_REMEMBERED = 1000  # failures, and points with results that are compared with them
_MOST_IN_A_ROW = 30


@dataclass(frozen=True)
class Visible:
    """Which observations a policy sees: some of the first ``end``, and all later ones.

    Of the first ``end`` observations it sees those from number ``first`` on whose time is
    ``since`` or later.
    """

    first: int = 0
    end: int = 0
    since: float = -np.inf

    @classmethod
    def last(cls, history: History, count: int | None, since: float) -> Visible:
        """The last ``count`` observations of a history (None: all), from the time ``since`` on."""
        end = len(history)
        shown = end if count is None else min(as_whole(count, "last", least=0), end)
        return cls(end - shown, end, float(since))

    def of(self, history: History) -> list[Observation]:
        """Return the visible observations of a history, in its order."""
        early = history[self.first : self.end]
        return [one for one in early if one.t >= self.since] + history[self.end :]


@dataclass(frozen=True, eq=False)
class Failure:
    """A failed evaluation at point ``x``, after ``told`` results.

    ``row`` is the id of the first one of its row, which has ``in_a_row`` failures. The latest of
    them came after ``asked`` asks.
    """

    x: Array
    told: int
    row: int
    asked: int
    in_a_row: int

    @property
    def until(self) -> int:
        """The number of asks from which the place is no longer avoided."""
        return self.asked + (1 << self.in_a_row)


class Ledger:
    """All suggestions and observations of an optimizer; times never decrease."""

    def __init__(self, dimension: int) -> None:
        self.history = History(dimension)
        self.open: dict[int, Suggestion] = {}
        self.visible = Visible()
        self.asked = 0
        self.failures: list[Failure] = []  # the latest ones, and none where a result followed
        self._latest = -np.inf  # of all suggestions and observations

    @property
    def latest(self) -> float:
        """The latest time of a suggestion or observation; 0 if there is none."""
        return 0.0 if np.isinf(self._latest) else self._latest

    def is_past(self, t: float) -> bool:
        """Whether a time precedes the latest one."""
        return t < self._latest

    def time(self, t: float | None) -> float:
        """Check the time of a suggestion; by default it is one unit after the latest time."""
        if t is None:
            return max(self._next_step(), 1.0)
        t = as_number(t, "t")
        if self.is_past(t):
            raise TimeError(f"a time of at least {self._latest:g}, the latest seen", f"{t:g}")
        return t

    def _next_step(self) -> float:
        following = self._latest + 1.0
        if following == self._latest and np.isfinite(following):
            raise TimeError(
                f"times below {2.0**53:g}, beyond which a step of 1 changes nothing",
                f"{self._latest:g} as the latest one",
                "Give each ask its time.",
                "t",
            )
        return following

    def query_time(self, t: float | None) -> float:
        """Check the time of a query; by default it is the latest time."""
        return self.latest if t is None else as_number(t, "t")

    def begin(self, suggestion: Suggestion) -> None:
        self.open[suggestion.id] = suggestion
        self.asked += 1
        self._latest = suggestion.t

    def tell(self, done: Suggestion, y: float, precision: Precision) -> None:
        self.cancel(done)
        self._append(done.told(y, precision))

    def cancel(self, suggestion: Suggestion) -> None:
        del self.open[suggestion.id]

    def fail(self, failed: Suggestion, before: Failure | None) -> None:
        """Note that an evaluation failed; it continues the row of the failure ``before``."""
        row, count = (failed.id, 0) if before is None else (before.row, before.in_a_row)
        latest: dict[str, Any] = {
            "asked": self.asked,
            "in_a_row": min(count + 1, _MOST_IN_A_ROW),
        }
        others = [one for one in self.failures if not np.array_equal(one.x, failed.x)]
        others = [replace(one, **latest) if one.row == row else one for one in others]
        new = Failure(failed.x, len(self.history), row, **latest)
        self.failures = [*others, new][-_REMEMBERED:]

    def latest_points(self) -> Array:
        """The points of the latest results, (n, d)."""
        return self.history.x[-_REMEMBERED:]

    def recent_failures(self) -> list[Failure]:
        """The failures whose places are avoided now."""
        return [one for one in self.failures if self.asked < one.until]

    def set_back(self, latest: float) -> None:
        """Replace all later times by ``latest``."""
        self.history._set_back(latest)
        self.open = {id: replace(one, t=min(one.t, latest)) for id, one in self.open.items()}
        self._latest = min(self._latest, latest)

    def add(self, observations: Iterable[Observation]) -> None:
        """Record observations without a suggestion."""
        for observation in observations:
            self._append(observation)
            self._latest = max(self._latest, observation.t)

    def _append(self, observation: Observation) -> None:
        self.history._append(observation)
        if self.failures:
            x = observation.x
            self.failures = [one for one in self.failures if not np.array_equal(one.x, x)]

    def lookup(self, suggestion: Suggestion | int) -> Suggestion:
        """Return an open suggestion, given itself or its id."""
        key = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise InputError("a Suggestion or its id", repr(suggestion))
        known = self.open.get(int(key))
        if known is None and 0 <= key < self.asked:
            raise ClosedSuggestionError(
                "an open suggestion", f"suggestion {key}, which was already told or cancelled"
            )
        if known is None or not _same(known, suggestion):
            raise UnknownSuggestionError("a suggestion of this optimizer", repr(suggestion))
        return known

    def parts(self) -> tuple[codec.JsonTree, codec.Arrays]:
        """Return the contents as a JSON tree and arrays, which must not be modified."""
        waiting = self.open.values()
        arrays: codec.Arrays = {
            "open_places": np.array([s.x if s.index is None else s.index for s in waiting])
        }
        header = {
            "asked": self.asked,
            "latest": codec.encode(float(self._latest), arrays),
            "open": [[s.id, s.t, s.reason] for s in waiting],
            "visible": codec.encode(astuple(self.visible), arrays),
            "failures": [[one.told, one.row, one.asked, one.in_a_row] for one in self.failures],
        }
        arrays["failed_points"] = np.array([one.x for one in self.failures])
        return header, arrays | under("history/", self.history.state())

    def restore(
        self,
        header: codec.JsonTree,
        arrays: codec.Arrays,
        suggestion_at: Callable[[int, float, Array | Indices], Suggestion],
    ) -> None:
        """Take over saved :meth:`parts`; ``suggestion_at`` rebuilds a suggestion."""
        self.asked = as_whole(header["asked"], "asked", least=0)
        self._latest = float(codec.decode(header["latest"], arrays))
        for (id, t, reason), place in zip(header["open"], arrays["open_places"], strict=True):
            key, t = as_whole(id, "id", least=0), as_number(t, "t")
            asked = suggestion_at(key, t, place)
            self.open[key] = replace(asked, reason=reason and str(reason))
        self.history = History.restored(part(arrays, "history/"))
        first, end, since = codec.decode(header["visible"], arrays)
        first, end = (as_whole(count, "a count", least=0) for count in (first, end))
        self.visible = Visible(first, end, float(since))
        self.failures = [
            Failure(x, *(as_whole(count, "a count", least=0) for count in row))
            for x, row in zip(arrays["failed_points"], header["failures"], strict=True)
        ]


def _same(known: Suggestion, given: Suggestion | int) -> bool:
    """Whether a given suggestion equals the known one of its id."""
    if given is known or not isinstance(given, Suggestion):
        return True
    return given.t == known.t and np.array_equal(given.x, known.x)
