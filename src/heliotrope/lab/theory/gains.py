"""Maximum information gain: gamma_T (eq:gamma_TI), and gamma~_T where f drifts (eq:gamma).

F(A), the information in a set A of measurements (t, x), is monotone and submodular: noise is
independent, so the information of another measurement cannot grow with A. Hence for *any* set A and
the optimal choice O,

    F(O) <= F(A + O) <= F(A) + sum over (t, x) in O of F((t, x) | A),

and a set A found greedily bounds the maximum from both sides.

* Without drift: O is T picks of points, so gamma_T <= F(A_m) + T max_x F(x | A_m) after each
  number m of greedy picks. The smallest of these is at most F(A_T) / (1 - (1 - 1/T)^T), hence
  at most F(A_T) / (1 - 1/e), the classical guarantee.
* With drift: O holds one pair per time (a partition matroid, where greedy guarantees only 1/2 in
  any order of the times), so gamma~_T <= F(A) + sum_t max_x F((t, x) | A). Each term may condition
  on any subset of A: on the measurements up to t, which gives at most 2 F(A), or on those near t,
  before and after. A may also be empty, and blocks of N steps give
  gamma~_T <= ceil(T / N) gamma~_N. The result is the smallest of these bounds.

Symbols
-------
M  points        T  horizon        F  information in nats        A  the greedy choice
"""

from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.theory.information import (
    checked_rho,
    drift_added,
    information,
    joint_information,
    recursion,
    without_drift,
)
from heliotrope.linalg import jittered_cholesky, solve_lower
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Forgetting, Prior, correlation
from heliotrope.validation import Array, Indices, as_whole

_LONGEST = 100_000  # steps of a greedy run
_MOST_NUMBERS = 2_000_000  # in all matrices of an enumeration
_REACH = 50  # steps before and after t that the bound at t conditions on
_ROUNDING = 1e-12  # relative margin of an upper bound


@dataclass(frozen=True)
class Gain:
    """Lower and upper bound of a maximum information gain; equal if ``exact``."""

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the gain comes from an enumeration of all choices."""
        return self.lower == self.upper


@dataclass(frozen=True, eq=False)
class GainCurve:
    """Bounds of gamma_n for n = 1 .. T, (T,) each."""

    lower: Array
    upper: Array


@dataclass(frozen=True, eq=False)
class _Greedy:
    """Chosen places (T,), their information (T,), and the largest remaining information (T,)."""

    places: Indices
    gained: Array
    left: Array


def max_information_gain(prior: Prior, domain: Finite, horizon: int) -> Gain:
    """gamma_T of a Static prior, gamma~_T of a Forgetting one, over T = ``horizon`` steps.

    Exact where all choices can be enumerated, otherwise bounded by a greedy run.
    """
    return best_gain(prior, domain, gain_curve(prior, domain, horizon))


def greedy_gain(prior: Prior, domain: Finite, horizon: int) -> Gain:
    """Bounds of gamma_T or gamma~_T from a greedy run alone."""
    return _greedy_bounds(prior, domain, gain_curve(prior, domain, horizon))


def gain_curve(prior: Prior, domain: Finite, horizon: int) -> GainCurve:
    """Bounds of gamma_n for every n up to ``horizon`` from one greedy run, without drift.

    The upper bound is min over m of F(A_m) + n max_x F(x | A_m), which also holds for m > n.
    """
    T = as_whole(horizon, "horizon", least=1)
    if T > _LONGEST:
        raise InputError(f"a horizon of at most {_LONGEST}", f"{T:g}")
    run = _greedy(without_drift(prior), domain, T)
    lower, n = np.cumsum(run.gained), np.arange(1, T + 1)
    sums, slopes = np.append(0.0, lower), np.append(run.gained[0], run.left)
    lines = (start + slope * n for start, slope in zip(sums, slopes, strict=True))
    return GainCurve(lower, reduce(np.minimum, lines) * (1.0 + _ROUNDING))


def best_gain(prior: Prior, domain: Finite, curve: GainCurve) -> Gain:
    """Compute max_information_gain, given the gain curve of the same prior up to T."""
    M, T, still = len(domain), len(curve.upper), checked_rho(prior) == 1.0
    if max(M**2, _choices(M, T, still) * T**2) <= _MOST_NUMBERS:
        best = _enumerated(prior, domain, T, still)
        return Gain(best, best)
    return _greedy_bounds(prior, domain, curve)


def _greedy_bounds(prior: Prior, domain: Finite, curve: GainCurve) -> Gain:
    """The end of the curve without drift; otherwise the smallest of the bounds above."""
    if checked_rho(prior) == 1.0:
        return Gain(float(curve.lower[-1]), float(curve.upper[-1]))
    T, variance = len(curve.upper), float(prior.over(domain).diagonal(domain.indices).max())
    run = _greedy(prior, domain, T)
    total = float(run.gained.sum())
    left = np.minimum(run.left, _left_around(prior, domain, run.places))
    bounds = (
        total + left.sum(),
        T * information(variance, prior.noise),  # conditioned on nothing
        _by_blocks(prior, curve, variance),
    )
    return Gain(total, max(total, float(min(bounds)) * (1.0 + _ROUNDING)))


def _greedy(prior: Prior, domain: Finite, T: int) -> _Greedy:
    """Choose the point of largest variance, and so of most information, at each time."""
    engine, every = recursion(prior, domain), domain.indices
    places, gained, left = np.empty(T, dtype=np.intp), np.empty(T), np.empty(T)
    for t in range(1, T + 1):
        _, variance = engine.predict(t, every)
        i = int(variance.argmax())
        engine.open(t, t, every[i : i + 1])
        engine.tell(t, 0.0)
        _, after = engine.predict(t, every)
        places[t - 1], gained[t - 1], left[t - 1] = i, variance[i], after.max()
    return _Greedy(places, information(gained, prior.noise), information(left, prior.noise))


def _left_around(prior: Prior, domain: Finite, places: Indices) -> Array:
    """max_x F((t, x) | A near t) for each t, (T,)."""
    model, every = SpaceTime(prior, domain), domain.indices
    times = np.arange(1.0, len(places) + 1.0)
    worst = np.empty(len(places))
    for t, _ in enumerate(places):
        near = slice(max(t - _REACH, 0), t + _REACH + 1)
        L = jittered_cholesky(model.noisy(times[near], places[near]), jitter=0.0)
        rows = solve_lower(L, model.block(times[near], places[near], times[t], every))
        variance = model.variance(every, times[t]) - np.einsum("nm,nm->m", rows, rows)
        worst[t] = max(variance.max(), 0.0)
    return information(worst, prior.noise)


def _by_blocks(prior: Prior, curve: GainCurve, variance: float) -> float:
    """Minimize ceil(T / N) (gamma_N + the information that drift adds) over N (eq:weakened2)."""
    assert isinstance(prior.time, Forgetting)
    T = len(curve.upper)
    N = np.arange(1.0, T + 1.0)
    _, drift = drift_added(N, prior.time.epsilon, prior.noise, variance)
    return float(np.min(np.ceil(T / N) * (curve.upper + drift)))


def _choices(M: int, T: int, still: bool) -> float:
    """Number of distinct choices of T points; without drift their order is irrelevant."""
    if still:
        return comb(M + T - 1, T)
    return float(M) ** T if T * np.log(M) < 50.0 else np.inf


def _enumerated(prior: Prior, domain: Finite, T: int, still: bool) -> float:
    """The maximum information (eq:MI) over all choices."""
    every, times = domain.indices, np.arange(float(T))
    choices = combinations_with_replacement(every, T) if still else product(every, repeat=T)
    x = np.array(list(choices), dtype=np.intp)
    K = prior.over(domain).block(every, every)
    D = correlation(prior.time, times[:, None] - times[None, :])
    return float(joint_information(K[x[:, :, None], x[:, None, :]] * D, prior.noise).max())
