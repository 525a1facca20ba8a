"""The ledger of an optimizer: its suggestions, the history of its observations, and their times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from typing import Any, overload

import numpy as np

from heliotrope.errors import (
    ClosedSuggestionError,
    FormatError,
    InputError,
    TimeError,
    UnknownSuggestionError,
)
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization import codec
from heliotrope.serialization.codec import part, under
from heliotrope.validation import Array, Indices, as_number, as_whole, counted

_REMEMBERED = 1000  # failures, and points with results that are compared with them
_MOST_IN_A_ROW = 30


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Evaluate f at ``x`` (``index`` in a Finite domain) at time ``t``, and tell the result.

    In a contextual problem x is the ``choice`` followed by the ``context``. Otherwise the context
    is None and the choice is x. In a SearchSpace ``params`` are the values by name; among Options
    ``option`` is the name. Without names both are empty. ``reason`` says why a live system's rules
    chose it.
    """

    id: int
    t: float
    x: Array
    index: int | None = None
    context: Array | None = None
    params: dict[str, Any] = field(default_factory=dict)
    option: str = ""
    reason: str | None = None

    @property
    def choice(self) -> Array:
        """The coordinates of x that were chosen."""
        return self.x if self.context is None else self.x[: len(self.x) - len(self.context)]

    @property
    def place(self) -> Array | Indices:
        """The place in the domain: an index (1,), or a point (1, d)."""
        return self.x[None] if self.index is None else np.array([self.index])

    def told(self, y: float, precision: Precision = USUAL) -> Observation:
        """The observation of a value here."""
        return Observation(self.t, self.x, y, self.index, self.id, precision)


@dataclass(frozen=True, eq=False)
class Observation:
    """One result: value ``y`` at point ``x`` (``index`` in a Finite domain) and time ``t``.

    ``id`` is the suggestion's id, or None for a result without a suggestion. ``precision`` is the
    noise of this result.
    """

    t: float
    x: Array
    y: float
    index: int | None = None
    id: int | None = None
    precision: Precision = USUAL

    @property
    def place(self) -> Array | Indices:
        """The place in the domain: an index (1,), or a point (1, d)."""
        return self.x[None] if self.index is None else np.array([self.index])


class History:
    """The observations in the order in which they were told, as a sequence and as columns.

    The columns ``t`` (n,), ``x`` (n, d), ``y`` (n,), ``index`` (n,), ``std`` (n,) and ``n`` (n,)
    are copies. The index refers to a Finite domain, and is -1 in a Box. ``std`` is the standard
    error of y, or NaN where it is not known. ``n`` is the number of repeats that y averages.
    """

    def __init__(self, dimension: int) -> None:
        self._length = 0
        self._numbers = np.empty((16, dimension + 2))  # t, y, x
        self._labels = np.empty((16, 2), dtype=np.intp)  # index, id
        self._noise = np.empty((16, 2))  # variance or NaN, repeats

    def _append(self, observation: Observation) -> None:
        """Append an observation; only the ledger calls this."""
        if self._length == len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.empty_like(self._numbers)])
            self._labels = np.concatenate([self._labels, np.empty_like(self._labels)])
            self._noise = np.concatenate([self._noise, np.empty_like(self._noise)])
        self._numbers[self._length] = observation.t, observation.y, *observation.x
        self._labels[self._length] = [
            -1 if label is None else label for label in (observation.index, observation.id)
        ]
        self._noise[self._length] = observation.precision.row
        self._length += 1

    def _set_back(self, latest: float) -> None:
        """Replace all later times; only the ledger calls this."""
        self._numbers = self._numbers.copy()  # states that were returned stay as they are
        times = self._numbers[: self._length, 0]
        np.minimum(times, latest, out=times)

    @property
    def t(self) -> Array:
        return self._numbers[: self._length, 0].copy()

    @property
    def x(self) -> Array:
        return self._numbers[: self._length, 2:].copy()

    @property
    def y(self) -> Array:
        return self._numbers[: self._length, 1].copy()

    @property
    def index(self) -> Indices:
        return self._labels[: self._length, 0].copy()

    @property
    def std(self) -> Array:
        return np.sqrt(self._noise[: self._length, 0])

    @property
    def n(self) -> Indices:
        return self._noise[: self._length, 1].astype(np.intp)

    def latest(self, count: int) -> tuple[Array, Array, Array, Array]:
        """The last ``count`` observations, sorted by time.

        Times, points, values, and noise (count, 2): variances or NaN, and repeats.
        """
        last = slice(max(self._length - count, 0), self._length)
        numbers = self._numbers[last]
        order = np.argsort(numbers[:, 0], kind="stable")
        by_time = numbers[order]
        return by_time[:, 0], by_time[:, 2:], by_time[:, 1], self._noise[last][order]

    def of(self, id: int) -> Observation | None:
        """Return the observation of a suggestion, or None."""
        if self._length and self._labels[self._length - 1, 1] == id:  # the usual case
            return self._at(self._length - 1)
        at = np.flatnonzero(self._labels[: self._length, 1] == id)
        return self._at(int(at[0])) if len(at) else None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, item: int) -> Observation: ...
    @overload
    def __getitem__(self, item: slice) -> list[Observation]: ...
    def __getitem__(self, item: int | slice) -> Observation | list[Observation]:
        if isinstance(item, slice):
            return [self._at(i) for i in range(*item.indices(self._length))]
        if not -self._length <= item < self._length:
            raise IndexError(f"observation {item} of {self._length}")
        return self._at(item % self._length)

    def __iter__(self) -> Iterator[Observation]:
        return (self._at(i) for i in range(self._length))

    def __repr__(self) -> str:
        return f"History({counted(self._length, 'observation')})"

    def _at(self, i: int) -> Observation:
        t, y, *x = self._numbers[i].tolist()
        index, id = (None if label < 0 else label for label in self._labels[i].tolist())
        own = Precision.from_row(self._noise[i].tolist())
        return Observation(t, np.array(x), y, index, id, own)

    def state(self) -> dict[str, Array | Indices]:
        """Return the columns as arrays, which must not be modified."""
        return {
            "numbers": self._numbers[: self._length],
            "labels": self._labels[: self._length],
            "noise": self._noise[: self._length],
        }

    @classmethod
    def restored(cls, state: dict[str, Array | Indices]) -> History:
        """Rebuild a history from :meth:`state`."""
        count = len(state["numbers"])
        if not count == len(state["labels"]) == len(state["noise"]):
            raise FormatError("one label per observation", str(len(state["labels"])))
        history = cls(state["numbers"].shape[1] - 2)
        history._length = count
        history._numbers = np.concatenate([state["numbers"], history._numbers])
        history._labels = np.concatenate([state["labels"], history._labels])
        history._noise = np.concatenate([state["noise"], history._noise])
        return history


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
        since = [observation for observation in early if observation.t >= self.since]
        return since + history[self.end :]


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
        failures = [other for other in self.failures if not np.array_equal(other.x, failed.x)]
        failures = [replace(other, **latest) if other.row == row else other for other in failures]
        new = Failure(failed.x, len(self.history), row, **latest)
        self.failures = [*failures, new][-_REMEMBERED:]

    def latest_points(self) -> Array:
        """The points of the latest results, (n, d)."""
        return self.history.x[-_REMEMBERED:]

    def recent_failures(self) -> list[Failure]:
        """The failures whose places are avoided now."""
        return [failure for failure in self.failures if self.asked < failure.until]

    def set_back(self, latest: float) -> None:
        """Replace all later times by ``latest``."""
        self.history._set_back(latest)
        self.open = {id: replace(s, t=min(s.t, latest)) for id, s in self.open.items()}
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
            self.failures = [past for past in self.failures if not np.array_equal(past.x, x)]

    def lookup(self, suggestion: Suggestion | int) -> Suggestion:
        """Return an open suggestion, given itself or its id."""
        key = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise InputError("a Suggestion or its id", repr(suggestion))
        recorded = self.open.get(int(key))
        if recorded is None and 0 <= key < self.asked:
            raise ClosedSuggestionError(
                "an open suggestion", f"suggestion {key}, which was already told or cancelled"
            )
        if recorded is None or not _same(recorded, suggestion):
            raise UnknownSuggestionError("a suggestion of this optimizer", repr(suggestion))
        return recorded

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
            "failures": [
                [past.told, past.row, past.asked, past.in_a_row] for past in self.failures
            ],
        }
        arrays["failed_points"] = np.array([failure.x for failure in self.failures])
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


def _same(recorded: Suggestion, suggestion: Suggestion | int) -> bool:
    """Whether a given suggestion equals the recorded one of its id."""
    if suggestion is recorded or not isinstance(suggestion, Suggestion):
        return True
    return suggestion.t == recorded.t and np.array_equal(suggestion.x, recorded.x)
