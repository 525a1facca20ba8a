"""How the policies' own parameters follow from a learned model.

All policies get them alike: from one model and a drift ``epsilon`` per unit of time. A policy
without a GP takes the mean and three deviations on both sides for the range of the values. It
takes a drift between two results for a change every 1 / drift results, and for a variation of
sqrt(drift) deviations per result. A formula with a horizon gets one of 1,000 results.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from sys import float_info

from heliotrope.estimation import Model

HAZARD = 0.01  # of a jump between two results
HORIZON = 1000  # results
SLOWEST = 1e-5  # drift between two results, where its inverse is used
_BLOCK = 12.0  # the paper's constant for R-GP-UCB's N = 12 eps^(-1/4)
_WIDTH = 3.0  # deviations


def block(model: Model, epsilon: float) -> int:
    """Number of results that count: R-GP-UCB's N."""
    return int(_BLOCK * drift(model, epsilon) ** -0.25) + 1


def drift(model: Model, epsilon: float) -> float:
    """The drift between two results, at least the slowest."""
    return max(model.per_result(epsilon), SLOWEST)


def left_after_a_unit(weight: float, pace: float) -> float:
    """The weight left after a unit of time, from the one left after a result; never 0.

    Examples
    --------
    >>> left_after_a_unit(0.5, pace=0.5), left_after_a_unit(0.5, pace=1e-9) > 0.0
    (0.25, True)
    """
    return max(float(weight ** (1.0 / pace)), float_info.min)


def value_range(model: Model) -> tuple[float, float]:
    """The range that values are expected in.

    Examples
    --------
    >>> value_range(Model(mean=5.0, variance=0.9, noise=0.1))
    (2.0, 8.0)
    """
    half = _WIDTH * sqrt(model.variance + model.noise)
    return model.mean - half, model.mean + half


def changes(model: Model, epsilon: float) -> int:
    """Number of complete changes within the horizon."""
    return ceil(drift(model, epsilon) * HORIZON)


def variation(model: Model, epsilon: float) -> float:
    """Sum of the changes within the horizon, as a share of the range."""
    return HORIZON * sqrt(drift(model, epsilon)) / (2.0 * _WIDTH)


def candidate_drifts(model: Model) -> Sequence[float]:
    """At least two drift rates per unit of time, even if results follow each other in no time."""
    rates = model.epsilons()
    return rates if len(rates) > 1 else (0.5 * rates[0], *rates)
