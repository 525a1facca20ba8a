"""Results, and which of them to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from heliotrope.validation import Array, Indices

_SAME = 1e-12  # spread of values, relative to their size, that is but rounding
_SMALLEST = 1e-90  # deviation whose square is a number still
_PACES = (1e-100, 1e100)
_PAUSES, _GAPS = 3, 10  # pauses that may be, one of so many gaps
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

        Of the latest alone, since of those before some may be left out. Not the median: where
        several come in bursts, most gaps are next to nothing.
        """
        gaps = np.sort(np.diff(np.unique(np.sort(self.t)[-_LATEST:])))
        usual = gaps[: len(gaps) - min(_PAUSES, len(gaps) // _GAPS)]
        return float(np.clip(np.mean(usual), *_PACES)) if len(usual) else 1.0

    @property
    def spread(self) -> float:
        """The deviation of the values: of one its size, of equal ones a thousandth of that."""
        size, found = float(np.abs(self.y).max()), float(np.std(self.y))
        if len(self.y) == 1:  # nothing is known of how much others differ
            return max(size, _SMALLEST) if size else 1.0
        return found if found > max(_SAME * size, _SMALLEST) else max(1e-3 * size, 1e-6)

    def at(self, places: Indices | slice) -> Results:
        """Some of the results."""
        return Results(self.t[places], self.x[places], self.y[places])


def telling(results: Results) -> Results:
    """Some of the results: the latest, which show noise and drift, and others that lie apart.

    The latest alone may all lie around the maximum, and say little of the mean and the variance.
    """
    return results.at(spread_out(results.t, results.x, _LATEST, _APART))


def spread_out(t: Array, x: Array, latest: int, apart: int) -> Indices:
    """Where the latest results are, and others that lie apart in space and time, in order.

    Time counts as another coordinate of the cube. Each is the one farthest from those before.
    """
    older = len(t) - latest
    if older <= apart:
        return np.arange(len(t))
    age = (t - t[0]) / max(float(t[-1] - t[0]), _SMALLEST)
    z = np.column_stack([x, age])
    chosen, gaps = list[int](), cdist(z[:older], z[older:]).min(axis=1)
    for _ in range(apart):
        chosen.append(int(gaps.argmax()))
        gaps = np.minimum(gaps, cdist(z[:older], z[chosen[-1:]])[:, 0])
        gaps[chosen[-1]] = -1.0
    return np.append(np.sort(chosen), np.arange(older, len(t)))
