"""TVSafeOpt with several limited metrics, as a competitor that knows all parameters.

``ht.policies.tv_safe_opt`` limits its objective. Here the objective and each limited metric have an
agent of their own, as in the code of SafeOpt's authors: a point is an expander if for each metric
its upper bound, measured, would bring some unsafe point within that metric's limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import heliotrope as ht
from heliotrope.acquisition.safe_opt import expanders, maximizers
from heliotrope.policies.protocol import Weighing
from heliotrope.validation import Array

WIDTH = 2.0  # deviations of a bound, as in SafeOpt's code


@dataclass(frozen=True, eq=False)
class Bounds:
    """What is believed of all points now: mean, width of the bound and covariance."""

    mean: Array
    width: Array
    covariance: Array


class TVSafeOpt:
    """Chooses the most uncertain point that is safe and is a maximizer or an expander.

    High values of the objective are good, and those of the metrics must be ``limit`` at most.
    """

    def __init__(self, domain: ht.Finite, prior: ht.Prior, metrics: int, limit: float) -> None:
        policy = ht.tv_gp_ucb(prior)
        self._domain, self._limit = domain, limit
        self._agents = [policy.start(domain) for _ in range(1 + metrics)]

    def tell(self, t: float, index: int, values: Array) -> None:
        """Take the values (1 + metrics,) of the objective and the metrics."""
        for agent, value in zip(self._agents, values.tolist(), strict=True):
            agent.open(0, t, np.array([index]))
            agent.tell(0, value)

    def choose(self, t: float) -> int:
        """The point to measure at time t."""
        objective, *metrics = (self._bounds(agent, t) for agent in self._agents)
        margins = [self._limit - one.mean for one in metrics]
        low = np.min([m - one.width for m, one in zip(margins, metrics, strict=True)], axis=0)
        safe = low >= 0.0
        if not safe.any():
            return int(low.argmax())
        widening = [
            expanders(m, one.width, one.covariance, safe)
            for m, one in zip(margins, metrics, strict=True)
        ]
        wanted = maximizers(objective.mean, objective.width, safe) | np.all(widening, axis=0)
        width = np.max([objective.width, *(one.width for one in metrics)], axis=0)
        return int(np.where(wanted, width, -np.inf).argmax())

    def _bounds(self, agent: object, t: float) -> Bounds:
        assert isinstance(agent, ht.policies.protocol.Agent)
        assert isinstance(agent, Weighing)
        mean, variance = agent.predict(t, self._domain.indices, count_open=False)
        covariance = agent.covariance(t, self._domain.indices)
        return Bounds(mean, WIDTH * np.sqrt(variance), covariance)
