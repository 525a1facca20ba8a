"""Suggestions, observations, and the history of the observations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from heliotrope.errors import (
    FormatError,
)
from heliotrope.precision import USUAL, Precision
from heliotrope.validation import Array, Indices, counted


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

    @property
    def has_own_noise(self) -> bool:
        """Whether any result has its own noise."""
        variances, repeats = self._noise[: self._length].T
        return not bool(np.isnan(variances).all() and (repeats == 1.0).all())

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
