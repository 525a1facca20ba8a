"""What a study is created with, as Python has it and as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from heliotrope.arrays import as_whole
from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError, located
from heliotrope.estimation import INDEPENDENT, Given, Model
from heliotrope.policies import Policy
from heliotrope.spaces import Options, SearchSpace
from heliotrope.study.clocks import Clock, Steps, Wall, clock_from_json
from heliotrope.study.policies import PolicyChoice, Weighing

Direction: TypeAlias = Literal["maximize", "minimize"]


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
        weighing: Weighing = "mixture" if isinstance(self.domain, Finite) else "best"
        return self.policy.policy(self.given.over(model), self.sign, weighing)

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
