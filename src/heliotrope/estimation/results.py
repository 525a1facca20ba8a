"""Results in the unit cube, and the selection of those to estimate a model from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from heliotrope.validation import Array, Indices

_SAME = 1e-12  # spread of values, relative to their size, that is only rounding
_SMALLEST = 1e-90  # deviation whose square does not underflow
_PACES = (1e-100, 1e100)
_PAUSES, _GAPS = 3, 10  # at most three pauses are left out, and at most one gap in ten
_LATEST, _APART = 150, 100


@dataclass(frozen=True, eq=False)
class Results:
    """Times (n,), points (n, d) in the unit cube and values (n,) of some results, by time."""

    t: Array
    x: Array
    y: Array

    @property
    def pace(self) -> float:
        """The mean time between two of the latest results, without a few long pauses.

        Only the latest count, since some older ones may have been dropped. The median would be
        almost zero where results come in bursts.
        """
        gaps = np.sort(np.diff(np.unique(np.sort(self.t)[-_LATEST:])))
        usual = gaps[: len(gaps) - min(_PAUSES, len(gaps) // _GAPS)]
        return float(np.clip(np.mean(usual), *_PACES)) if len(usual) else 1.0

    @property
    def spread(self) -> float:
        """The deviation of the values; for one value its size, for equal ones 1/1000 of that."""
        size, found = float(np.abs(self.y).max()), float(np.std(self.y))
        if len(self.y) == 1:  # how much others differ is unknown
            return max(size, _SMALLEST) if size else 1.0
        return found if found > max(_SAME * size, _SMALLEST) else max(1e-3 * size, 1e-6)

    def at(self, places: Indices | slice) -> Results:
        """Some of the results."""
        return Results(self.t[places], self.x[places], self.y[places])

    def informative(self) -> Results:
        """The latest results, which show noise and drift, and older ones that lie apart.

        The latest alone may all lie near the maximum, and say little of the mean and the variance.
        """
        return self.at(self.select(_LATEST, _APART))

    def select(self, latest: int, apart: int) -> Indices:
        """Indices of the latest results, and of older ones far apart in space and time, in order.

        Time counts as one more coordinate of the cube. Each older one is the farthest from all
        selected before it.
        """
        older = len(self.t) - latest
        if older <= apart:
            return np.arange(len(self.t))
        age = (self.t - self.t[0]) / max(float(self.t[-1] - self.t[0]), _SMALLEST)
        z = np.column_stack([self.x, age])
        chosen, gaps = list[int](), cdist(z[:older], z[older:]).min(axis=1)
        for _ in range(apart):
            chosen.append(int(gaps.argmax()))
            gaps = np.minimum(gaps, cdist(z[:older], z[chosen[-1:]])[:, 0])
            gaps[chosen[-1]] = -1.0
        return np.append(np.sort(chosen), np.arange(older, len(self.t)))
