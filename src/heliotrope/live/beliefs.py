"""Beliefs about metrics: sums, gains, the value of a measurement, and how far to trust them.

A measurement at x changes the posterior mean at y by Cov[x, y] / s z, with s^2 = Var[f(x)] + noise
and standard normal z. Its value is the expected rise of the highest mean, E[max_y (m + b_y z)] -
max_y m, b_y = Cov[x, y] / s (the knowledge gradient). The value grows while nothing is measured,
since variances grow in closed form. It is won at each step until the next measurement.

A model that is learned from a few results near one place is too sure. All values are alike there,
so it expects alike values everywhere. Two things correct this. A limit says by how much a metric
can change: nobody sets a limit that no place reaches (:func:`cautious_world`). And the errors
of earlier predictions say how far the model can be trusted (:class:`Trust`).

Symbols
-------
w_i  weights of independent metrics f_i     f = sum_i w_i f_i
u_i  how far the score of f_i exceeds its mean: its optimism
q    candidates    m (q,) means    b (q, q) changes of the mean at y, by measured place x
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist
from typing import ClassVar, cast

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.estimation import Model, World
from heliotrope.live.rules import Limit, Live, Mask
from heliotrope.policies import Adaptive, GPPolicy, Policy
from heliotrope.policies.auto import Tracking, before_results, of_world
from heliotrope.policies.protocol import Agent, Weighing
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import register
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, Json

_WIDTH = NormalDist().inv_cdf(0.975)  # deviations between the middle and an end of an interval

# The value of a measurement
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MOST = 40  # candidates that are compared
_FARTHEST = 20  # intervals that are looked ahead, each 1.25 times as long as the one before

# What widens the beliefs of limited metrics
_PRIOR_COUNT = 5.0  # errors of the expected size that stand in for data
_KEPT = 0.98  # weight of an error that one more error leaves
_RESPONSE = 0.5  # rise of the strain with a crossing
_CONTRADICTION = 4.0  # deviations
_LARGEST = 5.0  # deviations: a larger error is a fault or a jump
_YOUNG = 10.0  # results that a limit stands for, as evidence of how far a metric can change


@dataclass(frozen=True, eq=False)
class Belief:
    """The belief about a weighted sum of independent metrics; one metric with a weight is a sum.

    The agents must weigh places (:class:`heliotrope.policies.protocol.Weighing`). The sum is as
    optimistic as its metrics: its score exceeds its mean by the root of the sum of (w_i u_i)^2.
    """

    parts: tuple[tuple[float, Agent], ...]

    @classmethod
    def of(cls, agent: Agent, sign: float = 1.0) -> Belief:
        """The belief about one metric, with another sign if the agent sees negated values."""
        return cls(((sign, agent),))

    def predict(self, t: float, places: Places) -> tuple[Array, Array]:
        """Mean and variance of f_t, without open evaluations."""
        mean, variance = np.zeros(len(places)), np.zeros(len(places))
        for w, agent in self.parts:
            m, v = agent.predict(t, places, count_open=False)
            mean, variance = mean + w * m, variance + w**2 * v
        return mean, variance

    def judge(self, t: float, places: Places, make_rng: RNGFactory) -> tuple[Array, Array, Array]:
        """Mean and variance of f_t, and the acquisition's scores, which count open evaluations."""
        mean, variance, optimism = np.zeros((3, len(places)))
        for w, agent in self.parts:
            m, v = agent.predict(t, places, count_open=False)
            u = _weighing(agent).scores(t, places, make_rng) - m
            mean, variance = mean + w * m, variance + w**2 * v
            optimism = optimism + np.square(w * u) * np.sign(u)
        return mean, variance, mean + np.sign(optimism) * np.sqrt(np.abs(optimism))

    def covariance(self, t: float, places: Places, others: Places) -> Array:
        """Covariances (places, others) of f_t."""
        parts = [w**2 * _weighing(agent).covariance(t, places, others) for w, agent in self.parts]
        return np.asarray(sum(parts))

    def contrast(
        self, t: float, places: Places, place: Places, share: float = 1.0
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t(x) - share f_t(place) at places; what they share cancels."""
        mean, variance = self.predict(t, np.concatenate([places, place]))
        shared = self.covariance(t, places, place)[:, 0]
        left = variance[:-1] + share**2 * variance[-1] - 2.0 * share * shared
        return mean[:-1] - share * mean[-1], np.maximum(left, 0.0)

    @property
    def noise(self) -> float:
        """The noise variance of a result."""
        return sum(w**2 * _weighing(agent).noise for w, agent in self.parts)


def _weighing(agent: Agent) -> Weighing:
    """The agent, which was checked when its tracker was made: each check reads its noise."""
    return cast("Weighing", agent)


# ---- trade-offs


def front(values: Array) -> Mask:
    """Which rows of values (q, objectives) no other row beats in all objectives; high is good.

    Examples
    --------
    >>> front(np.array([[0.0, 2.0], [1.0, 1.0], [0.5, 0.5], [2.0, 0.0]]))
    array([ True,  True, False,  True])
    """
    at_least = (values[None] >= values[:, None]).all(axis=2)
    better = (values[None] > values[:, None]).any(axis=2)
    return np.asarray(~np.any(at_least & better, axis=1))


def random_sum(agents: Sequence[Agent], spreads: Array, make_rng: RNGFactory) -> Belief:
    """A weighted sum of objectives with random weights, all trade-offs being equally likely.

    Weights are per ``spreads``, the deviation of each objective's values, so units do not matter.
    Each ask takes other weights, so the asks take turns among the trade-offs.
    """
    weights = make_rng().dirichlet(np.ones(len(agents))) / spreads
    return Belief(tuple(zip(weights.tolist(), agents, strict=True)))


# ---- gains


@dataclass(frozen=True)
class Gain:
    """How much better one setting is than the baseline, with a 95 % interval.

    ``mean`` is positive if the setting is better. ``baseline`` is the believed value of the
    baseline, to which a percentage refers.
    """

    mean: float
    std: float
    baseline: float

    @property
    def low(self) -> float:
        return self.mean - _WIDTH * self.std

    @property
    def high(self) -> float:
        return self.mean + _WIDTH * self.std

    def as_told(self, sign: float) -> Gain:
        """The same gain beside the baseline's value as it is told: its negative if sign is -1."""
        return Gain(self.mean, self.std, sign * self.baseline)

    def to_json(self) -> Json:
        return {"mean": self.mean, "low": self.low, "high": self.high, "baseline": self.baseline}

    def __str__(self) -> str:
        """In percent if the baseline's value is positive."""
        unit, scale = ("", 1.0) if self.baseline <= 0.0 else (" %", 100.0 / self.baseline)
        mean, low, high = (scale * number for number in (self.mean, self.low, self.high))
        return f"{mean:.3g}{unit} better, 95 % between {low:.3g} and {high:.3g}"


def gain(objective: Belief, t: float, place: Places, baseline: Places) -> Gain:
    """The gain of a place over the baseline at time t.

    It is the joint posterior of f_t(x) - f_t(baseline), in which what all places share cancels.
    """
    mean, variance = objective.contrast(t, place, baseline)
    base, _ = objective.predict(t, baseline)
    return Gain(float(mean[0]), sqrt(float(variance[0])), float(base[0]))


@dataclass(frozen=True)
class TotalGain:
    """The sum of the gains of all evaluations, each as it was believed when its result came.

    Errors of different steps may have any correlation. So their deviations are added, which is at
    least the deviation of the sum.
    """

    steps: int = 0
    sum: float = 0.0
    stds: float = 0.0
    baselines: float = 0.0

    def after(self, gain: Gain) -> TotalGain:
        """Take the gain of one more evaluation."""
        sums = self.sum + gain.mean, self.stds + gain.std, self.baselines + gain.baseline
        return TotalGain(self.steps + 1, *sums)

    @property
    def gain(self) -> Gain:
        """The sum, with its interval."""
        return Gain(self.sum, self.stds, self.baselines)


# ---- the value of a measurement


def value_of_measuring(belief: Belief, t: float, places: Places) -> float:
    """The highest knowledge gradient of a measurement at time t, per step.

    Only differences between places count, so what all places share cancels.
    """
    mean, variance = belief.predict(t, places)
    few = np.argsort(-(mean + np.sqrt(variance)), kind="stable")[:_MOST]
    few = np.unique(np.append(few, int(mean.argmax())))
    m, places = mean[few], places[few]
    joint = belief.covariance(t, places, places)
    b = joint / np.sqrt(joint.diagonal() + belief.noise)[:, None]
    raised = (m + b[:, None, :] * _NODES[None, :, None]).max(axis=2) @ _WEIGHTS
    return float(max(0.0, (raised - m.max()).max()))


def hold_until(
    belief: Belief, t: float, places: Places, last: float, cost: float, pace: float
) -> float | None:
    """The time from which a measurement is worth its cost; None if it is worth it at t.

    The next interval is taken to be as long as this one, t - last: a measurement at t wins its
    value at each step of it. ``pace`` is the time of a step.
    """

    def is_worth(at: float) -> bool:
        return value_of_measuring(belief, at, places) * max((at - last) / pace, 1.0) >= cost

    if is_worth(t):
        return None
    later, interval = t, pace
    for _ in range(_FARTHEST):
        later += interval
        if is_worth(later):
            break
        interval *= 1.25
    return later


# ---- how far a belief is trusted


@dataclass(frozen=True)
class Trust:
    """How far the predictions of a metric were off, and how often it crossed its limits.

    Errors are in deviations, and old ones fade. ``strain`` rises with each result that crosses a
    limit and falls with each other one, at rates that balance if a share ``risk`` crosses. So of
    the places that were believed safe, the share that crosses stays near the risk at most,
    whatever is wrong with the model (adaptive conformal inference). A fallback was not believed
    safe: if it crosses, that does not count, since nothing was promised.

    Examples
    --------
    >>> Trust().factor
    1.0
    >>> round(Trust().after(3.0).after(-3.0).factor, 2)
    1.81
    >>> Trust().after(0.0, crossed=True, risk=0.05).factor
    1.475
    """

    count: float = 0.0
    squares: float = 0.0
    strain: float = 0.0

    def after(self, error: float, *, crossed: bool = False, risk: float = 0.0) -> Trust:
        """Take one more standardized error, and whether the result crossed a limit."""
        size = min(abs(error), _LARGEST)
        strain = max(0.0, self.strain + _RESPONSE * (crossed - risk))
        return Trust(_KEPT * self.count + 1.0, _KEPT * self.squares + size**2, strain)

    @staticmethod
    def is_contradicted_by(error: float) -> bool:
        """Whether a standardized error shows that the model is wrong."""
        return abs(error) > _CONTRADICTION

    @property
    def factor(self) -> float:
        """The factor of the deviations that would have fitted what happened, at least 1."""
        mean = (_PRIOR_COUNT + self.squares) / (_PRIOR_COUNT + self.count)
        return max(1.0, sqrt(mean)) + self.strain


def standardized_error(
    agent: Agent, t: float, place: Places, y: float, precision: Precision = USUAL
) -> float:
    """How far a result is from its prediction, in deviations; call it before telling the result."""
    mean, variance = agent.predict(t, place, count_open=False)
    noise = precision.noise(_weighing(agent).noise)
    return (y - float(mean[0])) / sqrt(float(variance[0]) + noise)


def watching(limits: Sequence[Limit] = (), recipe: Tracking | None = None) -> Adaptive:
    """The policy that learns a metric with limits; the recipe is that of one without limits."""
    recipe = recipe or Tracking()
    bounds = tuple(limit.bound for limit in limits if not limit.relative)
    shares = tuple(limit.bound for limit in limits if limit.relative)
    return Adaptive(Watching(recipe.season, recipe.candidates, bounds, shares))


def cautious(policy: Policy, limits: Sequence[Limit]) -> Policy:
    """A cautious ``auto`` for a metric with limits; any other policy stays as it is."""
    if not (limits and isinstance(policy, Adaptive) and isinstance(policy.recipe, Tracking)):
        return policy
    return replace(watching(limits, policy.recipe), deferred=policy.deferred)


def policy_of(live: Live, metric: str, policy: Policy) -> Policy:
    """The policy of a metric: ``policy``, but a watched metric learns even if that does not."""
    limits = live.limits_of(metric)
    if metric in live.objectives or isinstance(policy, Adaptive):
        return cautious(policy, limits)
    return watching(limits)


@register
@dataclass(frozen=True)
class Watching(Tracking):
    """The sum of terms that ``auto`` learns, whose variance is at least what the bounds suggest.

    No value is taken for a fault: it may be the crossing of a limit.
    """

    bounds: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    doubts: ClassVar[bool] = False

    def negated(self) -> Watching:
        """The same for values with the opposite sign."""
        return replace(self, bounds=tuple(-bound for bound in self.bounds))

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        if model.is_plain:
            return before_results(model)
        return watching_policy(model.world, bounds=self.bounds, shares=self.shares)


def watching_policy(
    world: World, bounds: Sequence[float] = (), shares: Sequence[float] = ()
) -> GPPolicy:
    """The policy of a watched metric's warped values in a world, like :func:`of_world`.

    ``bounds`` are its limits, and ``shares`` those that are relative to the baseline.
    Implausible values are believed.
    """
    return of_world(cautious_world(world, bounds, shares), doubts=False)


def cautious_world(world: World, bounds: Sequence[float], shares: Sequence[float] = ()) -> World:
    """The world with a larger variance if its values are nearer together than to the limits.

    A limit stands for a few results that would show this distance.
    """
    usual = float(world.warp.outside(world.mean))
    values = [*bounds, *(share * usual for share in shares)]
    distances = [abs(float(world.warp.inside(value)) - world.mean) for value in values]
    if not distances:
        return world
    expected = min(distances) ** 2 / (world.stays + world.drifts)
    share = _YOUNG / (_YOUNG + world.results)
    wider = max(1.0, 1.0 - share + share * expected)
    return replace(world, stays=wider * world.stays, drifts=wider * world.drifts)
