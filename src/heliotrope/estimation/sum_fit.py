"""The likelihood of a sum of terms, and its maximum.

Symbols
-------
n  results       g  groups of coordinates        r (n,)  standardized values, after the warp
theta (g + 8,)   logarithms of: g length scales, variances of stays, drifts and level, rates of
                 drifts and level (forgotten between two results), noise variance, variances of the
                 season of each place and of all; without a period the last two are left out
k, d, level, c (n, n)   correlations in space, and in time of drifts, level and season
K  k o (v_s + v_d d + v_c c) + v_l level + v_o c + S + m, S the noise (diagonal), m the variance of
   the mean

A world of one term holds some of theta: variances of 0, and what the user gave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import log, sqrt
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from heliotrope.estimation.results import FEWEST_WITH_FAULTS, IMPLAUSIBLE, Results
from heliotrope.estimation.world import (
    HARMONICS,
    KERNEL_NAMES,
    KernelName,
    OneTerm,
    World,
    decay,
    per_result,
    season_rate,
)
from heliotrope.lazy import lazy_module
from heliotrope.terms import Season
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, SinhArcsinh, Warp

distance = lazy_module("scipy.spatial.distance")
optimize = lazy_module("scipy.optimize")
special = lazy_module("scipy.special")

_LENGTH, _LENGTH_SPREAD = 0.2, 0.6  # of a length scale: median in one dimension, and log deviation
_USUAL = np.array([0.3, 0.5, 0.2, 0.03, 0.03, 0.02, 0.1, 0.1])  # medians of the others
_SPREAD = np.array([1.5, 1.5, 1.5, 1.5, 1.5, 2.0, 1.5, 1.5])  # and deviations of their logarithms
_LEAST = np.log([1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-4, 1e-4, 1e-4])
_MOST = np.log([20.0, 20.0, 20.0, 0.9, 0.9, 5.0, 20.0, 20.0])
_LENGTHS = np.log([0.02, 30.0])
_MEAN = 1.0  # variance of the standardized mean
_FEWEST = 3  # results; fewer say nothing about the parameters
_TINY = 1e-300  # whose logarithm is finite
_OWN_NOISE = (1e-6, 1e250)  # limits of the standardized noise variance of one result
_MANY = 100  # results, from which one search that starts at the last estimate is enough
_ITERATIONS = 30
_IMPOSSIBLE = 1e10  # score of parameters whose K cannot be factored
_EXCEEDED, _EXTRA = 0.35, 2.0  # probability of a higher variance; values that the priors stand for
_NOISY, _SHORT = 0.3, 0.5  # share of the variance that is unpredictable; usual lengths at most then
_FAULT = 6.0  # log odds against a fault of unknown size
_NEAR = 0.5  # usual length scales between two results that say something of each other
_SKEW = 1.0  # deviation of the skew of a warp


class Found(NamedTuple):
    """A world, its parameters, and the log density of the values with them."""

    world: World
    theta: Array
    score: float


class _Parts(NamedTuple):
    """K without m, and what it is made of; ``slope`` is dk by the squared distance."""

    K: Array
    k: Array
    slope: Array
    d: Array
    level: Array
    differs: Array  # v_s + v_d d + v_c c


class Fit:
    """The posterior density of the parameters, for one kernel, warp and period.

    ``structure`` is that of a world of one term, or None for the sum of all terms.
    """

    def __init__(
        self,
        results: Results,
        groups: Sequence[Sequence[int]],
        before: World | None = None,
        period: float = 0.0,
        structure: OneTerm | None = None,
    ) -> None:
        self._data, self._groups, self._before = results, groups, before
        self._structure, self._kernel = structure, KERNEL_NAMES[0]
        self._faulty = np.zeros(len(results.y), dtype=bool)
        self._squares = [
            distance.cdist(results.x[:, list(group)], results.x[:, list(group)], "sqeuclidean")
            for group in groups
        ]
        self._lags = np.abs(results.t[:, None] - results.t[None, :]) / results.pace
        self._repeats = results.noise[:, 1]
        self._see(IDENTITY)
        self._return_after(period)

    def with_kernel(self, kernel: KernelName) -> Fit:
        """The same fit with another kernel."""
        fit = copy(self)
        fit._kernel = kernel
        return fit

    def with_warp(self, warp: Warp) -> Fit:
        """The same fit of values that are warped in another way."""
        fit = copy(self)
        fit._see(warp)
        return fit

    def with_faults(self, faulty: NDArray[np.bool_]) -> Fit:
        """The same fit, in which some values count little, and not for the scale of the others."""
        fit = copy(self)
        fit._faulty = faulty
        fit._see(fit._warp)
        return fit

    def are_near_others(self, faulty: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which results have one near them that is not faulty."""
        squares = sum(self._squares) / np.exp(2.0 * self._usual[0])
        return np.asarray((squares[:, ~faulty] < _NEAR**2).any(axis=1))

    def with_period(self, period: float) -> Fit:
        """The same fit, with a season of a period."""
        fit = copy(self)
        fit._return_after(period)
        return fit

    def _see(self, warp: Warp) -> None:
        """Warp the values and standardize them."""
        results, before = self._data, self._before
        self._warp, y, slope = warp, warp.inside(results.y), warp.slope(results.y)
        inside = Results(results.t, results.x, y, results.noise).at(np.flatnonzero(~self._faulty))
        self._center, self._spread = float(np.mean(inside.precise)), inside.spread
        self._mean_variance = _MEAN
        if self._structure is not None and self._structure.mean is not None:
            self._center, self._mean_variance = self._structure.mean, 0.0
        self._results = len(y)
        if before is not None and before.results > len(y):
            as_before = before.unit_of(warp) * sqrt(before.mean_variance / _MEAN)
            self._spread = max(self._spread, as_before)
            self._results = before.results
        self._r = (y - self._center) / self._spread
        own = results.noise[:, 0] * np.square(slope / self._spread)
        self._own = np.where(self._faulty, np.square(self._r), own).clip(*_OWN_NOISE)
        self._is_usual = np.isnan(self._own)
        steep = float(np.median(slope)) / self._spread
        self._least_noise = log(max(results.rounding * steep**2, _TINY))
        self._jacobian = float(np.sum(np.log(slope))) - len(y) * log(self._spread)

    def _return_after(self, period: float) -> None:
        self._period = period / self._data.pace
        self._season = self._correlations_of_season()
        g, count = len(self._groups), len(_USUAL) if period else len(_USUAL) - 2
        sizes = [g if self._structure is None else len(group) for group in self._groups]
        lengths = [log(_LENGTH) + 0.5 * log(size) for size in sizes]
        self._usual = np.append(lengths, np.log(_USUAL[:count]))
        self._spreads = np.append(np.full(g, _LENGTH_SPREAD), _SPREAD[:count])

    @property
    def _held(self) -> Array:
        """The parameters that are held, as logarithms in the units of this fit; NaN if free."""
        held = np.full(len(self._usual), np.nan)
        structure, g = self._structure, len(self._groups)
        if structure is None:
            return held
        held[[g, g + 2, g + 4]] = -np.inf  # nothing stays, and no level is shared
        for i, group in enumerate(self._groups):
            length = structure.length_at(group[0])
            if length is not None:
                held[i] = log(length)
        for i, variance in ((g + 1, structure.variance), (g + 5, structure.noise)):
            if variance is not None:
                held[i] = log(variance) - 2.0 * log(self._spread)
        if structure.epsilon is not None:
            rate = per_result(structure.epsilon, self._data.pace)
            held[g + 3] = log(rate) if rate else -np.inf
        return held

    @property
    def _bounds(self) -> Array:
        """The least and the most of each parameter; the noise is at least that of rounding."""
        g = len(self._groups)
        limits = np.column_stack([_LEAST, _MOST])[: len(self._usual) - g]
        limits[5, 0] = np.clip(self._least_noise, *limits[5])
        return np.vstack([np.tile(_LENGTHS, (g, 1)), limits])

    def _correlations_of_season(self) -> Array | None:
        if not self._period:
            return None
        season = Season(1.0, self._period, HARMONICS, season_rate(self._period))
        return season.in_time(self._lags, np.zeros(1))

    def density(self, theta: Array) -> float:
        """The log density of the values and the parameters."""
        return self._density_of_score(self.score(theta)[0])

    def start(self) -> Array:
        """The parameters of the world before, or the usual ones."""
        theta = self._usual if self._before is None else self._theta(self._before)
        return self._holding(np.clip(theta, *self._bounds.T))

    def _holding(self, theta: Array) -> Array:
        """The parameters, with the held ones at their values."""
        held = self._held
        return np.where(np.isnan(held), theta, held)

    def best(self) -> Found:
        """The most likely world."""
        starts = [self.start()]
        if self._before is not None and len(self._r) < _MANY:
            starts.append(self._holding(self._usual))
        if len(self._r) < _FEWEST:
            theta = self._holding(self._usual)
            score = self.score(theta)[0]
        else:
            theta, score = min(map(self._climb, starts), key=itemgetter(1))
        return Found(self._world(theta), theta, self._density_of_score(score))

    def _density_of_score(self, score: float) -> float:
        skew = self._warp.skew if isinstance(self._warp, SinhArcsinh) else 0.0
        faults = _FAULT * np.count_nonzero(self._faulty)
        return self._jacobian - score - 0.5 * (skew / _SKEW) ** 2 - float(faults)

    def without_faults(self, best: Found) -> Fit | None:
        """The same fit, in which values that the others contradict count little; None without any.

        The value i has the error e_i = [K^{-1} r]_i / [K^{-1}]_ii, given all others, and the
        variance 1 / [K^{-1}]_ii. An implausible one gets a noise variance of e_i^2.
        """
        inverse = np.linalg.inv(self._parts(best.theta).K + self._mean_variance)
        precision = inverse.diagonal()
        error = (inverse @ self._r) / precision
        faulty = self._faulty | (np.abs(error) * np.sqrt(precision) > IMPLAUSIBLE)
        if len(self._r) < FEWEST_WITH_FAULTS or np.array_equal(faulty, self._faulty):
            return None
        fit = copy(self)
        fit._before = best.world
        fit._own = np.where(faulty, np.square(error), self._own)
        fit._is_usual = np.isnan(fit._own)
        return fit

    def score(self, theta: Array) -> tuple[float, Array]:
        """Minus the log posterior density of theta, up to a constant, and its gradient."""
        parts = self._parts(theta)
        L, failed = lapack.dpotrf(parts.K + self._mean_variance, lower=1)  # called often: no checks
        if failed:
            return _IMPOSSIBLE, np.zeros_like(theta)
        a = lapack.dpotrs(L, self._r, lower=1)[0]
        inverse = lapack.dpotri(L, lower=1)[0]
        W = np.tril(inverse) + np.tril(inverse, -1).T - np.outer(a, a)
        z: Array = self._deviations(theta)
        value = 0.5 * float(self._r @ a) + float(np.log(L.diagonal()).sum()) + 0.5 * float(z @ z)
        return value, self._gradient(theta, parts, W) + z / self._spreads

    def _deviations(self, theta: Array) -> Array:
        """How far parameters are from the usual ones; 0 for those that are held."""
        free = np.isnan(self._held)
        apart = np.where(free, theta, self._usual) - self._usual
        return np.asarray(apart / self._spreads)

    def _parts(self, theta: Array) -> _Parts:
        g = len(self._groups)
        v, rates, s = np.exp(theta[g : g + 3]), np.exp(theta[g + 3 : g + 5]), np.exp(theta[g + 5])
        k, slope = _CORRELATIONS[self._kernel](theta[:g], self._squares)
        d, level = (decay(rate, self._lags) for rate in rates)
        differs, shared = v[0] + v[1] * d, v[2] * level
        if self._season is not None:
            of_each, of_all = np.exp(theta[g + 6 :])
            differs += of_each * self._season
            shared += of_all * self._season
        K = k * differs + shared
        K.flat[:: len(K) + 1] += np.where(self._is_usual, s / self._repeats, self._own)
        return _Parts(K, k, slope, d, level, differs)

    def _gradient(self, theta: Array, parts: _Parts, W: Array) -> Array:
        """sum(W dK) / 2 for each parameter; W = K^{-1} - a a^T."""
        g = len(self._groups)
        v, rates = np.exp(theta[g : g + 3]), np.exp(theta[g + 3 : g + 5])
        by_distance = W * parts.differs * parts.slope
        by_length = [
            -float(np.vdot(by_distance, squares)) * np.exp(-2.0 * length)
            for squares, length in zip(self._squares, theta[:g], strict=True)
        ]
        stays, level = W * parts.k, W * parts.level
        drifts = stays * parts.d
        by_variance = 0.5 * v * [stays.sum(), drifts.sum(), level.sum()]
        in_time = [np.vdot(drifts, self._lags), np.vdot(level, self._lags)]
        by_rate = -0.25 * v[1:] * in_time * rates / np.maximum(1.0 - rates, _TINY)
        usual = float(np.sum((W.diagonal() / self._repeats)[self._is_usual]))
        by_noise = 0.5 * np.exp(theta[g + 5]) * usual
        by_season: list[float] = []
        if self._season is not None:
            sums = np.array([np.vdot(stays, self._season), np.vdot(W, self._season)])
            by_season = (0.5 * np.exp(theta[g + 6 :]) * sums).tolist()
        return np.array([*by_length, *by_variance, *by_rate, by_noise, *by_season])

    def _climb(self, start: Array) -> tuple[Array, float]:
        free = np.isnan(self._held)
        if not free.any():
            return start, self.score(start)[0]

        def score(parameters: Array) -> tuple[float, Array]:
            theta = start.copy()
            theta[free] = parameters
            value, gradient = self.score(theta)
            return value, gradient[free]

        optimum = optimize.minimize(
            score,
            start[free],
            jac=True,
            method="L-BFGS-B",
            bounds=self._bounds[free],
            options={"maxiter": _ITERATIONS},
        )
        theta = start.copy()
        theta[free] = optimum.x
        return theta, float(optimum.fun)

    def _caution(self, theta: Array) -> float:
        """The factor from the most likely variance to its 65 % quantile.

        Too low a variance can keep a policy from ever looking elsewhere; the opposite error only
        costs a few evaluations. The variance has a chi-square distribution. Its degrees of freedom
        are the directions in which the function stands out from the noise: n - tr(S K^{-1}).
        """
        K = self._parts(theta).K
        noise = np.where(
            self._is_usual, np.exp(theta[len(self._groups) + 5]) / self._repeats, self._own
        )
        freedom = len(K) - float(noise @ np.linalg.inv(K + self._mean_variance).diagonal())
        freedom = max(freedom, 1.0) + _EXTRA
        return freedom / chi_square_quantile(_EXCEEDED, freedom)

    def _theta(self, world: World) -> Array:
        """The parameters of a world, in the units of these values."""
        unit = (self._spread / world.unit_of(self._warp)) ** 2
        lengths = [world.lengths[min(group[0], len(world.lengths) - 1)] for group in self._groups]
        variances = np.array([world.stays, world.drifts, world.level]) / unit
        rates, noise = (world.drift_rate, world.level_rate), world.noise / unit
        theta = _log([*lengths, *variances, *rates, noise])
        if self._season is None:
            return theta
        seasons = np.array([world.season, world.shared_season]) / unit
        return np.append(theta, _log(seasons) if world.period else self._usual[-2:])

    def _world(self, theta: Array) -> World:
        world = self._sum(theta)
        if self._structure is None:
            return world
        K = self._parts(theta).K + self._mean_variance
        shift = self._spread * self._mean_variance * float(np.linalg.solve(K, self._r).sum())
        world = replace(world, mean=world.mean + shift, kernel=self._kernel)
        return self._structure.on(world, self._data.pace)

    def _sum(self, theta: Array) -> World:
        g, values = len(self._groups), np.exp(theta)
        unpredictable = values[g + 5] + values[g + 1] * values[g + 3]
        if unpredictable > _NOISY * values[g : g + 3].sum():  # noise makes long lengths likely
            values[:g] = np.minimum(values[:g], _SHORT * np.exp(self._usual[:g]))
        lengths = np.empty(sum(len(group) for group in self._groups))
        for group, length in zip(self._groups, values[:g], strict=True):
            lengths[list(group)] = length
        stays, drifts, level = (self._spread**2 * values[g : g + 3]).tolist()
        wider, returns = self._caution(theta), self._spread**2 * values[g + 6 :]
        return World(
            mean=self._center,
            mean_variance=_MEAN * self._spread**2,
            stays=wider * stays,
            drifts=wider * drifts,
            level=level,
            noise=float(self._spread**2 * values[g + 5]),
            drift_rate=float(values[g + 3]),
            level_rate=float(values[g + 4]),
            lengths=tuple(lengths.tolist()),
            warp=self._warp,
            results=self._results,
            season=wider * float(returns[0]) if self._period else 0.0,
            shared_season=float(returns[1]) if self._period else 0.0,
            period=self._period,
        )


def _matern(lengths: Array, squares: Sequence[Array]) -> tuple[Array, Array]:
    """Matern 5/2 correlations, and their derivative by the scaled squared distance."""
    r = sqrt(5.0) * np.sqrt(_scaled(lengths, squares))
    decays = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * decays, -(5.0 / 6.0) * (1.0 + r) * decays


def _gauss(lengths: Array, squares: Sequence[Array]) -> tuple[Array, Array]:
    """SE correlations, and their derivative by the scaled squared distance."""
    k = np.exp(-0.5 * _scaled(lengths, squares))
    return k, -0.5 * k


def _scaled(lengths: Array, squares: Sequence[Array]) -> Array:
    """Squared distances in units of the length scales."""
    scaled = (
        square * np.exp(-2.0 * length) for square, length in zip(squares, lengths, strict=True)
    )
    return np.asarray(sum(scaled))


def _log(values: Sequence[float] | Array) -> Array:
    """Logarithms, finite ones for zeros."""
    return np.asarray(np.log(np.maximum(values, _TINY)))


_CORRELATIONS: Mapping[KernelName, Callable[[Array, Sequence[Array]], tuple[Array, Array]]] = {
    "matern": _matern,
    "se": _gauss,
}


def chi_square_quantile(share: float, freedom: float) -> float:
    """Return the value below which a chi-square variable lies with probability ``share``.

    Examples
    --------
    >>> round(chi_square_quantile(0.95, 1.0), 3)
    3.841
    """
    return 2.0 * float(special.gammaincinv(0.5 * freedom, share))
