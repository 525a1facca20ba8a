"""Evaluations asked for and told: compact columns that read like a sequence of observations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import overload

import numpy as np

from heliotrope.errors import FormatError
from heliotrope.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Evaluate f at ``x`` (``index`` in a Finite domain) at time ``t``, and tell the result.

    In a contextual problem the last coordinates of x are the ``context`` that was given, and the
    others the ``choice``; else the context is None and the choice all of x.
    """

    id: int
    t: float
    x: Array
    index: int | None = None
    context: Array | None = None

    @property
    def choice(self) -> Array:
        """What was chosen of x."""
        return self.x if self.context is None else self.x[: len(self.x) - len(self.context)]


@dataclass(frozen=True, eq=False)
class Observation:
    """One told result: value ``y`` at point ``x`` (of ``index``, in a Finite domain), time ``t``.

    ``id`` is the suggestion's, or None for a result that was measured before.
    """

    t: float
    x: Array
    y: float
    index: int | None = None
    id: int | None = None


class History:
    """The told observations, in the order of telling: len, indexing, slices and iteration.

    ``t``, ``x``, ``y`` and ``index`` are whole columns (copies; index is -1 in a Box).
    """

    def __init__(self, dimension: int) -> None:
        self._length = 0
        self._numbers = np.empty((16, dimension + 2))  # t, y, x
        self._labels = np.empty((16, 2), dtype=np.intp)  # index, id

    def _append(self, observation: Observation) -> None:
        """Add one observation at the end; the optimizer's business alone."""
        if self._length == len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.empty_like(self._numbers)])
            self._labels = np.concatenate([self._labels, np.empty_like(self._labels)])
        self._numbers[self._length] = observation.t, observation.y, *observation.x
        self._labels[self._length] = [
            -1 if label is None else label for label in (observation.index, observation.id)
        ]
        self._length += 1

    @property
    def t(self) -> Array:
        """Times, (n,)."""
        return self._numbers[: self._length, 0].copy()

    @property
    def y(self) -> Array:
        """Values, (n,)."""
        return self._numbers[: self._length, 1].copy()

    def latest(self, count: int) -> tuple[Array, Array, Array]:
        """Times, points and values told last, at most ``count``, by time."""
        numbers = self._numbers[max(self._length - count, 0) : self._length]
        by_time = numbers[np.argsort(numbers[:, 0], kind="stable")]
        return by_time[:, 0], by_time[:, 2:], by_time[:, 1]

    @property
    def x(self) -> Array:
        """Points, (n, d)."""
        return self._numbers[: self._length, 2:].copy()

    @property
    def index(self) -> Indices:
        """Places in a Finite domain, (n,)."""
        return self._labels[: self._length, 0].copy()

    def of(self, id: int) -> Observation | None:
        """What was told for a suggestion, None if there is nothing."""
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
        return f"History({self._length} observations)"

    def _at(self, i: int) -> Observation:
        t, y, *x = self._numbers[i].tolist()
        index, id = (None if label < 0 else label for label in self._labels[i].tolist())
        return Observation(t, np.array(x), y, index, id)

    def state(self) -> dict[str, Array | Indices]:
        """Return the columns as arrays."""
        return {
            "numbers": self._numbers[: self._length].copy(),
            "labels": self._labels[: self._length].copy(),
        }

    @classmethod
    def restored(cls, state: dict[str, Array | Indices]) -> History:
        """Rebuild a history from :meth:`state`."""
        if len(state["numbers"]) != len(state["labels"]):
            raise FormatError("as many labels as observations", str(len(state["labels"])))
        history = cls(state["numbers"].shape[1] - 2)
        if len(state["numbers"]):
            history._length = len(state["numbers"])
            history._numbers = np.array(state["numbers"], dtype=float)
            history._labels = np.array(state["labels"], dtype=np.intp)
        return history
