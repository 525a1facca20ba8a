"""The choice among candidates that a live system's rules allow, and why it was made.

Symbols
-------
q  candidates          l  limits
score, mean, std (q,)  acquisition's score, posterior mean and deviation of the objective
margin, doubt (q, l)   mean and standard deviation of how far inside each limit a candidate is
factor (l,)            of the model's deviation in doubt: how far the model is trusted
z                      deviations between mean and limit at which the risk is just kept
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heliotrope.acquisition.scored import argmax
from heliotrope.lazy import lazy_module
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, Indices

special = lazy_module("scipy.special")

Reason: TypeAlias = Literal["first", "explore", "best", "baseline", "boundary", "fallback"]
Mask: TypeAlias = NDArray[np.bool_]
Covariance: TypeAlias = Callable[[int, Indices, Indices], Array]

_CLOSEST = 100  # candidates that are compared on each side of the boundary
_RESULTS = 32  # simulated results, each also with its sign changed
_TINY = 1e-300
_FAR = 40.0  # deviations: the normal density is 0 there


@dataclass(frozen=True, eq=False)
class View:
    """What is believed of some candidates now, and which of them can be reached.

    High values of the objective are good. ``known`` are the candidates that count as safe while
    nothing was measured: the baseline and others that the user named. ``price`` is the cost of
    moving to each candidate. A gain is worth having over ``horizon`` steps. ``avoided`` are the
    candidates where evaluations failed lately.

    ``covariance(limit, some, others)`` returns covariances of a metric, and ``noise`` (l,) the
    variance of a measured margin.
    """

    score: Array
    mean: Array
    std: Array
    margin: Array
    doubt: Array
    reachable: Mask
    price: Array
    noise: Array
    covariance: Covariance
    known: tuple[int, ...] = ()
    baseline: int | None = None
    horizon: float = 0.0
    avoided: Mask | None = None
    factor: Array | float = 1.0


@dataclass(frozen=True)
class Decision:
    """The chosen candidate, and the reason."""

    index: int
    reason: Reason


def safe(margin: Array, doubt: Array, risk: float) -> Mask:
    """Which candidates keep each limit with a probability of at least 1 - risk, (q,).

    Examples
    --------
    >>> safe(np.array([[1.0], [2.0]]), np.ones((2, 1)), 0.05)
    array([False,  True])
    """
    return np.asarray((margin >= _z(risk) * doubt).all(axis=1))


def decide(
    view: View, risk: float, make_rng: RNGFactory, *, first: bool, baseline_due: bool
) -> Decision:
    """Choose a candidate. ``first`` says that nothing was measured yet."""
    if first and view.known:
        return Decision(_first(view), "first")
    kept = safe(view.margin, view.doubt, risk)
    allowed = kept & view.reachable
    if not allowed.any():
        return Decision(_safest(view), "fallback")
    allowed = _not_avoided(view, allowed)
    if baseline_due and view.baseline is not None and allowed[view.baseline]:
        return Decision(view.baseline, "baseline")
    value = view.score - view.price
    plain = _argmax_among(value, allowed, make_rng)
    chosen = _argmax_among(value + _openings(view, _z(risk), kept, allowed), allowed, make_rng)
    if chosen != plain:
        return Decision(chosen, "boundary")
    net = view.mean - view.price
    return Decision(chosen, "best" if net[chosen] >= net[allowed].max() else "explore")


def expected_excess(mean: Array, std: Array) -> Array:
    """E[max(z, 0)] for normal z, the expected improvement over 0."""
    z = np.clip(mean / np.maximum(std, _TINY), -_FAR, _FAR)
    density = np.exp(-0.5 * np.square(z)) / np.sqrt(2.0 * np.pi)
    return np.asarray(mean * special.ndtr(z) + std * density)


def _z(risk: float) -> float:
    return NormalDist().inv_cdf(1.0 - risk)


def _argmax_among(values: Array, allowed: Mask, make_rng: RNGFactory) -> int:
    indices = np.flatnonzero(allowed)
    return int(indices[argmax(values[indices], make_rng)])


def _not_avoided(view: View, allowed: Mask) -> Mask:
    """The allowed candidates that are not avoided; all, if none would be left."""
    left = allowed if view.avoided is None else allowed & ~view.avoided
    return left if left.any() else allowed


def _first(view: View) -> int:
    """The first known candidate that can be reached, or else the safest one."""
    reachable = [one for one in view.known if view.reachable[one]]
    return reachable[0] if reachable else _safest(view)


def _safest(view: View) -> int:
    """The reachable candidate that most likely keeps all limits, now and at the next step.

    The next step's chance is that of the safest candidate after the result, by the model itself: a
    factor that is larger for one limit would hide what is known of the others. Without limits, it
    is the candidate that is cheapest to reach.
    """
    if view.margin.shape[1] == 0:
        return int(np.argmin(np.where(view.reachable, view.price, np.inf)))
    deviation = np.maximum(view.doubt / view.factor, _TINY)
    chance = special.log_ndtr(view.margin / deviation).sum(axis=1)
    top = np.flatnonzero(view.reachable)
    top = top[np.argsort(-chance[top], kind="stable")][:_CLOSEST]
    return int(top[np.argmax(np.exp(chance[top]) + _next_chance(view, deviation, top))])


def _next_chance(view: View, deviation: Array, some: Indices) -> Array:
    """The expected chance of the safest of some candidates after one of them is measured, (some,).

    A result at x moves the margin at y by a normal step of deviation Cov[x, y] / sd[result at x].
    """
    limits = range(view.margin.shape[1])
    covariances = [view.covariance(limit, some, some) for limit in limits]
    results = np.sqrt(np.square(deviation[some]) + view.noise)
    steps = [c / results[:, [limit]] for limit, c in enumerate(covariances)]
    left = [np.square(deviation[some, limit]) - np.square(steps[limit]) for limit in limits]
    stds = [np.sqrt(np.maximum(one, _TINY)) for one in left]
    draws = np.random.default_rng(0).standard_normal((_RESULTS, len(limits)))
    total = np.zeros(len(some))
    for draw in np.concatenate([draws, -draws]):
        margins = [view.margin[some, limit] + draw[limit] * steps[limit] for limit in limits]
        chances = [special.ndtr(margins[limit] / stds[limit]) for limit in limits]
        total += np.prod(chances, axis=0).max(axis=1)
    return total / (2 * _RESULTS)


def _openings(view: View, z: float, kept: Mask, allowed: Mask) -> Array:
    """The worth of looking whether a better candidate is safe, by measured candidate, (q,).

    Measuring x may open y, that is make it known safe. Then the expected improvement at y over the
    best allowed candidate is won at each step of the horizon.
    """
    worth = np.zeros(len(view.mean))
    if kept.all() or not view.horizon:
        return worth
    net = view.mean - view.price
    gains = np.where(kept, 0.0, expected_excess(net - net[allowed].max(), view.std))
    outside = np.argsort(-gains, kind="stable")[:_CLOSEST]
    inside = np.flatnonzero(allowed)
    left = (view.margin - z * view.doubt).min(axis=1)
    inside = inside[np.argsort(left[inside], kind="stable")][:_CLOSEST]
    won = (_chance(view, z, inside, outside) * gains[outside]).max(axis=1)
    worth[inside] = view.horizon * won
    return worth


def _chance(view: View, z: float, inside: Indices, outside: Indices) -> Array:
    """The probability that measuring one candidate opens another, (inside, outside).

    The margin at y changes by a normal step of variance u = Cov[x, y]^2 / Var[result at x]. It must
    then be at least z of the deviations that remain.
    """
    chance = np.ones((len(inside), len(outside)))
    for limit in range(view.margin.shape[1]):
        result = np.square(view.doubt[inside, limit]) + view.noise[limit]
        u = np.square(view.covariance(limit, inside, outside)) / np.maximum(result, _TINY)[:, None]
        left = np.sqrt(np.maximum(np.square(view.doubt[outside, limit]) - u, 0.0))
        short = z * left - view.margin[outside, limit]
        chance *= special.ndtr(-short / np.sqrt(np.maximum(u, _TINY)))
    return chance
