"""What a study is created with, as Python has it and as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from heliotrope.arrays import as_number, as_positive, as_whole
from heliotrope.choosing import UCB, Acquisition, LogBeta, MeasuredUCB
from heliotrope.domains import Domain, Finite
from heliotrope.engines import Learn
from heliotrope.errors import InputError, located
from heliotrope.estimation import INDEPENDENT, RATES, Given, Model
from heliotrope.policies import GPPolicy, Policy, gp_ucb, r_gp_ucb, rexp3, tv_gp_ucb, uniform
from heliotrope.policies.adaptive import lasting_beta
from heliotrope.policies.tamed import tamed
from heliotrope.priors import Forgetting
from heliotrope.spaces import Options, SearchSpace
from heliotrope.study.clocks import Clock, Steps, Wall, clock_from_json

Direction: TypeAlias = Literal["maximize", "minimize"]

_MODEL = ("mean", "variance", "noise", "kernel", "length_scale")
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "tv_gp_ucb": ("epsilon", "beta", *_MODEL),
    "gp_ucb": ("beta", *_MODEL),
    "r_gp_ucb": ("every", "beta", *_MODEL),
    "rexp3": ("low", "high", "batch", "gamma"),
    "uniform": (),
}
_NEEDED: Mapping[str, tuple[str, ...]] = {"r_gp_ucb": ("every",), "rexp3": ("low", "high", "batch")}
_UNUSED = 0.01  # the drift of a prior whose drift is learned, or not used


@dataclass(frozen=True, eq=False)
class PolicyChoice:
    """A kind of policy and the parameters that were given; the model's others are learned.

    TV-GP-UCB without an epsilon learns the drift as well. Parameters are in the user's units:
    ``low``, ``high`` and ``mean`` are those of the values as they are told.
    """

    kind: str = "tv_gp_ucb"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _PARAMETERS:
            raise InputError(
                f"a kind among {', '.join(_PARAMETERS)}", _short(self.kind), "", "kind"
            )
        for name in self.parameters:
            if name not in _PARAMETERS[self.kind]:
                known = ", ".join(_PARAMETERS[self.kind]) or "none"
                raise InputError(f"parameters of {self.kind} ({known})", _short(name), "", name)
        for name in _NEEDED.get(self.kind, ()):
            if name not in self.parameters:
                raise InputError(f"{name} for {self.kind}", "none", "", name)
        self.policy(self.given.over(Model()), 1.0, "best")  # refuses wrong values

    @property
    def given(self) -> Given:
        """The parameters of the model that were given."""
        return Given(**{name: self.parameters[name] for name in _MODEL if name in self.parameters})

    @property
    def has_model(self) -> bool:
        """Whether the policy has a model of the values."""
        return self.kind not in ("uniform", "rexp3")

    @property
    def learns_drift(self) -> bool:
        """Whether the drift is learned."""
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
        return (1.0 - (1.0 - self.epsilon) ** pace,)

    def policy(self, model: Model, sign: float, choose: Literal["best", "mixture"]) -> Policy:
        """The policy over values that are multiplied with a sign."""
        if self.kind == "uniform":
            return uniform()
        if self.kind == "rexp3":
            return self._rexp3(sign)
        return tamed(self._gp_policy(model, sign, choose), *model.bounds(sign))

    def _gp_policy(self, model: Model, sign: float, choose: Literal["best", "mixture"]) -> GPPolicy:
        epsilon = self._number("epsilon", _UNUSED)
        with located("epsilon"):
            Forgetting(epsilon)
        prior = model.prior(epsilon, sign)
        if self.kind == "gp_ucb":
            policy = gp_ucb(prior)
        elif self.kind == "r_gp_ucb":
            with located("every"):
                policy = r_gp_ucb(prior, as_positive(self.parameters["every"], "every"))
        else:
            learn = Learn(model.rates(), choose=choose) if self.learns_drift else None
            policy = tv_gp_ucb(prior, learn=learn)
        return replace(policy, acquisition=self._acquisition(model, prior.noise), first="apart")

    def to_json(self) -> dict[str, Any]:
        """The choice as JSON."""
        return {"kind": self.kind, **self.parameters}

    @classmethod
    def from_json(cls, data: object) -> PolicyChoice:
        """Read {"kind": "tv_gp_ucb", "epsilon": 0.01, ...}; None is TV-GP-UCB, all learned."""
        if data is None:
            return cls()
        if not isinstance(data, Mapping):
            raise InputError('a policy such as {"kind": "tv_gp_ucb"}', _short(data))
        parameters = {str(name): value for name, value in data.items() if name != "kind"}
        return cls(data.get("kind", "tv_gp_ucb"), parameters)

    def _number(self, name: str, default: float) -> float:
        with located(name):
            return as_number(self.parameters.get(name, default), name)

    def _acquisition(self, model: Model, noise: float) -> Acquisition:
        """The beta that was given, a number or {"c1": 0.8, "c2": 4.0}; else that of auto."""
        given = self.parameters.get("beta")
        if given is None:
            known = self.epsilon
            rate = model.rate if known is None else model.between_results(known)
            return MeasuredUCB(lasting_beta(rate), noise)
        with located("beta"):
            if isinstance(given, Mapping):
                if set(given) != {"c1", "c2"}:
                    raise InputError("a number, or c1 and c2", _short(given))
                return UCB(LogBeta(given["c1"], given["c2"]))
            return UCB(given)

    def _rexp3(self, sign: float) -> Policy:
        gamma = self.parameters.get("gamma")
        low, high, batch = (self._number(name, 0.0) for name in ("low", "high", "batch"))
        if sign < 0.0:
            low, high = -high, -low
        return rexp3(low, high, batch, None if gamma is None else self._number("gamma", 0.0))


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that a study is created with."""

    space: SearchSpace | Options
    policy: PolicyChoice = field(default_factory=PolicyChoice)
    direction: Direction = "maximize"
    clock: Clock = field(default_factory=Steps)
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind, expected in (
            ("space", (SearchSpace, Options), "a SearchSpace or Options"),
            ("policy", PolicyChoice, "a policy"),
            ("clock", (Steps, Wall), "a clock"),
        ):
            if not isinstance(getattr(self, name), kind):
                raise InputError(expected, _short(getattr(self, name)), "", name)
        if not isinstance(self.direction, str) or self.direction not in ("maximize", "minimize"):
            raise InputError("maximize or minimize", _short(self.direction), "", "direction")
        with located("seed"):
            object.__setattr__(self, "seed", as_whole(self.seed, "seed", least=0))
        if self.independent and self.policy.given.length_scale is not None:
            raise InputError(
                "no length scale for options without features", "one", "", "policy.length_scale"
            )

    @property
    def sign(self) -> float:
        """What values are multiplied with, so that the highest is best."""
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def independent(self) -> bool:
        """Whether the options share nothing: named, and without features."""
        return isinstance(self.space, Options) and self.space.features is None

    @cached_property
    def domain(self) -> Domain:
        """Where one may measure; options that share nothing are whole numbers."""
        if isinstance(self.space, Options) and self.independent:
            return Finite(np.arange(float(len(self.space.names))))
        return self.space.domain

    @cached_property
    def given(self) -> Given:
        """The parameters of the model that are not learned."""
        given = self.policy.given
        return replace(given, length_scale=INDEPENDENT) if self.independent else given

    def build(self, model: Model) -> Policy:
        """The policy, with what was learned of the model so far."""
        # in a Box a mixture takes several times as long to climb, and is no better
        choose: Literal["best", "mixture"] = (
            "mixture" if isinstance(self.domain, Finite) else "best"
        )
        return self.policy.policy(self.given.over(model), self.sign, choose)

    def with_drift(self, epsilon: float) -> Setup:
        """The same with a drift that is known."""
        parameters = {**self.policy.parameters, "epsilon": epsilon}
        return replace(self, policy=PolicyChoice(self.policy.kind, parameters))

    def to_json(self) -> dict[str, Any]:
        """The setup as JSON, all defaults written out."""
        key = "options" if isinstance(self.space, Options) else "space"
        return {
            key: self.space.to_json(),
            "policy": self.policy.to_json(),
            "direction": self.direction,
            "clock": self.clock.to_json(),
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, data: object) -> Setup:
        """Read a setup; whatever is not said has its default."""
        if not isinstance(data, Mapping):
            raise InputError("an object that describes a study", _short(data))
        unknown = [name for name in data if name not in _KEYS]
        if unknown:
            raise InputError(
                f"keys among {', '.join(_KEYS)}", _short(unknown[0]), "", str(unknown[0])[:60]
            )
        if ("space" in data) == ("options" in data):
            raise InputError("either a space or options", "both" if "space" in data else "neither")
        space = _space(data)
        with located("policy"):
            policy = PolicyChoice.from_json(data.get("policy"))
        with located("clock"):
            clock = clock_from_json(data.get("clock"))
        return cls(space, policy, data.get("direction", "maximize"), clock, data.get("seed", 0))


_KEYS = ("space", "options", "policy", "direction", "clock", "seed")


def _space(data: Mapping[str, Any]) -> SearchSpace | Options:
    if "space" in data:
        return SearchSpace.from_json(data["space"])
    return Options.from_json(data["options"])


def _short(value: object) -> str:
    return repr(value)[:60]
