"""What the world is made of: the most likely sum of terms of some results.

The sum has three terms: one stays, one drifts, and one is a level that all places share. Stays and
drifts have one Matern 5/2 kernel with a length scale for each group of coordinates. Positive values
may follow such a sum after a logarithm. Values are standardized, so their unit does not matter.
Log-normal priors of the parameters stand in for data while there are few.

Symbols
-------
n  results       g  groups of coordinates        r (n,)  standardized values
theta (g + 6,)   logarithms of: g length scales, variances of stays, drifts and level, rates of
                 drifts and level (forgotten between two results), noise variance
k, d, level (n, n)   correlations in space, and in time of drifts and level
K  k o (v_s + v_d d) + v_l level + S + m, S the noise (diagonal), m the variance of the mean
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from math import log, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import Matern

from heliotrope.errors import InputError
from heliotrope.estimation.results import Results
from heliotrope.priors import Prior
from heliotrope.terms import Drifts, Level, Stays, Term
from heliotrope.validation import Array, as_array, as_number, as_positive, as_whole

Scale: TypeAlias = Literal["identity", "log"]

_LENGTH, _LENGTH_SPREAD = 0.2, 0.6  # of a length scale: median, per root of g, and log deviation
_USUAL = np.array([0.3, 0.5, 0.2, 0.03, 0.03, 0.02])  # medians of the other parameters
_SPREAD = np.array([1.5, 1.5, 1.5, 1.5, 1.5, 2.0])  # and deviations of their logarithms
_LEAST = np.log([1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-4])
_MOST = np.log([20.0, 20.0, 20.0, 0.9, 0.9, 5.0])
_LENGTHS = np.log([0.02, 30.0])
_MEAN = 1.0  # variance of the standardized mean
_FEWEST = 3  # results; fewer say nothing about the parameters
_FEWEST_FOR_A_LOG = 8
_FEWEST_WITH_FAULTS = 8
_OWN_NOISE = (1e-6, 1e250)  # limits of the standardized noise variance of one result
_IMPLAUSIBLE = 4.0  # deviations from what all others say
_SPAN = 2.0  # ratio of the largest to the smallest value from which a logarithm differs
_MANY = 100  # results, from which one search that starts at the last estimate is enough
_FASTEST = 1.0 - 1e-12  # rate per unit of time
_ITERATIONS = 30
_IMPOSSIBLE = 1e10  # score of parameters whose K cannot be factored
_SHIFT, _LARGER, _FASTER = 0.1, 1.25, 2.0  # differences that do not matter
_EXCEEDED, _EXTRA = 0.35, 2.0  # probability of a higher variance; values that the priors stand for
_NOISY, _SHORT = 0.3, 0.5  # share of the variance that is unpredictable; usual lengths at most then
_NEGLIGIBLE = 1e-3  # share of the variance below which a term is left out


@dataclass(frozen=True)
class World:
    """A sum of what stays, what drifts and what all places share, over values or logarithms.

    ``mean_variance`` is the doubt about the mean, which all places share. ``stays``, ``drifts``,
    ``level`` and ``noise`` are variances, ``drift_rate`` and ``level_rate``
    the shares forgotten between two results, ``lengths`` the length scale of each coordinate of
    the unit cube. With the scale "log" all of them are those of ``sign`` times the logarithm of
    ``sign`` times the value; values are at least ``floor`` in size. ``results`` is the number of
    results that its scale was estimated from.
    """

    mean: float
    mean_variance: float
    stays: float
    drifts: float
    level: float
    noise: float
    drift_rate: float
    level_rate: float
    lengths: tuple[float, ...]
    scale: Scale = "identity"
    sign: float = 1.0
    floor: float = 0.0
    results: int = 0

    def prior(self) -> Prior:
        """The prior; time is counted in results."""
        shape = Matern(self.lengths, nu=2.5)
        least = _NEGLIGIBLE * (self.stays + self.drifts + self.level)
        constant = Level(self.mean_variance, name="mean")
        terms: list[Term] = [Drifts(self.drifts * shape, self.drift_rate), constant]
        if self.stays > least:
            terms.append(Stays(self.stays * shape))
        if self.level > least:
            terms.append(Level(self.level, self.level_rate))
        return Prior(noise=self.noise, mean=self.mean, terms=terms)

    @property
    def renewal(self) -> float:
        """The share of what differs between places that is new at the next result."""
        return self.drift_rate * self.drifts / (self.stays + self.drifts)

    def for_unit_of(self, pace: float) -> World:
        """The same world with rates per unit of time; results come a ``pace`` apart."""
        drift, level = (
            min(-float(np.expm1(np.log1p(-rate) / pace)), _FASTEST)
            for rate in (self.drift_rate, self.level_rate)
        )
        return replace(self, drift_rate=drift, level_rate=level)

    def with_mean(self, mean: float) -> World:
        """The same world around another mean, in the unit of the values."""
        if self.scale == "identity":
            return replace(self, mean=mean)
        return replace(self, mean=self.sign * log(max(self.sign * mean, self.floor)))

    def negated(self) -> World:
        """The same world for values with the opposite sign."""
        sign = -self.sign if self.scale == "log" else self.sign
        return replace(self, mean=-self.mean, sign=sign)

    def is_close_to(self, other: World) -> bool:
        """Whether the two differ so little that their policies do equally well."""
        ratios = [
            (one, another, _FASTER if name.endswith("rate") else _LARGER)
            for name in ("stays", "drifts", "level", "noise", "drift_rate", "level_rate")
            for one, another in [(getattr(self, name), getattr(other, name))]
        ]
        ratios += [(*pair, _LARGER) for pair in zip(self.lengths, other.lengths, strict=True)]
        return (
            self.scale == other.scale
            and abs(self.mean - other.mean) < _SHIFT * sqrt(other.mean_variance)
            and all(abs(log(one / another)) < log(most) for one, another, most in ratios)
        )

    def shares(self) -> dict[str, float]:
        """The share of each part, and of the noise, in the variance of a result."""
        parts = {name: getattr(self, name) for name in ("stays", "drifts", "level", "noise")}
        return {name: part / sum(parts.values()) for name, part in parts.items()}

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "lengths": list(self.lengths)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> World:
        """Read the output of :meth:`to_json`."""
        positive = ("mean_variance", "stays", "drifts", "level", "noise")
        numbers = {name: as_positive(data[name], name) for name in positive}
        for name in ("drift_rate", "level_rate"):
            numbers[name] = as_number(data[name], name)
            if not 0.0 <= numbers[name] < 1.0:
                raise InputError(f"a {name} from 0 to 1", repr(data[name])[:60])
        for name in ("mean", "sign", "floor"):
            numbers[name] = as_number(data[name], name)
        if data["scale"] not in ("identity", "log"):
            raise InputError("the scale identity or log", repr(data["scale"])[:60])
        lengths = tuple(as_array(data["lengths"], "lengths", ndim=1).tolist())
        results = as_whole(data["results"], "results", least=0)
        return cls(**numbers, lengths=lengths, scale=data["scale"], results=results)


def estimate_world(
    results: Results, groups: Sequence[Sequence[int]], before: World | None = None
) -> World:
    """Return the most likely world of some results, starting from the one estimated before.

    ``groups`` are the coordinates that share a length scale. A logarithm is taken if it makes the
    values more likely. If the world before rests on more results (some were dropped since, at a
    level shift), values vary as widely as then, as long as there are few: all may be of one place.
    """
    scales: list[Scale] = ["identity", "log"] if _may_be_logarithmic(results.y) else ["identity"]
    fits = [_Fit(results, groups, scale, before) for scale in scales]
    found = [fit.best(before) for fit in fits]
    best = int(np.argmax([score for _, _, score in found]))
    fit, (world, theta, _) = fits[best], found[best]
    without = fit.without_faults(theta)
    return world if without is None else without.best(world)[0]


def _may_be_logarithmic(y: Array) -> bool:
    sizes = np.abs(y)
    same_sign = bool(np.all(y > 0.0) or np.all(y < 0.0))
    return same_sign and len(y) >= _FEWEST_FOR_A_LOG and bool(sizes.max() > _SPAN * sizes.min())


class _Parts(NamedTuple):
    """K without m, and what it is made of; ``slope`` is dk by the squared distance."""

    K: Array
    k: Array
    slope: Array
    d: Array
    level: Array


class _Fit:
    """The posterior density of the parameters of one scale."""

    def __init__(
        self,
        results: Results,
        groups: Sequence[Sequence[int]],
        scale: Scale,
        before: World | None = None,
    ) -> None:
        self._groups, self._scale = groups, scale
        self._sign = -1.0 if scale == "log" and results.y[0] < 0.0 else 1.0
        y = self._sign * np.log(np.abs(results.y)) if scale == "log" else results.y
        self._slope = np.abs(results.y) if scale == "log" else np.ones_like(y)
        inside = Results(results.t, results.x, y, results.noise)
        self._floor = 0.5 * float(np.abs(results.y).min()) if scale == "log" else 0.0
        self._center, self._spread = float(np.mean(inside.precise)), inside.spread
        self._results = len(y)
        if before is not None and before.scale == scale and before.results > len(y):
            self._spread = max(self._spread, sqrt(before.mean_variance / _MEAN))
            self._results = before.results
        self._r = (y - self._center) / self._spread
        own = results.noise[:, 0] / np.square(self._spread * self._slope)
        self._own = own.clip(*_OWN_NOISE)
        self._is_usual = np.isnan(self._own)
        self._repeats = results.noise[:, 1]
        self._squares = [_squares(results.x[:, list(group)]) for group in groups]
        self._lags = np.abs(results.t[:, None] - results.t[None, :]) / results.pace
        length = log(_LENGTH) + 0.5 * log(len(groups))
        self._usual = np.append(np.full(len(groups), length), np.log(_USUAL))
        self._spreads = np.append(np.full(len(groups), _LENGTH_SPREAD), _SPREAD)
        ends = np.tile(_LENGTHS, (len(groups), 1)), np.column_stack([_LEAST, _MOST])
        self._bounds = np.vstack(ends)

    def best(self, before: World | None) -> tuple[World, Array, float]:
        """The most likely world, its parameters, and the log density of the values with them."""
        starts = [self._usual]
        if before is not None and before.scale == self._scale:
            starts = [self._theta(before), *(starts if len(self._r) < _MANY else ())]
        if len(self._r) < _FEWEST:
            theta, score = self._usual, self.score(self._usual)[0]
        else:
            found = [self._climb(np.clip(start, *self._bounds.T)) for start in starts]
            theta, score = min(found, key=lambda one: one[1])
        jacobian = float(np.sum(np.log(self._slope))) + len(self._r) * log(self._spread)
        return self._world(theta), theta, -score - jacobian

    def without_faults(self, theta: Array) -> _Fit | None:
        """The same fit, in which values that the others contradict count little; None without any.

        The value i has the error e_i = [K^{-1} r]_i / [K^{-1}]_ii, given all others, and the
        variance 1 / [K^{-1}]_ii. An implausible one gets a noise variance of e_i^2.
        """
        inverse = np.linalg.inv(self._parts(theta).K + _MEAN)
        precision = inverse.diagonal()
        error = (inverse @ self._r) / precision
        faulty = np.abs(error) * np.sqrt(precision) > _IMPLAUSIBLE
        if len(self._r) < _FEWEST_WITH_FAULTS or not faulty.any():
            return None
        fit = copy(self)
        fit._own = np.where(faulty, np.square(error), self._own)
        fit._is_usual = np.isnan(fit._own)
        return fit

    def score(self, theta: Array) -> tuple[float, Array]:
        """Minus the log posterior density of theta, up to a constant, and its gradient."""
        parts = self._parts(theta)
        L, failed = lapack.dpotrf(parts.K + _MEAN, lower=1)  # called often: no checks
        if failed:
            return _IMPOSSIBLE, np.zeros_like(theta)
        a = lapack.dpotrs(L, self._r, lower=1)[0]
        inverse = lapack.dpotri(L, lower=1)[0]
        W = np.tril(inverse) + np.tril(inverse, -1).T - np.outer(a, a)
        z = (theta - self._usual) / self._spreads
        value = 0.5 * float(self._r @ a) + float(np.log(L.diagonal()).sum()) + 0.5 * float(z @ z)
        return value, self._gradient(theta, parts, W) + z / self._spreads

    def _parts(self, theta: Array) -> _Parts:
        g = len(self._groups)
        v, rates, s = np.exp(theta[g : g + 3]), np.exp(theta[g + 3 : g + 5]), np.exp(theta[-1])
        k, slope = _matern(theta[:g], self._squares)
        d, level = (np.exp(0.5 * np.log1p(-rate) * self._lags) for rate in rates)
        K = k * (v[0] + v[1] * d) + v[2] * level
        K.flat[:: len(K) + 1] += np.where(self._is_usual, s / self._repeats, self._own)
        return _Parts(K, k, slope, d, level)

    def _gradient(self, theta: Array, parts: _Parts, W: Array) -> Array:
        """sum(W dK) / 2 for each parameter; W = K^{-1} - a a^T."""
        g = len(self._groups)
        v, rates = np.exp(theta[g : g + 3]), np.exp(theta[g + 3 : g + 5])
        by_distance = W * (v[0] + v[1] * parts.d) * parts.slope
        by_length = [
            -float(np.vdot(by_distance, squares)) * np.exp(-2.0 * length)
            for squares, length in zip(self._squares, theta[:g], strict=True)
        ]
        stays, level = W * parts.k, W * parts.level
        drifts = stays * parts.d
        by_variance = 0.5 * v * [stays.sum(), drifts.sum(), level.sum()]
        in_time = [np.vdot(drifts, self._lags), np.vdot(level, self._lags)]
        by_rate = -0.25 * v[1:] * in_time * rates / (1.0 - rates)
        usual = float(np.sum((W.diagonal() / self._repeats)[self._is_usual]))
        return np.array([*by_length, *by_variance, *by_rate, 0.5 * np.exp(theta[-1]) * usual])

    def _climb(self, start: Array) -> tuple[Array, float]:
        found = minimize(
            self.score,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=self._bounds,
            options={"maxiter": _ITERATIONS},
        )
        return found.x, float(found.fun)

    def _caution(self, theta: Array) -> float:
        """The factor from the most likely variance to its 65 % quantile.

        Too low a variance can keep a policy from ever looking elsewhere; the opposite error only
        costs a few evaluations. The variance has a chi-square distribution. Its degrees of freedom
        are the directions in which the function stands out from the noise: n - tr(S K^{-1}).
        """
        K = self._parts(theta).K
        noise = np.where(self._is_usual, np.exp(theta[-1]) / self._repeats, self._own)
        freedom = len(K) - float(noise @ np.linalg.inv(K + _MEAN).diagonal())
        freedom = max(freedom, 1.0) + _EXTRA
        return freedom / float(chi2.ppf(_EXCEEDED, freedom))

    def _theta(self, world: World) -> Array:
        """The parameters of a world, in the units of these values."""
        lengths = [world.lengths[group[0]] for group in self._groups]
        variances = np.array([world.stays, world.drifts, world.level]) / self._spread**2
        rates, noise = (world.drift_rate, world.level_rate), world.noise / self._spread**2
        return np.log([*lengths, *variances, *rates, noise])

    def _world(self, theta: Array) -> World:
        g, values = len(self._groups), np.exp(theta)
        unpredictable = values[-1] + values[g + 1] * values[g + 3]
        if unpredictable > _NOISY * values[g : g + 3].sum():  # noise makes long lengths likely
            values[:g] = np.minimum(values[:g], _SHORT * np.exp(self._usual[:g]))
        lengths = np.empty(sum(len(group) for group in self._groups))
        for group, length in zip(self._groups, values[:g], strict=True):
            lengths[list(group)] = length
        stays, drifts, level = (self._spread**2 * values[g : g + 3]).tolist()
        wider = self._caution(theta)
        return World(
            mean=self._center,
            mean_variance=_MEAN * self._spread**2,
            stays=wider * stays,
            drifts=wider * drifts,
            level=level,
            noise=float(self._spread**2 * values[-1]),
            drift_rate=float(values[g + 3]),
            level_rate=float(values[g + 4]),
            lengths=tuple(lengths.tolist()),
            scale=self._scale,
            sign=self._sign,
            floor=self._floor,
            results=self._results,
        )


def _squares(x: Array) -> Array:
    """Squared distances (n, n)."""
    return np.asarray(np.square(x[:, None, :] - x[None, :, :]).sum(axis=2))


def _matern(lengths: Array, squares: Sequence[Array]) -> tuple[Array, Array]:
    """Matern 5/2 correlations, and their derivative by the scaled squared distance."""
    q = sum(square * np.exp(-2.0 * length) for square, length in zip(squares, lengths, strict=True))
    r = sqrt(5.0) * np.sqrt(q)
    decay = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * decay, -(5.0 / 6.0) * (1.0 + r) * decay
