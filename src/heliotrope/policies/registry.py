"""The registry of policies: one entry each, read by everything that lists policies.

Studies read the parameters that may be given. The league and ``Adaptive(Named(name))`` read how
the parameters follow from a learned model. Replay reads the labels, and the docs the table of
:func:`as_markdown`. To add a policy, write its factory and add its entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.estimation import Model
from heliotrope.policies import from_model, parameters
from heliotrope.policies.adaptive import Adaptive
from heliotrope.policies.auto import auto
from heliotrope.policies.bandits import d_ucb, d_ucb_discount, sw_ucb, sw_ucb_window
from heliotrope.policies.elimination import pe_gp_ucb
from heliotrope.policies.exponential_weights import exp3, rexp3, rexp3_batch
from heliotrope.policies.model_free import number_of_points
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
from heliotrope.policies.parameters import BOUND, EPSILON, MODEL, Parameter
from heliotrope.policies.protocol import Policy
from heliotrope.policies.random import uniform
from heliotrope.serialization.codec import register
from heliotrope.validation import short_repr

Derive: TypeAlias = Callable[[Model, float, Domain | None], Mapping[str, Any]]
"""Arguments of a factory, from a model, a drift per unit of time and a domain."""


@dataclass(frozen=True)
class Basis:
    """The first arguments of a factory: what its user needs to know, and how they are learned."""

    needs: str
    derive: Derive
    has_posterior: bool
    is_learned: bool = True
    finite: bool = False


def _range(model: Model, _: float, domain: Domain | None) -> Mapping[str, Any]:
    number_of_points(domain)  # refuses a Box
    low, high = from_model.value_range(model)
    return {"low": low, "high": high}


PRIOR = Basis("a prior", lambda model, epsilon, _: {"prior": model.prior(epsilon)}, True)
RANGE = Basis("a Finite domain, the range of the values", _range, False, finite=True)
NOTHING = Basis("nothing", lambda *_: {}, False, is_learned=False)
ONLY_A_DOMAIN = Basis("nothing", lambda _, __, domain: {"domain": domain}, True, is_learned=False)


@dataclass(frozen=True)
class PolicyEntry:
    """What is known of a policy besides its code.

    ``derive`` gives the policy's own parameters for a learned model; ``parameters`` are those that
    a study may be given instead. ``static`` policies take the function to stand still,
    ``learns_drift`` marks the one whose drift a study learns at every result, ``stochastic`` ones
    choose at random, and ``in_paper`` ones are compared in the paper.
    """

    factory: Callable[..., Policy]
    label: str
    about: str
    basis: Basis = PRIOR
    derive: Derive = lambda *_: {}
    parameters: tuple[Parameter, ...] = ()
    takes_contexts: bool = True
    static: bool = False
    learns_drift: bool = False
    stochastic: bool = False
    in_paper: bool = False
    in_studies: bool = True

    @property
    def name(self) -> str:
        """The name of the factory."""
        return self.factory.__name__

    @property
    def needs(self) -> str:
        """What the policy needs, in words."""
        return self.basis.needs + ("" if self.takes_contexts else ", no contexts")

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of a name, or None."""
        return next((one for one in self.parameters if one.name == name), None)

    def build(
        self, model: Model, epsilon: float, domain: Domain | None = None, **given: Any
    ) -> Policy:
        """The policy for a model and a drift per unit of time; given parameters are kept."""
        known = model, epsilon, domain
        return self.factory(**{**self.basis.derive(*known), **self.derive(*known), **given})

    def adaptive(self, domain: Domain) -> Policy:
        """The policy over a domain with all of its parameters learned from the results."""
        if self.basis.is_learned:
            return Adaptive(Named(self.name))
        return self.build(Model(), 0.0, domain)


_ENTRIES = (
    PolicyEntry(
        auto,
        "auto",
        "TV-GP-UCB that learns its model, with a bound that does not grow with time",
        ONLY_A_DOMAIN,
        stochastic=True,
        in_studies=False,
    ),
    PolicyEntry(
        tv_gp_ucb,
        "TV-GP-UCB",
        "older observations count for less (Bogunovic et al. 2016)",
        parameters=(EPSILON, *BOUND),
        learns_drift=True,
        in_paper=True,
    ),
    PolicyEntry(
        r_gp_ucb,
        "R-GP-UCB",
        "GP-UCB that restarts at regular times (Bogunovic et al. 2016)",
        derive=lambda model, eps, _: {"every": from_model.block(model, eps) * model.pace},
        parameters=(parameters.EVERY, *BOUND),
        in_paper=True,
    ),
    PolicyEntry(
        gp_ucb,
        "GP-UCB",
        "the function stands still (Srinivas et al. 2012)",
        parameters=BOUND,
        static=True,
        in_paper=True,
    ),
    PolicyEntry(
        sw_gp_ucb,
        "SW-GP-UCB",
        "GP-UCB on the latest values (Zhou and Shroff 2021)",
        derive=lambda model, eps, _: {"window": from_model.block(model, eps)},
        parameters=(parameters.WINDOW, *BOUND),
    ),
    PolicyEntry(
        wgp_ucb,
        "WGP-UCB",
        "GP-UCB on values whose weights fall with their age (Deng et al. 2022)",
        derive=lambda model, eps, _: {
            "weight": from_model.left_after_a_unit(
                1.0 - 1.0 / from_model.block(model, eps), model.pace
            )
        },
        parameters=(parameters.WEIGHT, *BOUND),
    ),
    PolicyEntry(
        et_gp_ucb,
        "ET-GP-UCB",
        "GP-UCB that restarts at a surprising value (Brunzema et al. 2025)",
        parameters=(parameters.DELTA, *BOUND),
    ),
    PolicyEntry(
        cp_gp_ucb,
        "CP-GP-UCB",
        "TV-GP-UCB for a function that also jumps (Adams and MacKay 2007)",
        derive=lambda model, *_: {"hazard": model.per_unit(from_model.HAZARD)},
        parameters=(parameters.HAZARD, EPSILON, *BOUND),
    ),
    PolicyEntry(
        wdbo,
        "W-DBO",
        "TV-GP-UCB that drops the least relevant values (Bardou et al. 2024)",
        parameters=(parameters.ALPHA, EPSILON, *BOUND),
    ),
    PolicyEntry(
        ui_gp_ucb,
        "UI-GP-UCB",
        "GP-UCB on a random walk in time (Brunzema et al. 2022)",
        derive=lambda _, epsilon, __: {"rate": epsilon},
        parameters=(parameters.RATE, *BOUND),
    ),
    PolicyEntry(
        tv_ts,
        "TV-TS",
        "Thompson sampling from the time-varying posterior (Russo and Van Roy 2014)",
        parameters=(EPSILON, *MODEL),
        stochastic=True,
    ),
    PolicyEntry(
        pe_gp_ucb,
        "PE-GP-UCB",
        "TV-GP-UCB over several drift rates; refuted ones go (Ziomek et al. 2024)",
        derive=lambda model, *_: {"epsilons": from_model.candidate_drifts(model)},
        parameters=(parameters.EPSILONS, *BOUND),
        in_studies=False,
    ),
    PolicyEntry(
        rexp3,
        "RExp3",
        "Exp3 that restarts at regular times (Besbes et al. 2014)",
        RANGE,
        lambda model, eps, domain: {
            "batch": model.pace
            * rexp3_batch(
                number_of_points(domain), from_model.HORIZON, from_model.variation(model, eps)
            )
        },
        parameters=(*parameters.RANGE, parameters.BATCH, parameters.GAMMA),
        takes_contexts=False,
        stochastic=True,
        in_paper=True,
    ),
    PolicyEntry(
        exp3,
        "Exp3",
        "exponential weights (Auer et al. 2002)",
        RANGE,
        lambda model, *_: {"horizon": from_model.HORIZON * model.pace},
        parameters=(*parameters.RANGE, parameters.HORIZON, parameters.GAMMA),
        takes_contexts=False,
        stochastic=True,
        in_studies=False,
    ),
    PolicyEntry(
        d_ucb,
        "D-UCB",
        "UCB on discounted rewards (Garivier and Moulines 2011)",
        RANGE,
        lambda model, eps, _: {
            "discount": from_model.left_after_a_unit(
                d_ucb_discount(from_model.HORIZON, from_model.changes(model, eps)), model.pace
            )
        },
        parameters=(*parameters.RANGE, parameters.DISCOUNT, parameters.XI),
        in_studies=False,
    ),
    PolicyEntry(
        sw_ucb,
        "SW-UCB",
        "UCB on the latest rewards (Garivier and Moulines 2011)",
        RANGE,
        lambda model, eps, _: {
            "window": model.pace * sw_ucb_window(from_model.HORIZON, from_model.changes(model, eps))
        },
        parameters=(*parameters.RANGE, parameters.SPAN, parameters.XI),
        in_studies=False,
    ),
    PolicyEntry(uniform, "random", "a random choice", NOTHING, stochastic=True, in_paper=True),
)

REGISTRY: Mapping[str, PolicyEntry] = {entry.name: entry for entry in _ENTRIES}
"""The entries by name."""

AUTO, DEFAULT, BASELINE = (REGISTRY[one.__name__] for one in (auto, tv_gp_ucb, uniform))
"""The policy to start with, a study's default, and the one that all others must beat."""


@register(former="Ranged")
@dataclass(frozen=True)
class Named:
    """The recipe of a registered policy: its parameters follow from the model and the drift.

    Examples
    --------
    >>> import heliotrope as ht
    >>> Named("r_gp_ucb").policy(Model(), 0.01, ht.grid(5)).memory
    Restart(every=38.0)
    """

    name: str

    def __post_init__(self) -> None:
        names = [entry.name for entry in _ENTRIES if entry.basis.is_learned]
        if self.name not in names:
            raise InputError(f"one of {', '.join(names)}", short_repr(self.name))

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        """The policy for a model and a drift per unit of time."""
        return REGISTRY[self.name].build(model, epsilon, domain)


def as_markdown() -> str:
    """The registry as the table in docs/algorithms.md."""
    head = ("policy", "label", "what it does", "needs", "own parameters")
    rows = [
        (f"`{entry.name}`", entry.label, entry.about, entry.needs, _own_parameters(entry))
        for entry in _ENTRIES
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def _own_parameters(entry: PolicyEntry) -> str:
    own = [one for one in entry.parameters if one not in BOUND]
    return "; ".join(f"`{one.name}`: {one.about}" for one in own) or "none"
