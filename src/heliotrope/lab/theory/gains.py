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

All of this holds for any sum of stationary terms (theory.md). A block of a sum has at most the
sum of its terms' gains, plus what change in time adds around its middle.

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
    LONGEST,
    added_by_change,
    information,
    is_still,
    joint_information,
    middle_lags,
    recursion,
    static_term,
    stationary_terms,
    variance_in_time,
    without_drift,
)
from heliotrope.linalg import jittered_cholesky, solve_lower
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Prior
from heliotrope.validation import Array, Indices, as_whole

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
    """gamma_T of a Static prior, gamma~_T of one that changes, over T = ``horizon`` steps.

    The prior may have any stationary time kernel, or be a sum of stationary terms. The result is
    exact where all choices can be enumerated, otherwise bounded by a greedy run.
    """
    return best_gain(prior, domain, gain_curve(prior, domain, horizon))


def greedy_gain(prior: Prior, domain: Finite, horizon: int) -> Gain:
    """Bounds of gamma_T or gamma~_T from a greedy run alone."""
    return _greedy_bounds(prior, domain, gain_curve(prior, domain, horizon))


def gain_curve(prior: Prior, domain: Finite, horizon: int) -> GainCurve:
    """Bounds of gamma_n for every n up to ``horizon`` from one greedy run, without change in time.

    The upper bound is min over m of F(A_m) + n max_x F(x | A_m), which also holds for m > n.
    """
    T = as_whole(horizon, "horizon", least=1)
    if T > LONGEST:
        raise InputError(f"a horizon of at most {LONGEST}", f"{T:g}")
    run = _greedy(without_drift(prior), domain, T)
    lower, n = np.cumsum(run.gained), np.arange(1, T + 1)
    sums, slopes = np.append(0.0, lower), np.append(run.gained[0], run.left)
    lines = (start + slope * n for start, slope in zip(sums, slopes, strict=True))
    return GainCurve(lower, reduce(np.minimum, lines) * (1.0 + _ROUNDING))


def best_gain(prior: Prior, domain: Finite, curve: GainCurve) -> Gain:
    """Compute max_information_gain, given the gain curve of the same prior up to T."""
    M, T, still = len(domain), len(curve.upper), is_still(prior)
    if max(M**2, _choices(M, T, still) * T**2) <= _MOST_NUMBERS:
        best = _enumerated(prior, domain, T, still)
        return Gain(best, best)
    return _greedy_bounds(prior, domain, curve)


def _greedy_bounds(prior: Prior, domain: Finite, curve: GainCurve) -> Gain:
    """The end of the curve without drift; otherwise the smallest of the bounds above."""
    if is_still(prior):
        return Gain(float(curve.lower[-1]), float(curve.upper[-1]))
    T = len(curve.upper)
    run = _greedy(prior, domain, T)
    total = float(run.gained.sum())
    left = np.minimum(run.left, _left_around(prior, domain, run.places))
    bounds = (
        total + left.sum(),
        T * information(sum(_variances(prior, domain)), prior.noise),  # conditioned on nothing
        _by_blocks(prior, domain, curve),
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


def _by_blocks(prior: Prior, domain: Finite, curve: GainCurve) -> float:
    """Minimize ceil(T / N) (gamma_N + what change adds) over N: the tight form of eq:weakened2."""
    T = len(curve.upper)
    blocks = np.ceil(T / np.arange(1.0, T + 1.0))
    return float(np.min(blocks * block_gains(prior, domain, curve)))


def block_gains(prior: Prior, domain: Finite, curve: GainCurve) -> Array:
    """Upper bounds of gamma~_N for N = 1 .. T, each block around its middle (theory.md)."""
    terms, T = stationary_terms(prior), len(curve.upper)
    lags, unexplained = middle_lags(T), np.zeros(T)
    for term, variance in zip(terms, _variances(prior, domain), strict=True):
        correlations = term.in_time(lags, np.zeros(())) / variance_in_time(term)
        unexplained += variance * np.maximum(1.0 - correlations**2, 0.0)
    static = curve.upper if len(terms) == 1 else _sum_of_gains(prior, domain, T)
    return static + added_by_change(unexplained, prior.noise)


def _sum_of_gains(prior: Prior, domain: Finite, T: int) -> Array:
    """Upper bounds of the sum of the terms' gamma_N without change, for N = 1 .. T."""
    alone = (Prior(terms=[static_term(term)], noise=prior.noise) for term in prior.terms)
    return np.asarray(np.sum([gain_curve(one, domain, T).upper for one in alone], axis=0))


def _variances(prior: Prior, domain: Finite) -> list[float]:
    """The largest variance of each term over the domain."""
    return [
        variance_in_time(term) * float(kernel.diagonal(domain.indices).max())
        for term, kernel in zip(prior.terms, prior.kernels_over(domain), strict=True)
    ]


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
    covariance = np.zeros((len(x), T, T))
    for term, kernel in zip(prior.terms, prior.kernels_over(domain), strict=True):
        K = kernel.block(every, every)
        covariance += K[x[:, :, None], x[:, None, :]] * term.in_time(times[:, None], times)
    return float(joint_information(covariance, prior.noise).max())
