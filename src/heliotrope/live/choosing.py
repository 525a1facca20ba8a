"""The choice among candidates that a live system's rules allow, and why it was made.

A candidate is avoided for a while if evaluations failed lately at the nearest evaluated place, in
the unit cube. A failure continues the row of the nearest failure, unless a result since then is
much nearer. After the k-th failure of a row, all its places
are avoided for 2^k asks. So a region where evaluations always fail is tried ever more rarely. The
belief does not change.

Symbols
-------
q  candidates          l  limits
score, mean, std (q,)  acquisition's score, posterior mean and deviation of the objective
margin, doubt (q, l)   mean and standard deviation of how far inside each limit a candidate is
factor (l,)            of the model's deviation in doubt: how far the model is trusted
z                      deviations between mean and limit at which the risk is just kept
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from heliotrope.acquisition.scored import argmax
from heliotrope.domains import Box, Choices, Domain, Places, UnitCube, are_indices
from heliotrope.errors import HeliotropeError
from heliotrope.lazy import lazy_module
from heliotrope.ledger import Failure, Ledger
from heliotrope.live.rules import Mask
from heliotrope.policies.protocol import Agent, Weighing
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, Indices

distance = lazy_module("scipy.spatial.distance")
special = lazy_module("scipy.special")

Reason: TypeAlias = Literal["first", "explore", "best", "baseline", "boundary", "fallback"]
Covariance: TypeAlias = Callable[[int, Indices, Indices], Array]

HORIZON = 5.0  # steps over which a place is worth having, once it is reached or known safe
VISITED = 8  # latest measured choices of a box that are candidates again
_SPREAD, _NEAR = 256, 64  # candidates in a box: everywhere, and around each place, by scale
_SCALES = np.array([0.5, 0.2, 0.05, 0.01])  # shares of the way from a place to them
_CLOSEST = 100  # candidates that are compared on each side of the boundary
_RESULTS = 32  # simulated results, each also with its sign changed
_TINY = 1e-300
_FAR = 40.0  # deviations: the normal density is 0 there
_SAME = 1e-9  # distance in the unit cube
_MUCH = 2.0  # ratio of distances, from which a result ends a row


def candidates(choices: Choices, near: Sequence[Places], make_rng: RNGFactory) -> Places:
    """All choices of a list; of a box, the places ``near``, some around each, some everywhere."""
    if not isinstance(choices, Box):
        return choices
    rng, d = make_rng(), choices.dimension
    start = np.concatenate([*near, np.empty((0, d))])
    spread = choices.scaled(rng.random((_SPREAD, d)))
    ends = choices.scaled(rng.random((len(start), len(_SCALES), _NEAR, d)))
    around = start[:, None, None] + _SCALES[:, None, None] * (ends - start[:, None, None])
    return np.concatenate([start, choices.snap(np.concatenate([spread, around.reshape(-1, d)]))])


@dataclass(frozen=True, eq=False)
class View:
    """What is believed of some candidates now, and which of them can be reached.

    High values of the objective are good. ``called_safe`` are the candidates that count as safe
    while nothing was measured: the baseline and others that the user named. ``price`` is the cost
    of moving to each candidate. A gain is worth having over ``horizon`` steps. ``avoided`` are the
    candidates where evaluations failed lately.

    ``covariance(limit, rows, columns)`` returns covariances of a metric between candidates, and
    ``noise`` (l,) the variance of a measured margin.
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
    called_safe: tuple[int, ...] = ()
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
    if first and view.called_safe:
        reachable = [index for index in view.called_safe if view.reachable[index]]
        return Decision(reachable[0] if reachable else _safest(view), "first")
    kept = safe(view.margin, view.doubt, risk)
    allowed = kept & view.reachable
    if not allowed.any():
        return Decision(_safest(view), "fallback")
    if view.avoided is not None and not view.avoided[allowed].all():
        allowed = allowed & ~view.avoided
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


def _next_chance(view: View, deviation: Array, top: Indices) -> Array:
    """The expected chance of the safest of some candidates after one of them is measured, (n,).

    A result at x moves the margin at y by a normal step of deviation Cov[x, y] / sd[result at x].
    """
    limits, variance = range(view.margin.shape[1]), np.square(deviation[top]).T  # (l, n)
    covariances = np.array([view.covariance(limit, top, top) for limit in limits])
    steps = covariances / np.sqrt(variance + view.noise[:, None])[:, :, None]  # (l, n, n)
    stds = np.sqrt(np.maximum(variance[:, None, :] - np.square(steps), _TINY))
    draws = np.random.default_rng(0).standard_normal((_RESULTS, len(limits), 1, 1))
    total = np.zeros(len(top))
    for draw in np.concatenate([draws, -draws]):
        chances = special.ndtr((view.margin[top].T[:, None, :] + draw * steps) / stds)
        total += chances.prod(axis=0).max(axis=1)
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


class Avoidance:
    """The candidates to avoid after failures, beside the latest points with results."""

    def __init__(self, domain: Domain, failures: Sequence[Failure], told: Array) -> None:
        self._domain, self._told, self._failures = domain, told, failures

    def avoids(self, places: Places) -> Mask:
        """Which of the places have a failure nearest to them, (q,)."""
        if not self._failures:
            return np.zeros(len(places), dtype=bool)
        away = self._from_failures(places).min(axis=1)
        to_result = self._distances(places, self._told).min(axis=1, initial=np.inf)
        return np.asarray((away < to_result - _SAME) | (away < _SAME))

    def elsewhere(self, agent: Agent, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return the choice of the highest score that is not avoided.

        If all are, it is the one farthest from failures; of several, the one that failed first.
        """
        latest = self._told[-VISITED:]
        visited = [choices.snap(latest)] if isinstance(choices, Box) else []
        places = candidates(choices, visited, make_rng)
        left = np.flatnonzero(~self.avoids(places))
        if not len(left):
            return places[[self._farthest(places)]]
        return places[[left[argmax(_scores(agent, t, places[left], make_rng), make_rng)]]]

    def _farthest(self, places: Places) -> int:
        distances = self._from_failures(places)
        until = np.array([failure.until for failure in self._failures])[distances.argmin(axis=1)]
        return int(np.lexsort([until, -distances.min(axis=1)])[0])

    def _from_failures(self, places: Places) -> Array:
        return self._distances(places, np.array([failure.x for failure in self._failures]))

    def _distances(self, places: Places, points: Array) -> Array:
        cube = UnitCube(self._domain)
        inside = cube.domain.at(places) if are_indices(places) else cube.enter(places)
        return np.asarray(distance.cdist(inside, cube.enter(points)))


def failure_before(domain: Domain, ledger: Ledger, x: Array) -> Failure | None:
    """The failure whose row a failure at a point continues; None if it begins one.

    It is the nearest one, unless a result since then is much nearer.
    """
    if not ledger.failures:
        return None
    cube = UnitCube(domain)
    at, failed = cube.enter(x[None]), np.array([failure.x for failure in ledger.failures])
    away = distance.cdist(at, cube.enter(failed))[0]
    nearest = ledger.failures[int(away.argmin())]
    since = distance.cdist(at, cube.enter(ledger.history.x[nearest.told :]))
    return None if _MUCH * since.min(initial=np.inf) < away.min() else nearest


def _scores(agent: Agent, t: float, places: Places, make_rng: RNGFactory) -> Array:
    """The scores of places; all are equal for an agent without scores."""
    with suppress(HeliotropeError):  # even to ask an agent whether it has scores may raise this
        if isinstance(agent, Weighing):
            return agent.scores(t, places, make_rng)
    return np.zeros(len(places))
