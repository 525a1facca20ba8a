"""How each named policy follows from a learned model, so that all get their parameters alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from sys import float_info
from typing import TypeAlias

from heliotrope.acquisition import LogBeta, MeasuredUCB
from heliotrope.domains import Box, Contextual, Domain, Finite
from heliotrope.errors import InputError
from heliotrope.estimation import Model
from heliotrope.policies.adaptive.policy import Adaptive
from heliotrope.policies.elimination import PriorElimination
from heliotrope.policies.gp import GPPolicy
from heliotrope.policies.named import (
    cp_gp_ucb,
    et_gp_ucb,
    gp_ucb,
    r_gp_ucb,
    sw_gp_ucb,
    tv_gp_ucb,
    tv_ts,
    ui_gp_ucb,
    wdbo,
    wgp_ucb,
)
from heliotrope.policies.protocol import Policy
from heliotrope.posterior import Learn
from heliotrope.serialization.codec import register

Build: TypeAlias = Callable[[Model, float], Policy]

_BLOCK = 12.0  # the paper's constant for R-GP-UCB's N = 12 eps^(-1/4)
_HAZARD = 0.01  # of a jump between two results
_SOON, _SOON_OF_MEMORY = 10.0, 0.1
SLOWEST = 1e-5  # drift between two results, in what is computed from its inverse


def _gp_ucb(model: Model, epsilon: float) -> Policy:
    return gp_ucb(model.prior(epsilon))


def _r_gp_ucb(model: Model, epsilon: float) -> Policy:
    return r_gp_ucb(model.prior(epsilon), _block(model, epsilon) * model.pace)


def _tv_gp_ucb(model: Model, epsilon: float) -> Policy:
    return tv_gp_ucb(model.prior(epsilon))


def _sw_gp_ucb(model: Model, epsilon: float) -> Policy:
    return sw_gp_ucb(model.prior(epsilon), _block(model, epsilon))


def _wgp_ucb(model: Model, epsilon: float) -> Policy:
    weight = 1.0 - 1.0 / _block(model, epsilon)
    return wgp_ucb(model.prior(epsilon), left_after_a_unit(weight, model.pace))


def _et_gp_ucb(model: Model, epsilon: float) -> Policy:
    return et_gp_ucb(model.prior(epsilon))


def _cp_gp_ucb(model: Model, epsilon: float) -> Policy:
    return cp_gp_ucb(model.prior(epsilon), model.per_unit(_HAZARD))


def _ui_gp_ucb(model: Model, epsilon: float) -> Policy:
    return ui_gp_ucb(model.prior(epsilon), epsilon)


def _tv_ts(model: Model, epsilon: float) -> Policy:
    return tv_ts(model.prior(epsilon))


def _pe_gp_ucb(model: Model, epsilon: float) -> Policy:
    rates = Learn(model.epsilons())  # a single one, where results follow each other in no time
    return PriorElimination(rates.hypotheses(model.prior(epsilon)), LogBeta())


def _wdbo(model: Model, epsilon: float) -> Policy:
    return wdbo(model.prior(epsilon))


def _block(model: Model, epsilon: float) -> int:
    """How many results count: as many as R-GP-UCB's N."""
    return int(_BLOCK * max(model.per_result(epsilon), SLOWEST) ** -0.25) + 1


def left_after_a_unit(weight: float, pace: float) -> float:
    """What is left of a weight after a unit of time, of that after one result; never nothing.

    Examples
    --------
    >>> left_after_a_unit(0.5, pace=0.5), left_after_a_unit(0.5, pace=1e-9) > 0.0
    (0.25, True)
    """
    return max(float(weight ** (1.0 / pace)), float_info.min)


_NAMED: Mapping[str, Build] = {
    "gp_ucb": _gp_ucb,
    "r_gp_ucb": _r_gp_ucb,
    "tv_gp_ucb": _tv_gp_ucb,
    "sw_gp_ucb": _sw_gp_ucb,
    "wgp_ucb": _wgp_ucb,
    "et_gp_ucb": _et_gp_ucb,
    "cp_gp_ucb": _cp_gp_ucb,
    "ui_gp_ucb": _ui_gp_ucb,
    "tv_ts": _tv_ts,
    "pe_gp_ucb": _pe_gp_ucb,
    "wdbo": _wdbo,
}
NAMES = tuple(_NAMED)
"""The policies that have a recipe."""


@register
@dataclass(frozen=True)
class Named:
    """The recipe of a named policy: its parameters follow from the model and the drift.

    Examples
    --------
    >>> import heliotrope as ht
    >>> Named("r_gp_ucb").policy(Model(), 0.01, ht.grid(5)).memory
    Restart(every=38.0)
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise InputError(f"one of {', '.join(NAMES)}", repr(self.name)[:60])

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        """The policy of a model with a drift in a unit of time."""
        return policy_named(self.name, model, epsilon)


def policy_named(name: str, model: Model, epsilon: float) -> Policy:
    """The policy of a name in :data:`NAMES`, of a model with a drift in a unit of time."""
    return _NAMED[name](model, epsilon)


@register
@dataclass(frozen=True)
class Tracking:
    """TV-GP-UCB for a world that never settles: its width does not grow with time.

    It counts what one measurement can show, and is the wider the farther back memory reaches.
    """

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        """The policy of a model with a drift in a unit of time."""
        prior = model.prior(epsilon)
        beta = lasting_beta(model.per_result(epsilon))
        return GPPolicy(prior, MeasuredUCB(beta, prior.noise))


def lasting_beta(rate: float) -> float:
    """The paper's beta at a tenth of the steps that memory reaches back, but at least at step 10.

    ``rate`` is the drift between two results.

    Examples
    --------
    >>> [round(lasting_beta(rate), 2) for rate in (0.1, 0.01, 0.001, 0.0)]
    [2.95, 2.95, 4.79, 8.48]
    """
    return LogBeta()(max(_SOON, _SOON_OF_MEMORY / max(rate, SLOWEST)))


def auto(domain: Domain | Contextual) -> Adaptive:
    """The policy to start with: no drift rate, no length scale and no noise need be known.

    Examples
    --------
    >>> import heliotrope as ht
    >>> opt = ht.Optimizer(domain := ht.grid(20, 20), ht.auto(domain), seed=0)
    >>> opt.tell(opt.ask(), 3.5)
    """
    if not isinstance(domain, (Finite, Box, Contextual)):
        raise InputError("a Finite domain, a Box or a Contextual one", repr(domain)[:60])
    return Adaptive(Tracking())
