"""The parameters of the policies: their descriptions, their JSON, and their learned values.

All policies learn them alike: from one model, a drift ``epsilon`` per unit of time and a domain.
For a policy without a GP, the range of the values is the mean plus and minus three deviations. A
drift between two results counts as a change every 1 / drift results, and as a variation of
sqrt(drift) deviations per result. A formula with a horizon gets one of 1,000 results.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from math import ceil, sqrt
from sys import float_info
from typing import Any, TypeAlias

from heliotrope.acquisition import Beta, FiniteBeta, LogBeta, TVBeta, as_beta
from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.estimation import Model, per_result
from heliotrope.memory import ChangePoints, EventTrigger, Restart, Wasserstein, Weights, Window
from heliotrope.policies.bandits import d_ucb_discount, sw_ucb_window
from heliotrope.policies.exponential_weights import rexp3_batch
from heliotrope.policies.model_free import number_of_points
from heliotrope.posterior import Learn
from heliotrope.priors import Forgetting, Wiener
from heliotrope.terms import as_duration
from heliotrope.validation import as_number, short_repr

SLOWEST = 1e-5  # drift between two results, where its inverse is used
_BLOCK = 12.0  # the paper's constant for R-GP-UCB's N = 12 eps^(-1/4)
_HAZARD = 0.01  # of a jump between two results
_HORIZON = 1000  # results
_WIDTH = 3.0  # deviations

_SCHEDULES: Mapping[type[LogBeta | FiniteBeta | TVBeta], set[str]] = {
    LogBeta: {"c1", "c2"},
    FiniteBeta: {"points"},
    TVBeta: {"a", "b"},
}
"""The schedules that JSON can describe, with the parameters that it must name."""

OF_MODEL = ("mean", "variance", "noise", "kernel", "length_scale")
"""Names of the parameters of the model, which all GP policies share."""


def _as_it_is(value: Any, _: float) -> Any:
    return value


def _duration(value: float, pace: float) -> float:
    return value / pace


def _growth(value: float, pace: float) -> float:
    return value * pace


def _remainder(value: float, pace: float) -> float:
    return _share(float(value**pace))


def _chance(value: float, pace: float) -> float:
    return _share(per_result(value, pace))


def _share(number: float) -> float:
    """The nearest number between 0 and 1, ends excluded."""
    return min(max(number, float_info.min), 1.0 - float_info.epsilon)


@dataclass(frozen=True)
class PolicyParameter:
    """A parameter: ``read`` turns a JSON value into the factory's argument, or refuses it.

    ``counted`` turns an argument into that of a policy that counts time in results, given their
    pace.
    """

    about: str
    read: Callable[[Any], Any]
    counted: Callable[[Any, float], Any] = _as_it_is


def _beta(value: Any) -> Beta | None:
    """None, a number, or the parameters of a schedule, such as {"c1": 0.8, "c2": 4.0}."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return as_beta(value)
    for schedule, needed in _SCHEDULES.items():
        allowed = {field.name for field in fields(schedule)}
        if needed <= set(value) <= allowed:
            return schedule(**value)
    schedules = "; ".join(" and ".join(sorted(needed)) for needed in _SCHEDULES.values())
    raise InputError(f"a number, or the parameters of a schedule ({schedules})", short_repr(value))


def _epsilon(value: Any) -> float:
    return Forgetting(as_number(value, "epsilon")).epsilon


def _gamma(value: Any) -> float | None:
    return None if value is None else as_number(value, "gamma")


def _season(value: Any) -> float | str | None:
    """A period in units of time, or a text such as "24h", which studies with a clock take."""
    return value if value is None or isinstance(value, str) else as_duration(value, "season")


def _number(
    name: str, about: str, counted: Callable[[Any, float], Any] = _as_it_is
) -> PolicyParameter:
    return PolicyParameter(about, partial(as_number, name=name), counted)


PARAMETERS: Mapping[str, PolicyParameter] = {
    "beta": PolicyParameter("width of the confidence bound", _beta),
    "epsilon": PolicyParameter("drift per unit of time", _epsilon, per_result),
    "epsilons": PolicyParameter("candidate drifts", lambda value: Learn(value).epsilons),
    "every": PolicyParameter(
        "time between restarts", lambda value: Restart(value).every, _duration
    ),
    "window": PolicyParameter("how much of the past counts", lambda value: Window(value).length),
    "weight": PolicyParameter("weight after a unit of time", lambda v: Weights(v).rate, _remainder),
    "delta": PolicyParameter("probability of a false alarm", lambda v: EventTrigger(v).delta),
    "hazard": PolicyParameter("jumps per unit of time", lambda v: ChangePoints(v).hazard, _chance),
    "alpha": PolicyParameter("growth of the removal budget", lambda v: Wasserstein(v).alpha),
    "rate": PolicyParameter(
        "growth of the variance per unit of time", lambda v: Wiener(v).rate, _growth
    ),
    "threshold": _number("threshold", "value that must be kept"),
    "low": _number("low", "lowest value"),
    "high": _number("high", "highest value"),
    "batch": _number("batch", "time between restarts", _duration),
    "horizon": _number("horizon", "time that gamma is tuned for", _duration),
    "gamma": PolicyParameter("share of random choices", _gamma),
    "discount": _number("discount", "weight after a unit of time", _remainder),
    "xi": _number("xi", "width of the confidence interval"),
    "season": PolicyParameter("time after which values return", _season),
}
"""The parameters by name, except those of the model."""

Rule: TypeAlias = Callable[[Model, float, Domain | None], Any]
"""An argument of a factory from a model, a drift per unit of time and a domain."""


def candidate_drifts(model: Model, *_: object) -> Sequence[float]:
    """At least two drift rates, even if results follow each other in no time."""
    rates = model.epsilons()
    return rates if len(rates) > 1 else (0.5 * rates[0], *rates)


def window_time(model: Model, epsilon: float, _: object) -> float:
    """SW-UCB's window, in units of time."""
    return sw_ucb_window(_HORIZON, _changes(model, epsilon)) * model.pace


def _low(model: Model, _: float, domain: Domain | None) -> float:
    number_of_points(domain)  # refuses a Box
    return model.mean - _WIDTH * sqrt(model.variance + model.noise)


def _batch(model: Model, epsilon: float, domain: Domain | None) -> float:
    variation = _HORIZON * sqrt(_drift_per_result(model, epsilon)) / (2.0 * _WIDTH)
    return rexp3_batch(number_of_points(domain), _HORIZON, variation) * model.pace


def _block(model: Model, epsilon: float, _: object = None) -> int:
    """Number of results that count: R-GP-UCB's N."""
    return int(_BLOCK * _drift_per_result(model, epsilon) ** -0.25) + 1


def _changes(model: Model, epsilon: float) -> int:
    return ceil(_drift_per_result(model, epsilon) * _HORIZON)


def _drift_per_result(model: Model, epsilon: float) -> float:
    return max(model.per_result(epsilon), SLOWEST)


def _after_a_unit(left: float, model: Model) -> float:
    """The weight left after a unit of time, from the one left after a result; never 0."""
    return _remainder(left, 1.0 / model.pace)


RULES: Mapping[str, Rule] = {
    "domain": lambda _, __, domain: domain,
    "prior": lambda model, epsilon, _: model.prior(epsilon),
    "epsilons": candidate_drifts,
    "every": lambda model, epsilon, _: _block(model, epsilon) * model.pace,
    "window": _block,
    "weight": lambda model, epsilon, _: _after_a_unit(1.0 - 1.0 / _block(model, epsilon), model),
    "hazard": lambda model, *_: model.per_unit(_HAZARD),
    "rate": lambda _, epsilon, __: epsilon,
    "threshold": lambda model, *_: model.mean - _WIDTH * sqrt(model.variance),
    "low": _low,
    "high": lambda model, *_: model.mean + _WIDTH * sqrt(model.variance + model.noise),
    "batch": _batch,
    "horizon": lambda model, *_: _HORIZON * model.pace,
    "discount": lambda model, epsilon, _: _after_a_unit(
        d_ucb_discount(_HORIZON, _changes(model, epsilon)), model
    ),
}
"""How the arguments of the factories follow from a model, by name; the others have defaults."""
