"""The policy of a study, in Python and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from heliotrope.acquisition import MeasurementUCB
from heliotrope.domains import Domain
from heliotrope.errors import InputError, located
from heliotrope.estimation import (
    RATES,
    Given,
    Model,
    OutlierBounds,
    Results,
    estimate_robustly,
)
from heliotrope.policies import GPPolicy, Policy, lasting_beta
from heliotrope.policies.parameters import OF_MODEL, PARAMETERS
from heliotrope.policies.registry import AUTO, PARAMETRIC, REGISTRY, PolicyEntry
from heliotrope.posterior import Learn
from heliotrope.serialization.codec import register
from heliotrope.validation import as_python, short_repr

Weighing: TypeAlias = Literal["best", "mixture"]
"""Whether a choice follows the most likely drift, or a mixture of all candidates."""

_KINDS = {name: entry for name, entry in REGISTRY.items() if entry.in_studies}


@dataclass(frozen=True, eq=False)
class PolicyChoice:
    """A kind of policy and its given parameters; the others are learned.

    Parameters are in the user's units: ``low``, ``high`` and ``mean`` are those of the values as
    they are told.
    """

    kind: str = AUTO.name
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _KINDS:
            raise InputError(f"a kind among {', '.join(_KINDS)}", short_repr(self.kind), "", "kind")
        for name in self.parameters:
            if name not in self.entry.parameters:
                known = ", ".join(self.entry.parameters) or "none"
                raise InputError(f"parameters of {self.kind} ({known})", short_repr(name), "", name)
        for name in self.entry.required:
            if name not in self.parameters:
                raise InputError(f"{name} for {self.kind}", "none", "", name)
        if not self.learns_sums:
            self.policy(self.given.override(Model()), 1.0, "best")  # refuses wrong values

    @property
    def entry(self) -> PolicyEntry:
        return _KINDS[self.kind]

    @property
    def given(self) -> Given:
        """The given parameters of the model."""
        return Given(**{name: self.parameters.get(name) for name in OF_MODEL})

    @property
    def learns_sums(self) -> bool:
        """Whether the model is a sum of terms, all of whose parameters are learned."""
        return self.entry is AUTO

    @property
    def has_model(self) -> bool:
        """Whether the policy has a model of the values."""
        return self.learns_sums or self.entry.has_prior

    @property
    def learns_drift(self) -> bool:
        """Whether the drift is learned at every result."""
        return self.entry.learns_drift and "epsilon" not in self.parameters

    @property
    def epsilon(self) -> float | None:
        """The given drift; 0 for a policy that assumes none, None if it is unknown."""
        if self.entry.static:
            return 0.0
        given = self.parameters.get("epsilon")
        return None if given is None else float(given)

    def rates(self, pace: float) -> Sequence[float]:
        """Candidates for the drift between two results."""
        if self.epsilon is None:
            return RATES
        return (Model(pace=pace).per_result(self.epsilon),)

    def policy(self, model: Model, sign: float, weighing: Weighing) -> Policy:
        """The policy over values that are multiplied by a sign."""
        own = self._arguments(sign)
        epsilon = own.pop("epsilon", model.epsilon)
        if self.learns_drift:
            own["learn"] = Learn(model.epsilons(), choose=weighing)
        policy = self.entry.build(replace(model, mean=sign * model.mean), epsilon, **own)
        if not isinstance(policy, GPPolicy):
            return policy
        if "beta" in self.entry.parameters and "beta" not in own:
            policy = replace(policy, acquisition=self._acquisition(model, policy.prior.noise))
        low, high = model.outlier_bounds(sign).limits
        return replace(policy, first="apart", low=low, high=high)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.parameters}

    @classmethod
    def from_json(cls, data: object) -> PolicyChoice:
        """Read {"kind": NAME, "epsilon": 0.01, ...}; None is the default, with all learned.

        Parameters without a kind are those of auto, or else of the registry's ``PARAMETRIC``
        policy.
        """
        if data is None or data == {}:
            return cls()
        if not isinstance(data, Mapping):
            raise InputError(f'a policy such as {{"kind": "{AUTO.name}"}}', short_repr(data))
        parameters = {str(name): as_python(value) for name, value in data.items() if name != "kind"}
        usual = AUTO if set(parameters) <= set(AUTO.parameters) else PARAMETRIC
        return cls(data.get("kind", usual.name), parameters)

    def _arguments(self, sign: float) -> dict[str, Any]:
        """The given arguments of the factory, over values that are multiplied by a sign."""
        read = {}
        for name, value in self.parameters.items():
            if name not in OF_MODEL:
                with located(name):
                    read[name] = PARAMETERS[name].read(value)
        if sign < 0.0 and self.entry.has_range:
            read["low"], read["high"] = -read["high"], -read["low"]
        return {name: value for name, value in read.items() if value is not None}

    def _acquisition(self, model: Model, noise: float) -> MeasurementUCB:
        """The acquisition of auto, where no beta is given."""
        rate = model.rate if self.epsilon is None else model.per_result(self.epsilon)
        return MeasurementUCB(lasting_beta(rate), noise)


@register
@dataclass(frozen=True)
class Chosen:
    """The recipe of a study's policy: some parameters are given, the others are learned.

    ``choice`` is the policy as JSON text. Values are multiplied by ``sign``, the model is that of
    the study's own values. A given length scale overrides that of the choice.
    """

    choice: str
    sign: float
    weighing: Weighing
    length_scale: float | None = None
    own_units: ClassVar[bool] = True
    clips: ClassVar[bool] = True
    doubts: ClassVar[bool] = False

    @classmethod
    def of(cls, choice: PolicyChoice, given: Given, sign: float, weighing: Weighing) -> Chosen:
        return cls(json.dumps(choice.to_json()), sign, weighing, given.length_scale)

    @cached_property
    def _policy(self) -> PolicyChoice:
        return PolicyChoice.from_json(json.loads(self.choice))

    @property
    def _given(self) -> Given:
        given = self._policy.given
        return (
            given if self.length_scale is None else replace(given, length_scale=self.length_scale)
        )

    def estimate(
        self, results: Results, bounds: OutlierBounds, groups: object, before: Model
    ) -> Model:
        own = replace(results, y=self.sign * results.y)
        limits = Model(low=bounds.low, high=bounds.high).outlier_bounds(self.sign)
        rates = self._policy.rates(results.pace)
        return estimate_robustly(own, limits, self._given, rates).signed(self.sign)

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        known = self._given.override(model.signed(self.sign))
        policy = self._policy.policy(known, self.sign, self.weighing)
        return replace(policy, first=None) if isinstance(policy, GPPolicy) else policy
