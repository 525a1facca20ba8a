"""Which policy a study has, as Python has it and as JSON has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from heliotrope.acquisition import UCB, Acquisition, LogBeta, MeasuredUCB
from heliotrope.errors import InputError, located
from heliotrope.estimation import RATES, Given, Model
from heliotrope.memory import (
    ChangePoints,
    EventTrigger,
    Memory,
    ResetOnChange,
    Restart,
    Wasserstein,
    Weights,
    Window,
)
from heliotrope.policies import GPPolicy, Policy, rexp3, tv_gp_ucb, uniform
from heliotrope.policies.adaptive import lasting_beta, policy_named
from heliotrope.policies.tamed import tamed
from heliotrope.posterior import Learn
from heliotrope.priors import Forgetting, Wiener
from heliotrope.validation import as_number, as_python, short_repr

Weighing: TypeAlias = Literal["best", "mixture"]
"""Whether a choice takes the likeliest drift, or weighs all candidates."""

_MODEL = ("mean", "variance", "noise", "kernel", "length_scale")
_BOUND = ("beta", *_MODEL)
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "tv_gp_ucb": ("epsilon", *_BOUND),
    "gp_ucb": _BOUND,
    "r_gp_ucb": ("every", *_BOUND),
    "sw_gp_ucb": ("window", *_BOUND),
    "wgp_ucb": ("weight", *_BOUND),
    "et_gp_ucb": ("delta", *_BOUND),
    "cp_gp_ucb": ("hazard", "epsilon", *_BOUND),
    "wdbo": ("alpha", "epsilon", *_BOUND),
    "ui_gp_ucb": ("rate", *_BOUND),
    "tv_ts": ("epsilon", *_MODEL),
    "rexp3": ("low", "high", "batch", "gamma"),
    "uniform": (),
}
_MEMORIES: Mapping[str, Callable[[Any], Memory]] = {  # by the parameter that says how far back
    "every": Restart,
    "window": Window,
    "weight": Weights,
    "delta": lambda delta: ResetOnChange(EventTrigger(delta)),
    "hazard": ChangePoints,
    "alpha": Wasserstein,
}
_NEEDED: Mapping[str, tuple[str, ...]] = {"rexp3": ("low", "high", "batch")}


@dataclass(frozen=True, eq=False)
class PolicyChoice:
    """A kind of policy and the parameters that were given; the others are learned.

    TV-GP-UCB without an epsilon learns the drift at every result, others with the model.
    Parameters are in the user's units: ``low``, ``high`` and ``mean`` are those of the values as
    they are told.
    """

    kind: str = "tv_gp_ucb"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _PARAMETERS:
            raise InputError(
                f"a kind among {', '.join(_PARAMETERS)}", short_repr(self.kind), "", "kind"
            )
        for name in self.parameters:
            if name not in _PARAMETERS[self.kind]:
                known = ", ".join(_PARAMETERS[self.kind]) or "none"
                raise InputError(f"parameters of {self.kind} ({known})", short_repr(name), "", name)
        for name in _NEEDED.get(self.kind, ()):
            if name not in self.parameters:
                raise InputError(f"{name} for {self.kind}", "none", "", name)
        self.policy(self.given.override(Model()), 1.0, "best")  # refuses wrong values

    @property
    def given(self) -> Given:
        """The parameters of the model that were given."""
        return Given(**{name: self.parameters[name] for name in _MODEL if name in self.parameters})

    @property
    def has_model(self) -> bool:
        """Whether the policy has a model of the values."""
        return self.kind not in ("uniform", "rexp3")

    @property
    def takes_contexts(self) -> bool:
        """Whether the policy can choose where a part is given."""
        return self.kind != "rexp3"

    @property
    def has_drift(self) -> bool:
        """Whether the policy goes by a drift rate."""
        return "epsilon" in _PARAMETERS[self.kind]

    @property
    def learns_drift(self) -> bool:
        """Whether the drift is learned at every result."""
        return self.kind == "tv_gp_ucb" and "epsilon" not in self.parameters

    @property
    def epsilon(self) -> float | None:
        """The drift that was given; 0 if it is taken to be none, None if it is unknown."""
        if self.kind == "gp_ucb":
            return 0.0
        given = self.parameters.get("epsilon")
        return None if given is None else float(given)

    def rates(self, pace: float) -> Sequence[float]:
        """Candidates for the drift between two results."""
        if self.epsilon is None:
            return RATES
        return (Model(pace=pace).per_result(self.epsilon),)

    def policy(self, model: Model, sign: float, weighing: Weighing) -> Policy:
        """The policy over values that are multiplied with a sign."""
        if self.kind == "uniform":
            return uniform()
        if self.kind == "rexp3":
            return self._rexp3(sign)
        policy = self._gp_policy(replace(model, mean=sign * model.mean), weighing)
        if "beta" in _PARAMETERS[self.kind]:
            acquisition = self._acquisition(model, policy.prior.noise)
            policy = replace(policy, acquisition=acquisition)
        bounds = model.outlier_bounds(sign)
        return tamed(replace(policy, first="apart"), bounds.low, bounds.high)

    def _gp_policy(self, model: Model, weighing: Weighing) -> GPPolicy:
        """The policy as it is named, with what was given in place of what follows from a model."""
        epsilon = self._number("epsilon", model.epsilon)
        with located("epsilon"):
            Forgetting(epsilon)
        if self.learns_drift:
            return tv_gp_ucb(model.prior(epsilon), learn=Learn(model.epsilons(), choose=weighing))
        policy = policy_named(self.kind, model, epsilon)
        assert isinstance(policy, GPPolicy)
        for name in self.parameters:
            with located(name):
                if name in _MEMORIES:
                    policy = replace(policy, memory=_MEMORIES[name](self.parameters[name]))
                elif name == "rate":
                    prior = replace(policy.prior, time=Wiener(self.parameters["rate"]))
                    policy = replace(policy, prior=prior)
        return policy

    def to_json(self) -> dict[str, Any]:
        """The choice as JSON."""
        return {"kind": self.kind, **self.parameters}

    @classmethod
    def from_json(cls, data: object) -> PolicyChoice:
        """Read {"kind": "tv_gp_ucb", "epsilon": 0.01, ...}; None is TV-GP-UCB, all learned."""
        if data is None:
            return cls()
        if not isinstance(data, Mapping):
            raise InputError('a policy such as {"kind": "tv_gp_ucb"}', short_repr(data))
        parameters = {str(name): as_python(value) for name, value in data.items() if name != "kind"}
        return cls(data.get("kind", "tv_gp_ucb"), parameters)

    def _number(self, name: str, default: float) -> float:
        with located(name):
            return as_number(self.parameters.get(name, default), name)

    def _acquisition(self, model: Model, noise: float) -> Acquisition:
        """The beta that was given, a number or {"c1": 0.8, "c2": 4.0}; else that of auto."""
        given = self.parameters.get("beta")
        if given is None:
            known = self.epsilon
            rate = model.rate if known is None else model.per_result(known)
            return MeasuredUCB(lasting_beta(rate), noise)
        with located("beta"):
            if isinstance(given, Mapping):
                if set(given) != {"c1", "c2"}:
                    raise InputError("a number, or c1 and c2", short_repr(given))
                return UCB(LogBeta(given["c1"], given["c2"]))
            return UCB(given)

    def _rexp3(self, sign: float) -> Policy:
        gamma = self.parameters.get("gamma")
        low, high, batch = (self._number(name, 0.0) for name in ("low", "high", "batch"))
        if sign < 0.0:
            low, high = -high, -low
        return rexp3(low, high, batch, None if gamma is None else self._number("gamma", 0.0))
