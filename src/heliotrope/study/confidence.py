"""How sure the best is, by joint draws of the values at it and at its rivals.

Symbols
-------
f (s, q)  draws of the values at q places, the first of which is the best
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

_DRAWS = 1000
_RIVALS = 100  # of a Finite domain: those that may be highest
_SCATTERED, _LATEST = 128, 32  # of a Box: places all over it, and some that were measured
_SHARE = 0.1  # of the values' deviation: what may be missed in a space
_FEW = 5  # results, below which the values' deviation is but guessed


def confidence(
    config: StudyConfig,
    optimizer: Optimizer,
    best: Best,
    variance: float,
    context: Array | None = None,
) -> dict[str, Any]:
    """The ``probability`` that nothing is better than the best by more than a ``margin``.

    The margin is 0 among options; in a space, where neighbours are nearly as good, it is a tenth
    of the values' deviation. With few results, or ones that are all equal, nobody knows how far
    values vary, and so how sure anything is: then both are None.
    """
    y = optimizer.history.y
    if config.given.variance is None and (len(y) < _FEW or np.ptp(y) == 0.0):
        return {"probability": None, "margin": None}
    margin = 0.0 if isinstance(config.space, Options) else _SHARE * float(np.sqrt(variance))
    rivals = _rivals(optimizer, best.t, context)
    others = rivals[(rivals != best.x).any(axis=1)]  # rounding would make it beat itself
    places = np.vstack([best.x, others])
    f = optimizer.sample(best.t, places, size=_DRAWS)
    is_beaten = f.max(axis=1) - f[:, 0] > margin
    return {"probability": 1.0 - float(is_beaten.mean()), "margin": margin}


def _rivals(optimizer: Optimizer, t: float, context: Array | None) -> Array:
    """Points that may be higher than the best, all of them in the context."""
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
