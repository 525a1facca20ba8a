"""What people see of a learned belief: wider than the model's own, since the model may be wrong.

A learned world leaves out much: other kernels, other rates, changes that it has not met. Its
variances are multiplied by 1.7 + 5 / n after n results. Choices go by the model's own.
"""

from __future__ import annotations

import numpy as np

from heliotrope.domains import Places
from heliotrope.policies.gp import GPAgent
from heliotrope.policies.warped import WarpedAgent
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, Warp

_LASTING, _EARLY = 1.7, 5.0  # set on worlds and seeds that benchmarks/calibration.py does not use


class Widened:
    """The belief of an agent after n results, with variances that allow for a wrong model."""

    def __init__(self, agent: GPAgent | WarpedAgent, results: int) -> None:
        self._warp: Warp = IDENTITY
        self._agent: GPAgent | WarpedAgent = agent
        if isinstance(agent, WarpedAgent):
            self._agent, self._warp = agent.inner, agent.warp
        self._factor = _LASTING + _EARLY / max(results, 1)

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        mean, variance = self._agent.predict(t, places, count_open=count_open)
        return self._warp.moments(mean, self._factor * variance)

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        mean, _ = self._agent.predict(t, places, count_open=False)
        draws = self._agent.sample(t, places, rng, size)
        return self._warp.outside(mean + np.sqrt(self._factor) * (draws - mean))
