"""The results of an optimizer, from which its model is estimated while tracking."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from heliotrope.lazy import lazy_module
from heliotrope.validation import Array, Indices

distance = lazy_module("scipy.spatial.distance")

FEWEST_WITH_FAULTS = 8  # results; fewer do not say what is implausible
# Deviations from a prediction. The normal density there, 1.3e-4, is about that of a fault: one
# value in a hundred, spread evenly over a hundred deviations.
IMPLAUSIBLE = 4.0
_SAME = 1e-12  # spread of values, relative to their size, that is only rounding
_SMALLEST = 1e-90  # deviation whose square does not underflow
_PACES = (1e-100, 1e100)
_PAUSES, _GAPS = 3, 10  # at most three pauses are left out, and at most one gap in ten
_LATEST, _APART = 150, 100
_ERRORS = 3.0  # standard errors within which a deviation may be noise


def usual_noise(count: int) -> Array:
    """The noise (count, 2) of usual results: no variance of their own, one repeat."""
    return np.tile([np.nan, 1.0], (count, 1))


@dataclass(frozen=True, eq=False)
class Results:
    """Times (n,), points (n, d) in the unit cube and values (n,) of results, in order of time.

    ``noise`` (n, 2) has their own variances (NaN for the usual noise) and repeats.
    """

    t: Array
    x: Array
    y: Array
    noise: Array = field(default_factory=partial(usual_noise, 0))

    def __post_init__(self) -> None:
        if not len(self.noise):
            object.__setattr__(self, "noise", usual_noise(len(self.y)))

    @property
    def cautious(self) -> Array:
        """The values for the detection of outliers.

        A value with its own variance moves towards the median by up to three standard errors.

        Examples
        --------
        >>> noise = np.array([[np.nan, 1.0]] * 3 + [[100.0, 1.0]])
        >>> y = np.array([1.0, 2.0, 3.0, 50.0])
        >>> Results(np.arange(4.0), np.zeros((4, 1)), y, noise).cautious
        array([ 1.,  2.,  3., 20.])
        """
        y, variances = self.y, self.noise[:, 0]
        if np.isnan(variances).all():
            return y
        reach = _ERRORS * np.sqrt(np.nan_to_num(variances))
        return np.asarray(y - np.clip(y - np.median(y), -reach, reach))

    @property
    def precise(self) -> Array:
        """The values of the half with the least own noise, with ties; usual noise counts as 0."""
        own = np.nan_to_num(self.noise[:, 0])
        return self.y[own <= np.median(own)]

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
        """The deviation of the precise values.

        For one value it is its size, for equal ones 1/1000 of that.
        """
        values = self.precise
        size, deviation = float(np.abs(values).max()), float(np.std(values))
        if len(values) == 1:  # how much others differ is unknown
            return max(size, _SMALLEST) if size else 1.0
        return deviation if deviation > max(_SAME * size, _SMALLEST) else max(1e-3 * size, 1e-6)

    @property
    def rounding(self) -> float:
        """The variance of rounding, if most values are repeated ones, such as counts; else 0.

        Values that are rounded to multiples of q have an error with the variance q^2 / 12.
        """
        values, counts = np.unique(self.y, return_counts=True)
        repeated = values[counts > 1]
        if len(repeated) < 2 or 2 * counts[counts > 1].sum() <= len(self.y):
            return 0.0
        return float(np.diff(repeated).min()) ** 2 / 12.0

    def at(self, places: Indices | slice) -> Results:
        """Some of the results."""
        return Results(self.t[places], self.x[places], self.y[places], self.noise[places])

    def followed_by(self, later: Results) -> Results:
        """These results and then others."""
        pairs = zip(self._columns, later._columns, strict=True)
        return Results(*map(np.concatenate, pairs))

    @property
    def _columns(self) -> tuple[Array, ...]:
        return self.t, self.x, self.y, self.noise

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
        chosen, gaps = list[int](), distance.cdist(z[:older], z[older:]).min(axis=1)
        for _ in range(apart):
            chosen.append(int(gaps.argmax()))
            gaps = np.minimum(gaps, distance.cdist(z[:older], z[chosen[-1:]])[:, 0])
            gaps[chosen[-1]] = -1.0
        return np.append(np.sort(chosen), np.arange(older, len(self.t)))
