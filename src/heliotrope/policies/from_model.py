"""How the arguments of the policies' factories follow from a learned model.

All policies get them alike: from one model, a drift ``epsilon`` per unit of time and a domain. A
policy without a GP takes the mean and three deviations on both sides for the range of the values.
It takes a drift between two results for a change every 1 / drift results, and for a variation of
sqrt(drift) deviations per result. A formula with a horizon gets one of 1,000 results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from sys import float_info
from typing import Any, TypeAlias

from heliotrope.domains import Domain
from heliotrope.estimation import Model
from heliotrope.policies.bandits import d_ucb_discount, sw_ucb_window
from heliotrope.policies.exponential_weights import rexp3_batch
from heliotrope.policies.model_free import number_of_points
from heliotrope.priors import Prior

Derive: TypeAlias = Callable[[Model, float, Domain | None], Any]
"""An argument for a model, a drift per unit of time and a domain."""

SLOWEST = 1e-5  # drift between two results, where its inverse is used
_BLOCK = 12.0  # the paper's constant for R-GP-UCB's N = 12 eps^(-1/4)
_HAZARD = 0.01  # of a jump between two results
_HORIZON = 1000  # results
_WIDTH = 3.0  # deviations


def learned_prior(model: Model, epsilon: float, _: Domain | None) -> Prior:
    """The prior of the model."""
    return model.prior(epsilon)


def given_drift(_: Model, epsilon: float, __: Domain | None) -> float:
    """The drift itself."""
    return epsilon


def candidate_drifts(model: Model, *_: object) -> Sequence[float]:
    """At least two drift rates, even if results follow each other in no time."""
    rates = model.epsilons()
    return rates if len(rates) > 1 else (0.5 * rates[0], *rates)


def block(model: Model, epsilon: float, _: Domain | None) -> int:
    """Number of results that count: R-GP-UCB's N."""
    return int(_BLOCK * _drift_per_result(model, epsilon) ** -0.25) + 1


def block_time(model: Model, epsilon: float, domain: Domain | None) -> float:
    """The time in which that many results come."""
    return block(model, epsilon, domain) * model.pace


def weight(model: Model, epsilon: float, domain: Domain | None) -> float:
    """The weight after a unit of time under which that many results count."""
    return _after_a_unit(1.0 - 1.0 / block(model, epsilon, domain), model)


def hazard(model: Model, *_: object) -> float:
    """The probability of a jump per unit of time."""
    return model.per_unit(_HAZARD)


def low(model: Model, _: float, domain: Domain | None) -> float:
    """The lowest value to expect, over a Finite domain."""
    number_of_points(domain)  # refuses a Box
    return model.mean - _WIDTH * sqrt(model.variance + model.noise)


def high(model: Model, *_: object) -> float:
    """The highest value to expect."""
    return model.mean + _WIDTH * sqrt(model.variance + model.noise)


def horizon(model: Model, *_: object) -> float:
    """The time in which 1,000 results come."""
    return _HORIZON * model.pace


def batch(model: Model, epsilon: float, domain: Domain | None) -> float:
    """The time between RExp3's restarts."""
    variation = _HORIZON * sqrt(_drift_per_result(model, epsilon)) / (2.0 * _WIDTH)
    return rexp3_batch(number_of_points(domain), _HORIZON, variation) * model.pace


def discount(model: Model, epsilon: float, _: Domain | None) -> float:
    """D-UCB's discount."""
    return _after_a_unit(d_ucb_discount(_HORIZON, _changes(model, epsilon)), model)


def window_time(model: Model, epsilon: float, _: Domain | None) -> float:
    """SW-UCB's window."""
    return sw_ucb_window(_HORIZON, _changes(model, epsilon)) * model.pace


def _changes(model: Model, epsilon: float) -> int:
    return ceil(_drift_per_result(model, epsilon) * _HORIZON)


def _drift_per_result(model: Model, epsilon: float) -> float:
    return max(model.per_result(epsilon), SLOWEST)


def _after_a_unit(left: float, model: Model) -> float:
    """The weight left after a unit of time, from the one left after a result; never 0."""
    return max(float(left ** (1.0 / model.pace)), float_info.min)
