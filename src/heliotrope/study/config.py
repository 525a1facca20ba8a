"""The configuration of a study, in Python and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from heliotrope.directions import Direction, sign_of
from heliotrope.domains import Finite
from heliotrope.errors import InputError, StudyExistsError, located
from heliotrope.estimation import Given, Model
from heliotrope.policies import Adaptive, Policy, Tracking
from heliotrope.spaces import Options, SearchSpace
from heliotrope.study.clocks import Clock, Steps, Wall, as_length, clock_from_json, seconds_of
from heliotrope.study.policies import Chosen, PolicyChoice, Weighing
from heliotrope.study.space_adapter import INDEPENDENT, SpaceAdapter
from heliotrope.validation import as_whole, short_repr


@dataclass(frozen=True, eq=False)
class StudyConfig:
    """Everything that a study is created with."""

    space: SearchSpace | Options
    policy: PolicyChoice = field(default_factory=PolicyChoice)
    direction: Direction = "maximize"
    clock: Clock = field(default_factory=Steps)
    seed: int | None = None  # 0 for a new study; any fits an existing one
    context: SearchSpace | None = None
    lease: str | None = None

    def __post_init__(self) -> None:
        for name, kind, expected in (
            ("space", (SearchSpace, Options), "a SearchSpace or Options"),
            ("context", (SearchSpace, type(None)), "a SearchSpace, or None"),
            ("policy", PolicyChoice, "a policy"),
            ("clock", (Steps, Wall), "a clock"),
        ):
            if not isinstance(getattr(self, name), kind):
                raise InputError(expected, short_repr(getattr(self, name)), "", name)
        sign_of(self.direction)  # refuses any other
        if self.lease is not None:
            with located("lease"):
                as_length(self.lease)
        if self.seed is not None:
            with located("seed"):
                object.__setattr__(self, "seed", as_whole(self.seed, "seed", least=0))
        if self.independent and self.policy.given.length_scale is not None:
            raise InputError(
                "no length scale for options without features", "one", "", "policy.length_scale"
            )
        if self.context is not None and not self.policy.entry.takes_contexts:
            raise InputError(
                "a policy that takes contexts", self.policy.kind, "Use a GP policy.", "policy.kind"
            )

    @property
    def sign(self) -> float:
        """The factor of values that makes the highest the best."""
        return sign_of(self.direction)

    @property
    def independent(self) -> bool:
        """Whether all options are independent, so that there is no length scale."""
        return self.adapter.is_independent and self.context is None

    @cached_property
    def adapter(self) -> SpaceAdapter:
        """The space and the context, as domain of an optimizer."""
        return SpaceAdapter(self.space, self.context, apart=not self.policy.learns_sums)

    @cached_property
    def given(self) -> Given:
        """The given parameters of the model, which are not learned."""
        given = self.policy.given
        is_fixed = self.independent and not self.policy.learns_sums
        return replace(given, length_scale=INDEPENDENT) if is_fixed else given

    @property
    def learns(self) -> bool:
        """Whether a model of the values is learned."""
        return self.policy.learns_sums or (self.policy.has_model and not self.given.complete)

    def build(self) -> Policy:
        """The policy, which is told its model if it learns one."""
        # in a Box a mixture takes several times as long to maximize, and is no better
        weighing: Weighing = "mixture" if isinstance(self.adapter.domain, Finite) else "best"
        if self.policy.learns_sums:
            return Adaptive(Tracking(), deferred=True)
        if self.learns:
            recipe = Chosen.of(self.policy, self.given, self.sign, weighing)
            return Adaptive(recipe, deferred=True)
        return self.policy.policy(self.given.override(Model()), self.sign, weighing)

    def with_drift(self, epsilon: float) -> StudyConfig:
        """The same configuration with a given drift."""
        parameters = {**self.policy.parameters, "epsilon": epsilon}
        return replace(self, policy=PolicyChoice(self.policy.kind, parameters))

    def to_json(self) -> dict[str, Any]:
        """The configuration as JSON, with all defaults but the seed's."""
        key = "options" if isinstance(self.space, Options) else "space"
        return {
            key: self.space.to_json(),
            **({} if self.context is None else {"context": self.context.to_json()}),
            "policy": self.policy.to_json(),
            "direction": self.direction,
            "clock": self.clock.to_json(),
            **({} if self.seed is None else {"seed": self.seed}),
            **({} if self.lease is None else {"lease": self.lease}),
        }

    @classmethod
    def from_json(cls, data: object) -> StudyConfig:
        """Read a configuration; missing keys have their defaults."""
        if not isinstance(data, Mapping):
            raise InputError("an object that describes a study", short_repr(data))
        unknown = [name for name in data if name not in _KEYS]
        if unknown:
            raise InputError(
                f"keys among {', '.join(_KEYS)}", short_repr(unknown[0]), "", str(unknown[0])[:60]
            )
        where = SpaceAdapter.from_json(data)
        with located("policy"):
            policy = PolicyChoice.from_json(data.get("policy"))
        with located("clock"):
            clock = clock_from_json(data.get("clock"))
        direction, seed = data.get("direction", "maximize"), data.get("seed")
        return cls(where.space, policy, direction, clock, seed, where.context, data.get("lease"))


def is_same(one: StudyConfig, other: StudyConfig) -> bool:
    """Whether two configurations describe the same study; the default seed is 0."""
    wanted, found = ({"seed": 0, **config.to_json()} for config in (one, other))
    return not any(_differences(wanted, found))


def check_same(wanted: StudyConfig, found: StudyConfig) -> None:
    """Raise a StudyExistsError that says how two configurations differ."""
    differing = list(_differences(wanted.to_json(), found.to_json()))
    if differing:
        raise StudyExistsError(
            "the configuration of the existing study",
            "another one: " + "; ".join(differing[:_SHOWN]),
            "Take another name, or Study.open to continue that study.",
        )


def _differences(wanted: Any, found: Any, field: str = "") -> Iterator[str]:
    """Each field that differs, with both values."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for name in [*wanted, *(name for name in found if name not in wanted)]:
            inner = f"{field}.{name}" if field else str(name)
            yield from _differences(wanted.get(name), found.get(name), inner)
    elif not _is_equal(field, wanted, found):
        yield f"{field} {short_repr(wanted)} instead of {short_repr(found)}"


def _is_equal(field: str, wanted: Any, found: Any) -> bool:
    """Whether two values of a field mean the same; a seed that is not given fits any."""
    if field == "seed" and wanted is None:
        return True
    if field in _LENGTHS and None not in (wanted, found):
        return seconds_of(wanted) == seconds_of(found)
    return bool(wanted == found)


_LENGTHS = ("clock.unit", "lease")  # of time
_SHOWN = 3  # differences in a message
_KEYS = ("space", "options", "context", "policy", "direction", "clock", "seed", "lease")
