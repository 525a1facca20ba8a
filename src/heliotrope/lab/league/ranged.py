"""How the policies without a GP get their parameters: from the same learned model as the others.

They need the range of the values, taken as the mean and three deviations on both sides, and how
much the values vary. A drift epsilon between two results is taken for a change every 1 / epsilon
results, and for a variation of sqrt(epsilon) deviations a result. Formulas that ask for a horizon
get one of 1,000 results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, sqrt

from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError
from heliotrope.estimation import Model
from heliotrope.policies import (
    Policy,
    d_ucb,
    d_ucb_discount,
    exp3,
    rexp3,
    rexp3_batch,
    sw_ucb,
    sw_ucb_window,
)
from heliotrope.policies.adaptive.recipes import SLOWEST, left_after_a_unit
from heliotrope.serialization.codec import register

_WIDTH = 3.0  # deviations
_HORIZON = 1000  # results


@dataclass(frozen=True)
class _Known:
    """What these policies go by: a range, a drift between results that are ``pace`` apart."""

    low: float
    high: float
    rate: float
    pace: float
    points: int

    @property
    def changes(self) -> int:
        """How often everything is new within the horizon."""
        return ceil(self.rate * _HORIZON)

    @property
    def variation(self) -> float:
        """The sum of the changes within the horizon, as a share of the range."""
        return _HORIZON * sqrt(self.rate) / (2.0 * _WIDTH)


def _rexp3(known: _Known) -> Policy:
    batch = rexp3_batch(known.points, _HORIZON, known.variation)
    return rexp3(known.low, known.high, batch * known.pace)


def _exp3(known: _Known) -> Policy:
    return exp3(known.low, known.high, _HORIZON * known.pace)


def _d_ucb(known: _Known) -> Policy:
    discount = d_ucb_discount(_HORIZON, known.changes)
    return d_ucb(known.low, known.high, left_after_a_unit(discount, known.pace))


def _sw_ucb(known: _Known) -> Policy:
    return sw_ucb(known.low, known.high, sw_ucb_window(_HORIZON, known.changes) * known.pace)


_RANGED: Mapping[str, Callable[[_Known], Policy]] = {
    "rexp3": _rexp3,
    "exp3": _exp3,
    "d_ucb": _d_ucb,
    "sw_ucb": _sw_ucb,
}
RANGED = tuple(_RANGED)
"""The policies without a GP that have a recipe."""


@register
@dataclass(frozen=True)
class Ranged:
    """The recipe of a policy without a GP, over a Finite domain.

    Examples
    --------
    >>> from heliotrope.domains import grid
    >>> made = Ranged("sw_ucb").policy(Model(mean=5.0, variance=0.9, noise=0.1), 0.01, grid(5))
    >>> made.low, made.high
    (2.0, 8.0)
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in RANGED:
            raise InputError(f"one of {', '.join(RANGED)}", repr(self.name)[:60])

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        """The policy of a model with a drift in a unit of time."""
        half = _WIDTH * sqrt(model.variance + model.noise)
        rate = max(model.per_result(epsilon), SLOWEST)
        known = _Known(model.mean - half, model.mean + half, rate, model.pace, _points(domain))
        return _RANGED[self.name](known)


def _points(domain: Domain) -> int:
    if not isinstance(domain, Finite):
        raise InputError("a Finite domain", repr(domain)[:60], "Take a grid of the box.")
    return len(domain)
