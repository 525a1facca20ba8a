"""Beliefs about metrics: sums of them, their covariances with one place, and how far to trust them.

Symbols
-------
w_i  weights of independent metrics f_i     f = sum_i w_i f_i
u_i  how far the score of f_i exceeds its mean: its optimism
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from heliotrope.domains import Places
from heliotrope.policies.protocol import Agent, Weighing
from heliotrope.precision import USUAL, Precision
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array

_PRIOR_COUNT = 5.0  # errors of the expected size that stand in for data
_KEPT = 0.98  # weight of an error that one more error leaves
_RESPONSE = 0.5  # rise of the strain with a crossing
_CONTRADICTION = 4.0  # deviations
_LARGEST = 5.0  # deviations: a larger error is a fault or a jump


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

    def scores(self, t: float, places: Places, make_rng: RNGFactory) -> Array:
        """The acquisition's scores of f_t, with open evaluations."""
        mean, optimism = np.zeros(len(places)), np.zeros(len(places))
        for w, agent in self.parts:
            m, _ = agent.predict(t, places, count_open=False)
            u = _weighing(agent).scores(t, places, make_rng) - m
            mean, optimism = mean + w * m, optimism + np.square(w * u) * np.sign(u)
        return np.asarray(mean + np.sign(optimism) * np.sqrt(np.abs(optimism)))

    def covariance(self, t: float, places: Places, others: Places) -> Array:
        """Covariances (places, others) of f_t."""
        parts = [w**2 * _weighing(agent).covariance(t, places, others) for w, agent in self.parts]
        return np.asarray(sum(parts))

    def contrast(
        self, t: float, places: Places, place: Places, share: float = 1.0
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t(x) - share f_t(place) at places; what they share cancels."""
        mean, variance = self.predict(t, places)
        base, doubt = self.predict(t, place)
        shared = self.covariance(t, places, place)[:, 0]
        left = variance + share**2 * doubt - 2.0 * share * shared
        return mean - share * base, np.maximum(left, 0.0)

    @property
    def noise(self) -> float:
        """The noise variance of a result."""
        return sum(w**2 * _weighing(agent).noise for w, agent in self.parts)


@dataclass(frozen=True)
class Trust:
    """How far the predictions of a metric were off, and how often it crossed its limits.

    Errors are in deviations, and old ones fade. ``strain`` rises with each result that crosses a
    limit and falls with each other one, at rates that balance if a share ``risk`` crosses. So of
    the settings that were believed safe, the share that crosses stays near the risk at most,
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


def _weighing(agent: Agent) -> Weighing:
    assert isinstance(agent, Weighing)
    return agent
