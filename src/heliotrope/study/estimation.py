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
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist

from heliotrope.arrays import Array
from heliotrope.linalg import solve_lower
from heliotrope.study.models import KERNELS, Given, KernelName, Model

RATES = (1e-4, 1e-3, 0.006, 0.03, 0.15)  # of drift between two results
_SHARES = (1e-3, 0.01, 0.05, 0.2, 1.0)  # of noise
_LENGTHS = tuple(np.geomspace(0.06, 1.5, 7))  # as shares of the cube's diagonal
_USUAL_LENGTH, _USUAL_SHARE = 0.3, 0.05
_EXTRA = 2.0  # values of the usual size
_SAME = 1e-12  # spread of values, relative to their size, that is but rounding
_SMALLEST = 1e-90  # deviation whose square is a number still
_PACES = (1e-9, 1e9)


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
        self._r = (results.y - self._center) / self._spread
        self._lags = np.abs(results.t[:, None] - results.t[None, :]) / self._pace
        self._distances = cdist(results.x, results.x)
        self._diagonal = float(np.sqrt(results.x.shape[1]))

    def estimates(self, rates: Sequence[float]) -> Iterator[Estimate]:
        """All candidates, each with the mean and the variance that suit it."""
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
        n = len(self._r)
        L = cholesky(correlations + share * np.eye(n), lower=True, check_finite=False)
        r, one = solve_lower(L, np.column_stack([self._r, np.ones(n)])).T
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
        return KERNELS if self._given.kernel is None else (self._given.kernel,)

    def _lengths(self) -> Sequence[float]:
        if self._given.length_scale is not None:
            return (self._given.length_scale,)
        return [length * self._diagonal for length in _LENGTHS]

    def _shares(self) -> Sequence[float]:
        if self._given.noise is None or self._given.variance is None:
            return _SHARES
        return (self._given.noise / self._given.variance,)
