"""The probability that the best is the best, from joint samples of it and its rivals.

Symbols
-------
f (s, q)  samples of the values at q points, the first of which is the best
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats.qmc import Sobol

from heliotrope.domains import Box, Finite
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Best
from heliotrope.spaces import Options
from heliotrope.study.config import StudyConfig
from heliotrope.validation import Array

_SAMPLES = 1000
_RIVALS = 100  # in a Finite domain: points with the highest upper bounds
_SCATTERED, _LATEST = 128, 32  # in a Box: points all over it, and the latest measured ones
_SHARE = 0.1  # margin in a space, as a share of the values' standard deviation
_FEW = 5  # results; with fewer the standard deviation is unknown


def confidence(
    config: StudyConfig,
    optimizer: Optimizer,
    best: Best,
    variance: float,
    context: Array | None = None,
) -> dict[str, Any]:
    """The ``probability`` that nothing is better than the best by more than a ``margin``.

    Among options the margin is 0. In a space, where neighbours are nearly as good, it is a tenth of
    the values' standard deviation. With few or equal results that deviation is unknown, and both
    are None.
    """
    y = optimizer.history.y
    if config.given.variance is None and (len(y) < _FEW or np.ptp(y) == 0.0):
        return {"probability": None, "margin": None}
    margin = 0.0 if isinstance(config.space, Options) else _SHARE * float(np.sqrt(variance))
    rivals = _rivals(optimizer, best.t, context)
    others = rivals[(rivals != best.x).any(axis=1)]  # not the best itself: rounding errors
    places = np.vstack([best.x, others])
    f = optimizer.sample(best.t, places, size=_SAMPLES)
    is_beaten = f.max(axis=1) - f[:, 0] > margin
    return {"probability": 1.0 - float(is_beaten.mean()), "margin": margin}


def _rivals(optimizer: Optimizer, t: float, context: Array | None) -> Array:
    """Points in the context that may be higher than the best."""
    problem, domain = optimizer.contextual, optimizer.domain
    if isinstance(domain if problem is None else problem.choices, Finite):
        belief = optimizer.belief(t, context=context, count_open=False)
        highest = np.argsort(belief.mean + 3.0 * belief.std)[-_RIVALS:]
        return belief.points[highest]
    latest = optimizer.history.x[-_LATEST:]
    if problem is None or context is None:
        assert isinstance(domain, Box)
        return np.vstack([_scattered(domain), latest])
    scattered = problem.given(context)
    assert isinstance(scattered, Box)
    held = problem.points(latest[:, : problem.choices.dimension], context)
    return np.vstack([_scattered(scattered), held])


def _scattered(box: Box) -> Array:
    unit = Sobol(box.dimension, rng=0).random(_SCATTERED)
    return box.snap(box.scaled(unit))
