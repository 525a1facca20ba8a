"""The policy of a study, in Python and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from heliotrope.acquisition import MeasurementUCB
from heliotrope.errors import InputError, located
from heliotrope.estimation import RATES, Given, Model
from heliotrope.policies import Policy, lasting_beta
from heliotrope.policies.gp import GPPolicy, clipped
from heliotrope.policies.parameters import BETA, EPSILON, MODEL
from heliotrope.policies.registry import DEFAULT, REGISTRY, PolicyEntry
from heliotrope.posterior import Learn
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

    kind: str = DEFAULT.name
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _KINDS:
            raise InputError(f"a kind among {', '.join(_KINDS)}", short_repr(self.kind), "", "kind")
        for name in self.parameters:
            if self.entry.parameter(name) is None:
                known = ", ".join(one.name for one in self.entry.parameters) or "none"
                raise InputError(f"parameters of {self.kind} ({known})", short_repr(name), "", name)
        for one in self.entry.parameters:
            if one.required and one.name not in self.parameters:
                raise InputError(f"{one.name} for {self.kind}", "none", "", one.name)
        self.policy(self.given.override(Model()), 1.0, "best")  # refuses wrong values

    @property
    def entry(self) -> PolicyEntry:
        """The entry of the registry."""
        return _KINDS[self.kind]

    @property
    def given(self) -> Given:
        """The given parameters of the model."""
        names = [one.name for one in MODEL if one.name in self.parameters]
        return Given(**{name: self.parameters[name] for name in names})

    @property
    def has_model(self) -> bool:
        """Whether the policy has a model of the values."""
        return self.entry.basis.has_posterior

    @property
    def takes_contexts(self) -> bool:
        """Whether the policy can choose in a given context."""
        return self.entry.takes_contexts

    @property
    def has_drift(self) -> bool:
        """Whether the policy has a drift rate."""
        return EPSILON in self.entry.parameters

    @property
    def learns_drift(self) -> bool:
        """Whether the drift is learned at every result."""
        return self.entry.learns_drift and EPSILON.name not in self.parameters

    @property
    def epsilon(self) -> float | None:
        """The given drift; 0 for a policy that assumes none, None if it is unknown."""
        if self.entry.static:
            return 0.0
        given = self.parameters.get(EPSILON.name)
        return None if given is None else float(given)

    def rates(self, pace: float) -> Sequence[float]:
        """Candidates for the drift between two results."""
        if self.epsilon is None:
            return RATES
        return (Model(pace=pace).per_result(self.epsilon),)

    def policy(self, model: Model, sign: float, weighing: Weighing) -> Policy:
        """The policy over values that are multiplied by a sign."""
        if not self.has_model:
            return self.entry.factory(**self._signed(sign))
        model = replace(model, mean=sign * model.mean)
        own = {name: value for name, value in self._arguments.items() if value is not None}
        epsilon = own.pop(EPSILON.name, model.epsilon)
        if self.learns_drift:
            own["learn"] = Learn(model.epsilons(), choose=weighing)
        policy = self.entry.build(model, epsilon, **own)
        assert isinstance(policy, GPPolicy)
        if BETA in self.entry.parameters and BETA.name not in own:
            policy = replace(policy, acquisition=self._acquisition(model, policy.prior.noise))
        bounds = model.outlier_bounds(sign)
        return clipped(replace(policy, first="apart"), bounds.low, bounds.high)

    def to_json(self) -> dict[str, Any]:
        """The choice as JSON."""
        return {"kind": self.kind, **self.parameters}

    @classmethod
    def from_json(cls, data: object) -> PolicyChoice:
        """Read {"kind": NAME, "epsilon": 0.01, ...}; None is the default, with all learned."""
        if data is None:
            return cls()
        if not isinstance(data, Mapping):
            raise InputError(f'a policy such as {{"kind": "{DEFAULT.name}"}}', short_repr(data))
        parameters = {str(name): as_python(value) for name, value in data.items() if name != "kind"}
        return cls(data.get("kind", DEFAULT.name), parameters)

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """The given parameters as the factory takes them, without those of the model."""
        read = {}
        for one in self.entry.parameters:
            if one.name in self.parameters and one not in MODEL:
                with located(one.name):
                    read[one.name] = one.read(self.parameters[one.name])
        return read

    def _acquisition(self, model: Model, noise: float) -> MeasurementUCB:
        """The acquisition of auto, where no beta is given."""
        rate = model.rate if self.epsilon is None else model.per_result(self.epsilon)
        return MeasurementUCB(lasting_beta(rate), noise)

    def _signed(self, sign: float) -> dict[str, Any]:
        """The arguments over values that are multiplied by a sign."""
        known = self._arguments
        if sign > 0.0 or not self.entry.basis.finite:
            return known
        return {**known, "low": -known["high"], "high": -known["low"]}
