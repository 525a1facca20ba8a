"""Trade-offs between several objectives without weights."""

from __future__ import annotations

import numpy as np

from heliotrope.live.beliefs import Belief
from heliotrope.live.deciding import Mask
from heliotrope.policies.protocol import Agent
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array


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


def random_sum(agents: list[tuple[float, Agent]], spreads: Array, make_rng: RNGFactory) -> Belief:
    """A weighted sum of objectives with random weights, all trade-offs being equally likely.

    Weights are per ``spreads``, the deviation of each objective's values, so units do not matter.
    Each ask takes other weights, so the asks take turns among the trade-offs.
    """
    weights = make_rng().dirichlet(np.ones(len(agents)))
    return Belief(
        tuple(
            (sign * float(weight / spread), agent)
            for (sign, agent), weight, spread in zip(agents, weights, spreads, strict=True)
        )
    )
