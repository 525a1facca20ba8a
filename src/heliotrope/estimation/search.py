"""The likeliest model of some results: a search over a grid, in closed form where there is one.

Values are standardized first, so that their unit does not matter. For each candidate of the
kernel, its length scale, the drift between two results and the noise's share s of the variance v,
the values have the covariance v C with C = K o D + s I. Their mean m is that of generalized least
squares, and v = q / n. Weak priors take the place of data while there are few: lengths around 0.3
of the cube's diagonal, a small share of noise, two more values of the usual size.

Symbols
-------
n  results        r (n,)  standardized values        x (n, d)  points
K, D  (n, n) correlations in space and in time       q  (r - m)^T C^{-1} (r - m)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist

from heliotrope.arrays import Array
from heliotrope.estimation.models import KERNELS, Given, KernelName, Model

RATES = (1e-4, 1e-3, 0.006, 0.03, 0.15)  # of drift between two results
_SHARES = (1e-3, 0.01, 0.05, 0.2, 1.0)  # of noise
_LENGTHS = tuple(np.geomspace(0.06, 1.5, 7).tolist())  # as shares of the cube's diagonal
_USUAL_LENGTH, _USUAL_SHARE = 0.3, 0.05
_FEW = 5  # results, below which nothing but mean and variance is learned
_EXTRA = 2.0  # values of the usual size
_SAME = 1e-12  # spread of values, relative to their size, that is but rounding
_SMALLEST = 1e-90  # deviation whose square is a number still
_PACES = (1e-9, 1e9)
_RECENT, _LATEST, _APART = 300, 50, 50


@dataclass(frozen=True, eq=False)
class Results:
    """Times (n,), points (n, d) and values (n,) of some results."""

    t: Array
    x: Array
    y: Array

    @property
    def pace(self) -> float:
        """The usual time between two results."""
        gaps = np.diff(np.unique(self.t))
        return float(np.clip(np.median(gaps), *_PACES)) if len(gaps) else 1.0

    @property
    def spread(self) -> float:
        """The deviation of the values; of equal ones a thousandth of their size."""
        size, found = float(np.abs(self.y).max()), float(np.std(self.y))
        return found if found > max(_SAME * size, _SMALLEST) else max(1e-3 * size, 1e-6)


def telling(results: Results) -> Results:
    """Some of the results: the latest, which show noise and drift, and others that lie apart.

    The latest alone may all lie around the maximum, and say little of the mean and the variance.
    """
    recent = Results(results.t[-_RECENT:], results.x[-_RECENT:], results.y[-_RECENT:])
    if len(recent.y) <= _LATEST:
        return recent
    older, chosen = recent.x[-_LATEST - 1 :: -1], list[int]()  # the newest first
    gaps = cdist(older, recent.x[-_LATEST:]).min(axis=1)
    for _ in range(min(_APART, len(older))):
        chosen.append(int(gaps.argmax()))
        gaps = np.minimum(gaps, cdist(older, older[chosen[-1:]])[:, 0])
        gaps[chosen[-1]] = -1.0
    first = len(older)
    places = np.append(first - 1 - np.sort(chosen)[::-1], np.arange(first, first + _LATEST))
    return Results(recent.t[places], recent.x[places], recent.y[places])


@dataclass(frozen=True)
class Estimate:
    """A model, and the logarithm of its posterior density up to a constant of the results."""

    model: Model
    score: float


def estimate(results: Results, given: Given, rates: Sequence[float] = RATES) -> Estimate:
    """The likeliest model, in which what is given stays."""
    return max(_Search(results, given).estimates(rates), key=lambda found: found.score)


def correlation(kernel: KernelName, distances: Array) -> Array:
    """Correlation over distances in units of the length scale."""
    if kernel == "se":
        return np.asarray(np.exp(-0.5 * distances**2))
    r = np.sqrt(5.0) * distances
    return np.asarray((1.0 + r + r**2 / 3.0) * np.exp(-r))


class _Search:
    def __init__(self, results: Results, given: Given) -> None:
        self._given, self._pace = given, results.pace
        self._center, self._spread = float(np.mean(results.y)), results.spread
        r = (results.y - self._center) / self._spread
        self._columns = np.column_stack([r, np.ones_like(r)])
        self._lags = np.abs(results.t[:, None] - results.t[None, :]) / self._pace
        self._distances = cdist(results.x, results.x)
        self._diagonal = float(np.sqrt(results.x.shape[1]))
        self._few = len(results.y) < _FEW

    def estimates(self, rates: Sequence[float]) -> Iterator[Estimate]:
        """All candidates, each with the mean and the variance that suit it."""
        rates = rates[:1] if self._few else rates
        decays = [(1.0 - rate) ** (0.5 * self._lags) for rate in rates]
        for kernel, length in product(self._kernels(), self._lengths()):
            K = correlation(kernel, self._distances / length)
            for D, share in product(decays, self._shares()):
                mean, variance, score = self._fit(K * D, share)
                mean, variance = self._center + self._spread * mean, self._spread**2 * variance
                model = Model(mean, variance, share * variance, kernel, length, self._pace)
                surprise = log(length / (_USUAL_LENGTH * self._diagonal)) ** 2
                surprise += (0.5 * log(share / _USUAL_SHARE)) ** 2
                yield Estimate(self._given.over(model), score - 0.5 * surprise)

    def _fit(self, correlations: Array, share: float) -> tuple[float, float, float]:
        """Mean and variance of the standardized values, and their log likelihood."""
        n = len(self._columns)
        L, _ = lapack.dpotrf(correlations + share * np.eye(n), lower=1)  # many, so the bare ones
        r, one = lapack.dtrtrs(L, self._columns, lower=1)[0].T
        mean = float(one @ r / (one @ one))
        if self._given.mean is not None:
            mean = (self._given.mean - self._center) / self._spread
        q = float(np.sum((r - mean * one) ** 2)) + _EXTRA
        variance = self._variance(share) or q / (n + _EXTRA)
        log_det = 2.0 * float(np.log(np.diag(L)).sum())
        return mean, variance, -0.5 * (log_det + (n + _EXTRA) * log(variance) + q / variance)

    def _variance(self, share: float) -> float | None:
        """The standardized variance, if it follows from what was given."""
        if self._given.variance is not None:
            return self._given.variance / self._spread**2
        return None if self._given.noise is None else self._given.noise / share / self._spread**2

    def _kernels(self) -> Sequence[KernelName]:
        if self._given.kernel is not None:
            return (self._given.kernel,)
        return KERNELS[:1] if self._few else KERNELS

    def _lengths(self) -> Sequence[float]:
        if self._given.length_scale is not None:
            return (self._given.length_scale,)
        lengths = (_USUAL_LENGTH,) if self._few else _LENGTHS
        return [length * self._diagonal for length in lengths]

    def _shares(self) -> Sequence[float]:
        if self._given.noise is not None and self._given.variance is not None:
            return (self._given.noise / self._given.variance,)
        return (_USUAL_SHARE,) if self._few else _SHARES
