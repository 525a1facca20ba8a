"""Changes of regime, faults, and values that later ones contradict, weighed by their evidence.

Hypotheses about the latest results are compared by their evidence.
No change: each result follows from those before it, is a fault (an outlier of any size), or repeats
the latest fault near its place. A repeat means that the function has changed there, to a value that
this world may have.
New regime: another function, around another mean, began with the latest m results.
Return: the latest m results follow from those of an earlier regime, whose clock stood still.

Denied: a high value is believed when it comes, since nothing is known there. If it was a fault, it
draws the search to its place, and makes the true values measured there look like faults.

Symbols
-------
n  results, in order of time      r (n,)  warped values less their mean
K (n, n)  covariance of the results      s  scale of a fault, whose density is Cauchy's
P  the inverse of K. The value i has the error e_i = [P r]_i / P_ii given all others, with the
   variance 1 / P_ii
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, log, pi
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from heliotrope.estimation.results import IMPLAUSIBLE, Results
from heliotrope.estimation.world import World, decay
from heliotrope.lazy import lazy_module
from heliotrope.linalg import solve_lower
from heliotrope.priors import noise_floor
from heliotrope.validation import Array

distance = lazy_module("scipy.spatial.distance")

# The odds were chosen by benchmarks/faults.py with other seeds: docs/explanation/auto.md has the
# variants.
CONSIDERED = 64  # latest results of a regime, in the search for a change
_LONGEST = 24  # results since a jump, at most, when it is found
_KNOWN = 12  # results before a jump, at least
_JUMP = 7.0  # log odds against a jump before a result
_RETURN, _LONGEST_RETURN = 3.0, 8  # log odds against a return; results after it, at most
_SPECIFIC = 1.0  # log odds of a return against a new regime
_PLACEHOLDER = 3.0  # log odds against values that do not depend on their places
_FAULT, _SCALE = 4.0, 3.0  # log odds against a fault, and its scale in deviations
_CHANGED = 9.0  # log odds against the change of a place
_TOGETHER = 0.5  # correlation at places that change together: about one length scale apart
_SAME = 0.95  # correlation at places that count as one
_AGREES = 2.0  # deviations of their difference between results at one place that agree
_NEAR = 0.25  # length scales between two measurements of the same place
_LEAST_PRECISION = 1e-200  # whose inverse times a value does not overflow
_AGAIN = 2  # later results at the place that must oppose the value, by half of its error or more


class Residuals(NamedTuple):
    """Residuals of results under a world, and their covariance.

    Warped values less their mean (n,), the slope of the warp (n,), covariances (n, n), and the
    correlations of the places (n, n).
    """

    r: Array
    slope: Array
    K: Array
    correlations: Array


class Regime(NamedTuple):
    """Results, and the world that they are assumed to come from.

    ``pace`` is the time between two results, the world's unit of time.
    """

    results: Results
    world: World
    pace: float

    def latest(self, count: int) -> Regime:
        """The same with the latest results only."""
        return self._replace(results=self.results.at(slice(-count, None)))

    def residuals(self) -> Residuals:
        y, warp = self.results.y, self.world.warp
        slope = warp.slope(y)
        correlations = self.world.shape(self.results.x)
        K = self._covariance(slope, correlations)
        return Residuals(warp.inside(y) - self.world.mean, slope, K, correlations)

    def _covariance(self, slope: Array, near: Array) -> Array:
        """The covariance of :meth:`World.prior`, with its negligible terms and a least noise.

        The prior's kernels would take ten times as long.
        """
        world, t = self.world, self.results.t / self.pace
        lags = np.abs(t[:, None] - t[None, :])
        K = near * (world.stays + world.drifts * decay(world.drift_rate, lags))
        K += world.level * decay(world.level_rate, lags) + world.mean_variance
        if world.period:
            season = world.in_season(lags)
            K += (world.season * near + world.shared_season) * season
        own, repeats = self.results.noise.T
        variances = np.where(np.isnan(own), world.noise / repeats, own * slope**2)
        K.flat[:: len(K) + 1] += np.maximum(variances, noise_floor(world.variance))
        return K


class _Values(NamedTuple):
    """r and K of results, the correlations (n, n) of their places, and the values' deviation."""

    r: Array
    K: Array
    correlations: Array
    deviation: float

    @classmethod
    def of(cls, regime: Regime) -> _Values:
        r, _, K, correlations = regime.residuals()
        return cls(r, K, correlations, regime.world.deviation)

    def at(self, part: slice) -> _Values:
        correlations = self.correlations[part, part]
        return _Values(self.r[part], self.K[part, part], correlations, self.deviation)


class _Fault(NamedTuple):
    """Index and error of a fault; the log density that is lost if its place has changed instead."""

    i: int
    error: float
    price: float

    def density_of_a_repeat(self, error: float, variance: float, correlation: float) -> float:
        if correlation < _TOGETHER:
            return -inf
        of_change = (1.0 - correlation**2) * self.error**2
        return _log_normal(error - correlation * self.error, variance + of_change) - self.price


class _Filtered(NamedTuple):
    """Log densities of the first results, each given those before it; which are faults; the rest.

    r and K of the rest are those given the first results.
    """

    densities: Array
    faulty: NDArray[np.bool_]
    rest: _Values


def surprising(regime: Regime) -> NDArray[np.bool_]:
    """Which results (n,) do not follow from those before them."""
    return _filtered(_Values.of(regime)).faulty


class Change(NamedTuple):
    """Another regime began with a number of the latest results.

    It is one of those that are remembered, at the position ``back``; None for a new one. A new one
    is only supposed if ``check`` is not None: a value at the place of that result would tell.
    """

    results: int
    back: int | None = None
    check: int | None = None


def latest_change(current: Regime, remembered: Sequence[Regime]) -> Change | None:
    """The most likely change of regime within the latest results; None if the regime goes on."""
    current = current.latest(CONSIDERED)
    values = _Values.of(current)
    returns = [_return(values, current, before, i) for i, before in enumerate(remembered)]
    gain, change = max(returns, key=itemgetter(0), default=(-inf, None))
    return change if gain > 0.0 else _new(values, current.world)


def _new(values: _Values, world: World) -> Change | None:
    """A new regime with some of the latest results, if it is likely."""
    most = min(len(values.r) - _KNOWN, _LONGEST)
    if most < 2:
        return None
    gain = _as_new(values, most) - _JUMP - _of_the_latest(_filtered(values).densities, most)
    gain[0] = -inf  # a single value may be a fault
    agrees = _agree(values, world)
    likely = (int(m) + 1 for m in (-gain).argsort() if gain[m] > 0.0)
    changes = (_compared(values, agrees, count) for count in likely)
    return next((change for change in changes if change is not None), None)


def _compared(values: _Values, agrees: NDArray[np.bool_], count: int) -> Change | None:
    """The new regime of the latest results, compared with earlier ones at the same places.

    More of them must differ from all of those than agree, and another must be apart from these:
    elsewhere a high value may be a peak, and one place may change alone. Until then the regime is
    only supposed.
    """
    earlier, latest = slice(None, -count), slice(-count, None)
    at_place = values.correlations[latest, earlier] > _SAME
    measured = at_place.any(axis=1)
    agreed = (at_place & agrees[latest, earlier]).any(axis=1)
    differing = measured & ~agreed
    apart = values.correlations < _TOGETHER
    if agreed.any() and agreed.sum() >= differing.sum():
        return None
    if apart[latest, latest][np.ix_(differing, ~agreed)].any():
        return Change(count)
    places = np.flatnonzero(apart[latest, earlier].all(axis=0))
    if len(places):
        return Change(count, check=int(places[-1]) - len(values.r))
    return Change(count) if differing.any() else None


def _agree(values: _Values, world: World) -> NDArray[np.bool_]:
    """Which pairs of results (n, n) differ by no more than their noise and their places explain."""
    noise = values.K.diagonal() - world.mean_variance - world.variance
    variance = noise[:, None] + noise + 2.0 * (1.0 - values.correlations) * world.variance
    difference = values.r[:, None] - values.r
    return np.asarray(np.square(difference) <= _AGREES**2 * variance)


def _return(
    values: _Values, current: Regime, before: Regime, position: int
) -> tuple[float, Change]:
    """The return of an earlier regime with some of the latest results, and its log odds.

    They must follow from that regime better than a new one would make them likely.
    """
    most = min(len(values.r) - 1, _LONGEST_RETURN)
    if most < 1:
        return -inf, Change(0)
    following = _following(before, current.results.at(slice(-most, None)))
    back = np.cumsum(_filtered(following.at(slice(None, None, -1))).densities)
    best, count = _best_length(back - _stay(values, most) - _RETURN)
    best = min(best, float((back - _as_new(values, most))[count - 1]) - _SPECIFIC)
    if best > 0.0:  # a world that was learned from the few results since may be too sure
        as_before = _Values.of(current._replace(world=before.world))
        best = min(best, float((back - _stay(as_before, most))[count - 1]) - _RETURN)
    return best, Change(count, position)


def _stay(values: _Values, most: int) -> Array:
    """Log densities of the latest 1, 2, ... results, if the regime of all of them goes on."""
    return _of_the_latest(_around_another_mean(values), most)


def _as_new(values: _Values, most: int) -> Array:
    """Log densities of the latest 1, 2, ... results, if they are the first ones of a regime."""
    # backwards, so that the sum of the first m is that of the latest m
    return np.cumsum(_around_another_mean(values.at(slice(None, -most - 1, -1))))


def _following(before: Regime, later: Results) -> _Values:
    """Later results, given those of an earlier regime, whose clock stood still in between."""
    before = before.latest(CONSIDERED)
    earlier = before.results
    if not before.world.period:
        earlier = replace(earlier, t=earlier.t + (later.t[0] - before.pace - earlier.t[-1]))
    both = _Values.of(before._replace(results=earlier.followed_by(later)))
    return _filtered(both, len(earlier.y)).rest


def follows(before: Regime, since: Regime) -> bool:
    """Whether results follow from those of an earlier regime, so that no new one began."""
    since = since.latest(CONSIDERED)
    worlds = since, since._replace(world=before.world)
    alone = max(_around_another_mean(_Values.of(world)).sum() for world in worlds)
    together = _filtered(_following(before, since.results)).densities.sum()
    return bool(together > alone - _JUMP)


def is_placeholder(regime: Regime) -> bool:
    """Whether values are equal up to noise where the places would make them differ."""
    values = _Values.of(regime)
    noise = values.K.diagonal() - regime.world.mean_variance - regime.world.variance
    equal = values._replace(K=np.diag(noise))
    gain = _around_another_mean(equal).sum() - _around_another_mean(values).sum()
    return bool(len(noise) == 1 or gain > _PLACEHOLDER)


def _of_the_latest(densities: Array, most: int) -> Array:
    """Log densities of the latest 1, 2, ... results together, given all before them."""
    return np.cumsum(densities[::-1][:most])


def _around_another_mean(values: _Values) -> Array:
    """Log densities of results around an unknown mean: of the first, and of differences from it.

    The mean's variance is at least the square of the first value: a far one costs little.
    """
    r, K = values.r, values.K
    r0, k00 = float(r[0]), float(K[0, 0])
    first = _log_normal(r0, k00 + max(values.deviation**2, r0**2))
    of_differences = K[1:, 1:] - K[1:, :1] - K[:1, 1:] + k00
    differences = values.at(slice(1, None))._replace(r=r[1:] - r0, K=of_differences)
    return np.append(first, _filtered(differences).densities)


def _filtered(values: _Values, count: int | None = None) -> _Filtered:
    """Condition on the first ``count`` results, by default all, in order, but not on faults.

    Each is taken as usual, for a fault or for a repeat, whichever is most likely. Those before the
    first fault are conditioned on at once, the others by updates of rank one.
    """
    count = len(values.r) if count is None else count
    as_fault, as_changed = _densities_of_faults(values)
    densities, errors, K = _before_any_fault(values, as_fault[:count])
    clean, correlations = len(densities), values.correlations
    faulty = np.zeros(count, dtype=bool)
    densities = np.append(densities, np.empty(count - clean))
    latest: _Fault | None = None
    for i in range(clean, count):
        j = i - clean
        error, variance, later = float(errors[j]), float(K[j, j]), slice(j + 1, None)
        usual, fault, repeat = _log_normal(error, variance), float(as_fault[i]), -inf
        if latest is not None:
            correlation = float(correlations[i, latest.i])
            repeat = latest.density_of_a_repeat(error, variance, correlation)
        densities[i] = max(usual, fault, repeat)
        faulty[i] = usual < densities[i]
        if faulty[i]:
            price = 0.0 if repeat >= fault else max(0.0, fault - float(as_changed[i]))
            latest = _Fault(i, error, price)
            continue
        gain = K[j, later] / variance
        errors[later] -= gain * error
        K[later, later] -= gain[:, None] * K[j, later]
    left, rest = slice(count - clean, None), slice(count, None)
    remaining = _Values(errors[left], K[left, left], correlations[rest, rest], values.deviation)
    return _Filtered(densities, faulty, remaining)


def _before_any_fault(values: _Values, as_fault: Array) -> tuple[Array, Array, Array]:
    """Log densities of the results before the first fault, all at once; r and K of the others."""
    r, K, count = values.r, values.K, len(as_fault)
    L, failed = lapack.dpotrf(K[:count, :count], lower=1)
    if failed:
        return np.empty(0), r.copy(), K.copy()
    z = solve_lower(L, r[:count])
    densities = -0.5 * (np.square(z) + log(2.0 * pi)) - np.log(L.diagonal())
    faulty = np.flatnonzero(densities < as_fault)
    clean = int(faulty[0]) if len(faulty) else count
    explained = solve_lower(L[:clean, :clean], K[:clean, clean:])
    errors = r[clean:] - z[:clean] @ explained
    return densities[:clean], errors, K[clean:, clean:] - explained.T @ explained


def _densities_of_faults(values: _Values) -> tuple[Array, Array]:
    """Log densities (n,) of faults, and of values of this world at places that have changed."""
    s, squares, usual = _SCALE * values.deviation, np.square(values.r), values.K.diagonal()
    faults = -_FAULT - np.log(pi * s * (1.0 + squares / s**2))
    return faults, -_CHANGED - 0.5 * (squares / usual + np.log(2.0 * pi * usual))


def _log_normal(error: float, variance: float) -> float:
    return -0.5 * (error**2 / variance + log(2.0 * pi * variance))


def _best_length(gain: Array) -> tuple[float, int]:
    """The largest gain, and the number of latest results that it is for."""
    best = int(gain.argmax())
    return float(gain[best]), best + 1


def contradicted(regime: Regime) -> Array:
    """The noise variance (n,) of each contradicted result, as its distance suggests; NaN elsewhere.

    Each round takes the least plausible result alone, since it makes others look implausible.
    """
    later = _later_at_the_place(regime)
    again = np.count_nonzero(later, axis=1) >= _AGAIN
    noise = np.full(len(later), np.nan)
    if not again.any():
        return noise
    r, slope, K, _ = regime.residuals()
    P = np.linalg.inv(K)
    while True:
        precision = np.maximum(P.diagonal(), _LEAST_PRECISION)  # 0 for a huge error found
        error = P @ r / precision
        opposed = np.sign(error)[:, None] * (r[:, None] - r[None, :]) > 0.5 * np.abs(error)[:, None]
        doubtful = np.isnan(noise) & (np.count_nonzero(later & opposed, axis=1) >= _AGAIN)
        z = np.where(doubtful, np.abs(error) * np.sqrt(precision), 0.0)
        worst = int(z.argmax())
        if z[worst] <= IMPLAUSIBLE:
            return noise
        variance = float(np.square(error[worst]))
        r[worst] -= error[worst]  # what the others say, so that rounding errors stay small
        P -= np.outer(P[worst], P[worst]) / (1.0 / variance + P[worst, worst])
        noise[worst] = variance * slope[worst] ** -2


def _later_at_the_place(regime: Regime) -> NDArray[np.bool_]:
    """Which results (columns) are later ones at the place of each (rows), (n, n)."""
    results = regime.results
    x = results.x / np.array(regime.world.lengths)
    later = results.t[None, :] > results.t[:, None]
    return np.asarray((distance.cdist(x, x) < _NEAR) & later)
