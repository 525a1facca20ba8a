"""Whether a measurement now is worth its cost, or until when to hold.

A measurement at x changes the posterior mean at y by Cov[x, y] / s z, with s^2 = Var[f(x)] + noise
and standard normal z. Its value is the expected rise of the highest mean, E[max_y (m + b_y z)] -
max_y m, b_y = Cov[x, y] / s (the knowledge gradient). The value grows while nothing is measured,
since variances grow in closed form. It is won at each step until the next measurement.

Symbols
-------
q  candidates    m (q,) means    b (q, q) changes of the mean at y, by measured place x
"""

from __future__ import annotations

import numpy as np

from heliotrope.domains import Places
from heliotrope.live.beliefs import Belief

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MOST = 40  # candidates that are compared
_FARTHEST = 20  # doublings of the interval that are looked ahead


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
    if _is_worth(belief, t, places, last, cost, pace):
        return None
    step, later = pace, t
    for _ in range(_FARTHEST):
        later += step
        if _is_worth(belief, later, places, last, cost, pace):
            return later
        step *= 1.25
    return later


def _is_worth(
    belief: Belief, t: float, places: Places, last: float, cost: float, pace: float
) -> bool:
    steps = max((t - last) / pace, 1.0)
    return value_of_measuring(belief, t, places) * steps >= cost
