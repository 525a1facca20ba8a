"""The parameters of the policies as studies are given them, in words and with their checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
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
class PolicyParameter:
    """A parameter: ``read`` turns a JSON value into the factory's argument, or refuses it.

    ``required`` says that a study cannot learn it.
    """

    name: str
    about: str
    read: Callable[[Any], Any]
    required: bool = False


def _of_model(name: str, value: Any) -> Any:
    return getattr(Given(**{name: value}), name)


def _beta(value: Any) -> Beta | None:
    """None, a number, or {"c1": 0.8, "c2": 4.0}."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return as_beta(value)
    if set(value) != {"c1", "c2"}:
        raise InputError("a number, or c1 and c2", short_repr(value))
    return LogBeta(value["c1"], value["c2"])


def _number(name: str, about: str, *, required: bool = True) -> PolicyParameter:
    return PolicyParameter(name, about, partial(as_number, name=name), required)


_ALL = (
    PolicyParameter("mean", "mean of the values", partial(_of_model, "mean")),
    PolicyParameter("variance", "variance of the values", partial(_of_model, "variance")),
    PolicyParameter("noise", "variance of the noise", partial(_of_model, "noise")),
    PolicyParameter("kernel", "`matern` or `se`", partial(_of_model, "kernel")),
    PolicyParameter("length_scale", "in the unit cube", partial(_of_model, "length_scale")),
    PolicyParameter("beta", "width of the confidence bound", _beta),
    PolicyParameter(
        "epsilon",
        "drift per unit of time",
        lambda value: Forgetting(as_number(value, "epsilon")).epsilon,
    ),
    PolicyParameter("epsilons", "candidate drifts", lambda value: Learn(value).epsilons, True),
    PolicyParameter("every", "time between restarts", lambda value: Restart(value).every),
    PolicyParameter("window", "how much of the past counts", lambda value: Window(value).length),
    PolicyParameter("weight", "weight after a unit of time", lambda value: Weights(value).rate),
    PolicyParameter("delta", "probability of a false alarm", lambda v: EventTrigger(v).delta),
    PolicyParameter("hazard", "jumps per unit of time", lambda value: ChangePoints(value).hazard),
    PolicyParameter("alpha", "growth of the removal budget", lambda v: Wasserstein(v).alpha),
    PolicyParameter("rate", "growth of the variance per unit of time", lambda v: Wiener(v).rate),
    _number("low", "lowest value"),
    _number("high", "highest value"),
    _number("batch", "time between restarts"),
    _number("horizon", "time that gamma is tuned for"),
    PolicyParameter(
        "gamma",
        "share of random choices",
        lambda value: None if value is None else as_number(value, "gamma"),
    ),
    _number("discount", "weight after a unit of time"),
    _number("xi", "width of the confidence interval", required=False),
)
PARAMETERS: Mapping[str, PolicyParameter] = {one.name: one for one in _ALL}
"""The parameters by name."""

OF_MODEL = tuple(field.name for field in fields(Given))
"""Names of the parameters of the model, which all GP policies share."""
