"""Worlds to track: functions that drift, drawn with a seed, and policies run in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heliotrope.arrays import Array, as_whole
from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.linalg import low_rank_root
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy
from heliotrope.priors import Forgetting, Prior, Static

_ROOT_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Episode:
    """One world drawn: true values (T, M) at times 1 .. T, and the noise (T,) of each time.

    Policies that face the same episode face the same functions and the same noise.
    """

    domain: Finite
    values: Array
    noise: Array

    def measure(self, t: int, index: int) -> float:
        """Return the noisy value at a point at time t, counted from 1."""
        return float(self.values[t - 1, index] + self.noise[t - 1])

    def regret(self, t: int, index: int) -> float:
        """Return how far below the best a point is at time t."""
        return float(self.values[t - 1].max() - self.values[t - 1, index])


class GPDrift:
    """The paper's model (eq:tv_model0, eq:tv_model) over a Finite domain.

    f_1 = g_1, f_{t+1} = rho f_t + sqrt(1 - rho^2) g_{t+1}, with rho = sqrt(1 - epsilon) and
    independent g_i ~ GP(0, k), around the prior's mean.
    """

    def __init__(self, domain: Finite, prior: Prior) -> None:
        if not isinstance(prior.time, (Static, Forgetting)):
            raise InputError("a Static or Forgetting time", str(prior.time))
        self._domain, self._prior, self._rho = domain, prior, prior.time.rho
        every = np.arange(len(domain))
        K = prior.over(domain).block(every, every)
        self._mean = prior.mean_at(every)
        self._root = low_rank_root(K, _ROOT_TOLERANCE * float(K.diagonal().max()))

    def episode(self, horizon: int, seed: int) -> Episode:
        """Draw one world of that many steps; another horizon is another world."""
        horizon = as_whole(horizon, "horizon", least=1)
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), horizon])
        values = rng.standard_normal((horizon, self._root.shape[1])) @ self._root.T
        for t in range(1, horizon):
            values[t] *= np.sqrt(1.0 - self._rho**2)
            values[t] += self._rho * values[t - 1]
        noise = rng.normal(scale=np.sqrt(self._prior.noise), size=horizon)
        return Episode(self._domain, self._mean + values, noise)


@dataclass(frozen=True)
class Step:
    """One step of a policy in an episode."""

    t: int
    index: int
    y: float
    regret: float


def run(policy: Policy, episode: Episode, seed: int = 0) -> Iterator[Step]:
    """Let a policy track an episode from its first step to its last."""
    optimizer = Optimizer(episode.domain, policy, seed)
    for t in range(1, len(episode.values) + 1):
        suggestion = optimizer.ask(t)
        index = suggestion.index
        assert index is not None  # the domain is Finite
        y = episode.measure(t, index)
        optimizer.tell(suggestion, y)
        yield Step(t, index, y, episode.regret(t, index))
