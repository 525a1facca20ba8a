"""The parameters of the policies as studies are given them, in words and with their checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from heliotrope.acquisition import Beta, LogBeta, as_beta
from heliotrope.errors import InputError
from heliotrope.estimation import Given
from heliotrope.memory import ChangePoints, EventTrigger, Restart, Wasserstein, Weights, Window
from heliotrope.posterior import Learn
from heliotrope.priors import Forgetting, Wiener
from heliotrope.validation import as_number, short_repr


@dataclass(frozen=True)
class Parameter:
    """A parameter: ``read`` turns a JSON value into the factory's argument, or refuses it.

    ``required`` says that a study cannot learn it.
    """

    name: str
    about: str
    read: Callable[[Any], Any]
    required: bool = False


def _of_model(name: str, value: Any) -> Any:
    return getattr(Given(**{name: value}), name)


def _epsilon(value: Any) -> float:
    return Forgetting(as_number(value, "epsilon")).epsilon


def _beta(value: Any) -> Beta | None:
    """None, a number, or {"c1": 0.8, "c2": 4.0}."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return as_beta(value)
    if set(value) != {"c1", "c2"}:
        raise InputError("a number, or c1 and c2", short_repr(value))
    return LogBeta(value["c1"], value["c2"])


def _number(name: str, value: Any) -> float:
    return as_number(value, name)


def _gamma(value: Any) -> float | None:
    return None if value is None else as_number(value, "gamma")


def number(name: str, about: str, *, required: bool = True) -> Parameter:
    """A parameter that is a number."""
    return Parameter(name, about, partial(_number, name), required)


MODEL = (
    Parameter("mean", "mean of the values", partial(_of_model, "mean")),
    Parameter("variance", "variance of the values", partial(_of_model, "variance")),
    Parameter("noise", "variance of the measurement noise", partial(_of_model, "noise")),
    Parameter("kernel", "`matern` or `se`", partial(_of_model, "kernel")),
    Parameter("length_scale", "length scale in the unit cube", partial(_of_model, "length_scale")),
)
BETA = Parameter("beta", "width of the confidence bound", _beta)
EPSILON = Parameter("epsilon", "drift per unit of time", _epsilon)
BOUND = (BETA, *MODEL)
EVERY = Parameter("every", "time between restarts", lambda value: Restart(value).every)
WINDOW = Parameter("window", "number of latest values that count", lambda v: Window(v).length)
WEIGHT = Parameter("weight", "weight after a unit of time", lambda value: Weights(value).rate)
DELTA = Parameter("delta", "probability of a false alarm", lambda v: EventTrigger(v).delta)
HAZARD = Parameter(
    "hazard", "probability of a jump per unit of time", lambda value: ChangePoints(value).hazard
)
ALPHA = Parameter("alpha", "growth of the removal budget", lambda v: Wasserstein(v).alpha)
RATE = Parameter("rate", "growth of the variance per unit of time", lambda v: Wiener(v).rate)
RANGE = (number("low", "lowest value"), number("high", "highest value"))
BATCH = number("batch", "time between restarts")
HORIZON = number("horizon", "units of time that gamma is tuned for")
GAMMA = Parameter("gamma", "share of random choices", _gamma)
DISCOUNT = number("discount", "weight after a unit of time")
SPAN = number("window", "units of time that count")
XI = number("xi", "width of the confidence interval", required=False)
EPSILONS = Parameter("epsilons", "candidate drifts", lambda v: Learn(v).epsilons, required=True)
