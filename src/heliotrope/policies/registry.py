"""The registry of policies: one entry each, read by everything that lists policies.

The parameters of a policy are the arguments of its factory. Studies read those that may be given.
The league and ``Adaptive(Named(name))`` derive them from a learned model. Replay reads the labels,
and the docs the table of :func:`as_markdown`. To add a policy, write its factory and add its entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, ClassVar

import numpy as np

from heliotrope.acquisition import UCB
from heliotrope.domains import Domain
from heliotrope.errors import InputError, located
from heliotrope.estimation import (
    Model,
    OneTerm,
    Results,
    estimate_model,
)
from heliotrope.policies import named
from heliotrope.policies.adaptive import Adaptive
from heliotrope.policies.auto import auto, lasting_beta
from heliotrope.policies.bandits import d_ucb, sw_ucb
from heliotrope.policies.elimination import pe_gp_ucb
from heliotrope.policies.exponential_weights import exp3, rexp3
from heliotrope.policies.gp import GPPolicy
from heliotrope.policies.model_free import uniform
from heliotrope.policies.parameters import OF_MODEL, PARAMETERS, RULES, Rule, window_time
from heliotrope.policies.phased_elimination import r_perp
from heliotrope.policies.protocol import Policy
from heliotrope.serialization.codec import register
from heliotrope.validation import as_python, as_whole, short_repr


@dataclass(frozen=True)
class PolicyEntry:
    """A policy in the registry: its factory, and metadata.

    ``has_drift`` says that its prior's drift is a parameter. ``static`` policies assume a static
    function, ``stochastic`` ones choose at random, and the paper compares the ``in_paper`` ones.
    One that ``compares_points`` needs a Finite domain. ``rules`` are exceptions from the common
    rules that derive parameters from a model.
    """

    factory: Callable[..., Policy]
    label: str
    has_drift: bool = False
    static: bool = False
    stochastic: bool = False
    takes_contexts: bool = True
    in_paper: bool = False
    in_studies: bool = True
    compares_points: bool = False
    rules: Mapping[str, Rule] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.factory.__name__

    @property
    def about(self) -> str:
        """The first line of the factory's docstring."""
        return (self.factory.__doc__ or "").partition("\n")[0].replace("``", "`")

    @cached_property
    def arguments(self) -> Mapping[str, Parameter]:
        """The arguments of the factory by name."""
        return signature(self.factory).parameters

    @property
    def has_prior(self) -> bool:
        """Whether the policy composes a GP prior with other parts."""
        return "prior" in self.arguments

    @property
    def has_range(self) -> bool:
        """Whether the policy needs a Finite domain and the range of the values."""
        return "low" in self.arguments

    @property
    def needs_points(self) -> bool:
        """Whether the policy needs a Finite domain."""
        return self.has_range or self.compares_points

    @property
    def needs(self) -> str:
        """The requirements of the policy, in words."""
        if self.has_prior:
            return "a prior" if self.takes_contexts else "a prior, no contexts"
        basis = "a Finite domain, the range of the values" if self.has_range else "nothing"
        return basis if self.takes_contexts else f"{basis}, no contexts"

    @property
    def own_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that the GP policies do not share."""
        taken = [name for name in self.arguments if name in PARAMETERS and name != "beta"]
        return (*taken, "epsilon") if self.has_drift else tuple(taken)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that a study may be given."""
        bound = ("beta",) if "beta" in self.arguments else ()
        return (*self.own_parameters, *bound, *(OF_MODEL if self.has_prior else ()))

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters that a study must be given, as it cannot learn them."""
        if not self.has_range:
            return ()
        arguments = self.arguments.items()
        return tuple(name for name, argument in arguments if argument.default is Parameter.empty)

    @cached_property
    def learned(self) -> tuple[str, ...]:
        """Names of the parameters, beside those of the model, that follow from a model."""
        follows = [name for name in self.arguments if name in {**RULES, **self.rules}]
        own = [name for name in follows if name not in ("domain", "prior")]
        return (*own, "epsilon") if self.has_drift else tuple(own)

    def build(
        self, model: Model, epsilon: float, domain: Domain | None = None, **arguments: Any
    ) -> Policy:
        """The policy with given arguments; the others follow from a model and its drift."""
        rules = {**RULES, **self.rules}
        learned = [name for name in self.arguments if name in rules and name not in arguments]
        return self.factory(**arguments, **{n: rules[n](model, epsilon, domain) for n in learned})

    def adaptive(self, domain: Domain) -> Policy:
        """The policy over a domain with all of its parameters learned from the results."""
        if self.has_prior or self.has_range:
            return Adaptive(Named(self.name))
        return self.build(Model(), 0.0, domain)


_ENTRIES = (
    PolicyEntry(auto, "auto", stochastic=True),
    PolicyEntry(named.tv_gp_ucb, "TV-GP-UCB", has_drift=True, in_paper=True),
    PolicyEntry(named.r_gp_ucb, "R-GP-UCB", in_paper=True),
    PolicyEntry(named.gp_ucb, "GP-UCB", static=True, in_paper=True),
    PolicyEntry(named.sw_gp_ucb, "SW-GP-UCB"),
    PolicyEntry(named.wgp_ucb, "WGP-UCB"),
    PolicyEntry(named.et_gp_ucb, "ET-GP-UCB"),
    PolicyEntry(named.cp_gp_ucb, "CP-GP-UCB", has_drift=True),
    PolicyEntry(named.wdbo, "W-DBO", has_drift=True),
    PolicyEntry(named.ui_gp_ucb, "UI-GP-UCB"),
    PolicyEntry(
        named.tv_safe_opt,
        "TVSafeOpt",
        has_drift=True,
        takes_contexts=False,
        in_studies=False,
        compares_points=True,
    ),
    PolicyEntry(named.tv_ts, "TV-TS", has_drift=True, stochastic=True),
    PolicyEntry(pe_gp_ucb, "PE-GP-UCB", in_studies=False),
    PolicyEntry(r_perp, "R-PERP", stochastic=True, takes_contexts=False, in_studies=False),
    PolicyEntry(rexp3, "RExp3", stochastic=True, takes_contexts=False, in_paper=True),
    PolicyEntry(exp3, "Exp3", stochastic=True, takes_contexts=False, in_studies=False),
    PolicyEntry(d_ucb, "D-UCB", in_studies=False),
    PolicyEntry(sw_ucb, "SW-UCB", in_studies=False, rules={"window": window_time}),
    PolicyEntry(uniform, "random", stochastic=True, in_paper=True),
)

REGISTRY: Mapping[str, PolicyEntry] = {entry.name: entry for entry in _ENTRIES}
"""The entries by name."""

AUTO, PARAMETRIC, BASELINE = (REGISTRY[f.__name__] for f in (auto, named.tv_gp_ucb, uniform))
"""The policy to start with, the one of a study that is given parameters without a name, and the one
that all others must beat."""


@register
@dataclass(frozen=True)
class Named:
    """The recipe of a registered policy: what is not given follows from the learned model.

    ``given`` are parameters by name, a mapping or JSON; None is learned. It is kept as JSON text.
    The first ``independent`` coordinates of the domain are those of options that share nothing.

    Examples
    --------
    >>> import heliotrope as ht
    >>> Named("r_gp_ucb").policy(Model(), 0.01, ht.grid(5)).memory
    Restart(every=38.0)
    """

    name: str
    given: str | Mapping[str, Any] = "{}"
    independent: int = 0
    counts: ClassVar[bool] = False
    doubts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.name == AUTO.name or self.name not in REGISTRY:
            raise InputError(f"one of {', '.join(REGISTRY)}, but auto", short_repr(self.name))
        as_whole(self.independent, "independent", least=0)
        text = json.dumps(self._checked(self.given), sort_keys=True, default=_as_json)
        object.__setattr__(self, "given", text)
        _ = self.structure, self._arguments  # refuses wrong values

    def _checked(self, given: object) -> dict[str, Any]:
        """The given parameters without those that are None; InputError for unknown names."""
        expected = "parameters by name, as a mapping or as JSON"
        try:
            parameters = json.loads(given) if isinstance(given, str) else given
        except ValueError:
            raise InputError(expected, short_repr(given), "", "given") from None
        if not isinstance(parameters, Mapping):
            raise InputError(expected, short_repr(given), "", "given")
        for name in parameters:
            if name not in self.entry.parameters:
                names = ", ".join(self.entry.parameters) or "none"
                raise InputError(f"parameters of {self.name} ({names})", short_repr(name), "", name)
        return {name: as_python(v) for name, v in parameters.items() if v is not None}

    @property
    def entry(self) -> PolicyEntry:
        return REGISTRY[self.name]

    @cached_property
    def structure(self) -> OneTerm:
        """The world's one term, with the parameters that are held."""
        held = {name: self._given.get(name) for name in OF_MODEL}
        epsilon = 0.0 if self.entry.static else self._arguments.get("epsilon")
        return OneTerm(**held, epsilon=epsilon, independent=self.independent)

    @property
    def is_complete(self) -> bool:
        """Whether no parameter is learned."""
        if any(name not in self._arguments for name in self.entry.learned):
            return False
        held = (getattr(self.structure, name) for name in OF_MODEL)
        return not self.entry.has_prior or None not in held

    def check(self) -> None:
        """Raise an InputError for a parameter with a wrong value."""
        model, arguments = Model(self.structure.on(Model().world, 1.0)), dict(self._arguments)
        self.entry.build(model, arguments.pop("epsilon", model.epsilon), None, **arguments)

    def negated(self) -> Named:
        """The recipe for values with the opposite sign."""
        arguments = dict(self._given)
        if arguments.get("mean") is not None:
            arguments["mean"] = -arguments["mean"]
        if {"low", "high"} <= set(arguments):
            arguments["low"], arguments["high"] = -arguments["high"], -arguments["low"]
        return replace(self, given=json.dumps(arguments))

    def estimate(self, results: Results, groups: Sequence[Sequence[int]], before: Model) -> Model:
        own, structure = np.arange(results.x.shape[1]), self.structure
        steps = own[1:] if isinstance(structure.length_scale, tuple) else [self.independent]
        apart = [group.tolist() for group in np.split(own, steps) if len(group)]
        return estimate_model(results, apart, before.estimate, structure=structure)

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        """The policy, for time in units of the pace.

        With a learned model it has the beta of auto: a schedule in t would depend on when time
        began.
        """
        arguments = {
            name: PARAMETERS[name].counted(value, model.pace)
            for name, value in self._arguments.items()
        }
        counted = replace(self.held(model, domain), pace=1.0)
        drift = arguments.pop("epsilon", counted.rate)
        policy = self.entry.build(counted, drift, domain, **arguments)
        results, has_beta = model.world.results, "beta" in arguments
        if not isinstance(policy, GPPolicy) or has_beta or not results:
            return policy
        if not isinstance(policy.acquisition, UCB):
            return policy
        return replace(policy, acquisition=UCB(lasting_beta(drift, results)))

    def held(self, model: Model, domain: Domain) -> Model:
        """A model with the parameters that are held, for a domain of their dimension."""
        world, lengths = model.world, self.structure.length_scale
        if isinstance(lengths, tuple) and len(lengths) != domain.dimension - self.independent:
            count = domain.dimension - self.independent
            expected = f"a length scale, or one for each of the {count} coordinates"
            raise InputError(expected, f"{len(lengths)} of them", "", "length_scale")
        if self.structure.has_several_lengths and len(world.lengths) == 1:
            world = replace(world, lengths=domain.dimension * world.lengths)
        return replace(model, world=self.structure.on(world, model.pace))

    @cached_property
    def _given(self) -> Mapping[str, Any]:
        arguments: Mapping[str, Any] = json.loads(str(self.given))
        return arguments

    @cached_property
    def _arguments(self) -> Mapping[str, Any]:
        """The given arguments of the factory, and the drift."""
        arguments = {}
        for name, value in self._given.items():
            if name not in OF_MODEL:
                with located(name):
                    arguments[name] = PARAMETERS[name].read(value)
        return {name: value for name, value in arguments.items() if value is not None}


def _as_json(value: object) -> object:
    """An array as a list; what else JSON lacks as a text, which is refused."""
    return value.tolist() if isinstance(value, np.ndarray) else short_repr(value)


def as_markdown() -> str:
    """The registry as the table in docs/explanation/algorithms.md."""
    head = ("policy", "what it does", "needs", "own parameters")
    rows = [(f"`{e.name}`", e.about, e.needs, _own_parameters(e)) for e in _ENTRIES]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def _own_parameters(entry: PolicyEntry) -> str:
    own = [f"`{name}`: {PARAMETERS[name].about}" for name in entry.own_parameters]
    return "; ".join(own) or "none"
