"""What people see of a learned belief: wider than the model's own, since the model may be wrong.

A learned world leaves out much: other kernels, other rates, changes that it has not met. Its
variances are multiplied by 1.7 + 5 / n after n results. In joint samples, 30 % of what is added is
independent at each place. Otherwise the believed best would be too sure to be the best. Choices use
the model's own variances, without the factor.
"""

from __future__ import annotations

import numpy as np

from heliotrope.validation import Array

# 95 % intervals then hold 95 % of the values, measured with seeds that benchmarks do not use
_LASTING, _EARLY = 1.7, 5.0
_INDEPENDENT = 0.3  # share of what is added that each place has for itself, in samples


def widening(results: int) -> float:
    """The factor of the variances after some results."""
    return _LASTING + _EARLY / max(results, 1)


def widened(
    draws: Array, mean: Array, variance: Array, factor: float, rng: np.random.Generator
) -> Array:
    """Draws (s, q) whose variances are those of a belief (q,) times a factor."""
    independent = _INDEPENDENT * (factor - 1.0)
    together = mean + np.sqrt(factor - independent) * (draws - mean)
    errors = np.sqrt(independent * variance) * rng.standard_normal(draws.shape)
    return np.asarray(together + errors)
