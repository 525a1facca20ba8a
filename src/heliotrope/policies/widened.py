"""What people see of a learned belief: wider than the model's own, since the model may be wrong.

A learned world leaves out much: other kernels, other rates, changes that it has not met. Its
variances are multiplied by 1.7 + 5 / n after n results. In joint samples, 30 % of what is added is
independent at each place. Otherwise the believed best would be too sure to be the best. Choices use
the model's own variances, without the factor.
"""

from __future__ import annotations

import numpy as np

from heliotrope.domains import Places
from heliotrope.policies.gp import GPAgent
from heliotrope.policies.warped import WarpedAgent
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, Warp

_LASTING, _EARLY = (
    1.7,
    5.0,
)  # so that 95 % intervals hold 95 %, with seeds that benchmarks do not use

_INDEPENDENT = 0.3  # share of what is added that each place has for itself, in samples


class Widened:
    """The belief of an agent after n results, with variances that allow for a wrong model."""

    def __init__(self, agent: GPAgent | WarpedAgent, results: int) -> None:
        self._gp, self._warp = _parts(agent)
        self._factor = _LASTING + _EARLY / max(results, 1)

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        mean, variance = self._gp.predict(t, places, count_open=count_open)
        return self._warp.moments(mean, self._factor * variance)

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        mean, variance = self._gp.predict(t, places, count_open=False)
        draws = self._gp.sample(t, places, rng, size)
        independent = _INDEPENDENT * (self._factor - 1.0)
        together = mean + np.sqrt(self._factor - independent) * (draws - mean)
        errors = np.sqrt(independent * variance) * rng.standard_normal(draws.shape)
        return self._warp.outside(together + errors)


def _parts(agent: GPAgent | WarpedAgent) -> tuple[GPAgent, Warp]:
    if isinstance(agent, WarpedAgent):
        return agent.inner, agent.warp
    return agent, IDENTITY
