"""The registry of policies: one entry each, read by everything that lists policies.

Studies read the parameters that may be given. The league and ``Adaptive(Named(name))`` read how
the parameters follow from a learned model. Replay reads the labels, and the docs the table of
:func:`as_markdown`. To add a policy, write its factory and add its entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.estimation import Model
from heliotrope.policies import from_model
from heliotrope.policies.adaptive import Adaptive
from heliotrope.policies.auto import auto
from heliotrope.policies.bandits import d_ucb, sw_ucb
from heliotrope.policies.elimination import pe_gp_ucb
from heliotrope.policies.exponential_weights import exp3, rexp3
from heliotrope.policies.from_model import Derive
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
from heliotrope.policies.parameters import OF_MODEL, PARAMETERS
from heliotrope.policies.protocol import Policy
from heliotrope.policies.random import uniform
from heliotrope.serialization.codec import register
from heliotrope.validation import short_repr


@dataclass(frozen=True)
class Basis:
    """The first arguments of a factory: what its user needs to know, and how they are learned."""

    needs: str
    learned: Mapping[str, Derive]
    has_posterior: bool
    is_learned: bool = True
    finite: bool = False


FROM_PRIOR = Basis("a prior", {"prior": from_model.learned_prior}, True)
FROM_RANGE = Basis(
    "a Finite domain, the range of the values",
    {"low": from_model.low, "high": from_model.high},
    has_posterior=False,
    finite=True,
)
FROM_DOMAIN = Basis("nothing", {"domain": lambda *known: known[-1]}, True, is_learned=False)
FROM_NOTHING = Basis("nothing", {}, False, is_learned=False)


@dataclass(frozen=True)
class PolicyEntry:
    """What is known of a policy besides its code.

    ``learned`` says how its own arguments follow from a model; ``parameters`` are those that a
    study may be given. ``static`` policies take the function to stand still,
    ``learns_drift`` marks the one whose drift a study learns at every result, ``stochastic`` ones
    choose at random, and ``in_paper`` ones are compared in the paper.
    """

    factory: Callable[..., Policy]
    label: str
    basis: Basis = FROM_PRIOR
    learned: Mapping[str, Derive] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
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
    def about(self) -> str:
        """The first line of the factory's docstring."""
        return (self.factory.__doc__ or "").partition("\n")[0].replace("``", "`")

    @property
    def needs(self) -> str:
        """What the policy needs, in words."""
        return self.basis.needs + ("" if self.takes_contexts else ", no contexts")

    def build(
        self, model: Model, epsilon: float, domain: Domain | None = None, **given: Any
    ) -> Policy:
        """The policy with given arguments; the others follow from a model and its drift."""
        derived = {**self.basis.learned, **self.learned}
        others = [name for name in derived if name not in given]
        return self.factory(**given, **{n: derived[n](model, epsilon, domain) for n in others})

    def adaptive(self, domain: Domain) -> Policy:
        """The policy over a domain with all of its parameters learned from the results."""
        if self.basis.is_learned:
            return Adaptive(Named(self.name))
        return self.build(Model(), 0.0, domain)


_BOUND = ("beta", *OF_MODEL)
_ENTRIES = (
    PolicyEntry(auto, "auto", FROM_DOMAIN, stochastic=True, in_studies=False),
    PolicyEntry(
        tv_gp_ucb, "TV-GP-UCB", parameters=("epsilon", *_BOUND), learns_drift=True, in_paper=True
    ),
    PolicyEntry(
        r_gp_ucb,
        "R-GP-UCB",
        learned={"every": from_model.block_time},
        parameters=("every", *_BOUND),
        in_paper=True,
    ),
    PolicyEntry(gp_ucb, "GP-UCB", parameters=_BOUND, static=True, in_paper=True),
    PolicyEntry(
        sw_gp_ucb, "SW-GP-UCB", learned={"window": from_model.block}, parameters=("window", *_BOUND)
    ),
    PolicyEntry(
        wgp_ucb, "WGP-UCB", learned={"weight": from_model.weight}, parameters=("weight", *_BOUND)
    ),
    PolicyEntry(et_gp_ucb, "ET-GP-UCB", parameters=("delta", *_BOUND)),
    PolicyEntry(
        cp_gp_ucb,
        "CP-GP-UCB",
        learned={"hazard": from_model.hazard},
        parameters=("hazard", "epsilon", *_BOUND),
    ),
    PolicyEntry(wdbo, "W-DBO", parameters=("alpha", "epsilon", *_BOUND)),
    PolicyEntry(
        ui_gp_ucb,
        "UI-GP-UCB",
        learned={"rate": from_model.given_drift},
        parameters=("rate", *_BOUND),
    ),
    PolicyEntry(tv_ts, "TV-TS", parameters=("epsilon", *OF_MODEL), stochastic=True),
    PolicyEntry(
        pe_gp_ucb,
        "PE-GP-UCB",
        learned={"epsilons": from_model.candidate_drifts},
        parameters=("epsilons", *_BOUND),
        in_studies=False,
    ),
    PolicyEntry(
        rexp3,
        "RExp3",
        FROM_RANGE,
        {"batch": from_model.batch},
        parameters=("low", "high", "batch", "gamma"),
        takes_contexts=False,
        stochastic=True,
        in_paper=True,
    ),
    PolicyEntry(
        exp3,
        "Exp3",
        FROM_RANGE,
        {"horizon": from_model.horizon},
        parameters=("low", "high", "horizon", "gamma"),
        takes_contexts=False,
        stochastic=True,
        in_studies=False,
    ),
    PolicyEntry(
        d_ucb,
        "D-UCB",
        FROM_RANGE,
        {"discount": from_model.discount},
        parameters=("low", "high", "discount", "xi"),
        in_studies=False,
    ),
    PolicyEntry(
        sw_ucb,
        "SW-UCB",
        FROM_RANGE,
        {"window": from_model.window_time},
        parameters=("low", "high", "window", "xi"),
        in_studies=False,
    ),
    PolicyEntry(uniform, "random", FROM_NOTHING, stochastic=True, in_paper=True),
)

REGISTRY: Mapping[str, PolicyEntry] = {entry.name: entry for entry in _ENTRIES}
"""The entries by name."""

AUTO, STUDY_DEFAULT, BASELINE = (REGISTRY[one.__name__] for one in (auto, tv_gp_ucb, uniform))
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
    head = ("policy", "what it does", "needs", "own parameters")
    rows = [
        (f"`{entry.name}`", entry.about, entry.needs, _own_parameters(entry)) for entry in _ENTRIES
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def _own_parameters(entry: PolicyEntry) -> str:
    own = [name for name in entry.parameters if name not in _BOUND]
    return "; ".join(f"`{name}`: {PARAMETERS[name].about}" for name in own) or "none"
