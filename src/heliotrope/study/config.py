"""The configuration of a study, in Python and as JSON: its policy, its goals, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from heliotrope.directions import Direction, sign_of
from heliotrope.domains import DomainAdapter
from heliotrope.errors import InputError, StudyExistsError, located, relocated
from heliotrope.estimation import INDEPENDENT, Model
from heliotrope.live.rules import Distances, Limit, Live, limits_to_json
from heliotrope.policies import Adaptive, Policy, Tracking
from heliotrope.policies.fleet import Fleet
from heliotrope.policies.registry import AUTO, PARAMETRIC, REGISTRY, Named, PolicyEntry
from heliotrope.spaces import Options, Parameter, SearchSpace, as_space
from heliotrope.spaces.checks import as_list, as_text
from heliotrope.storage.protocol import as_name
from heliotrope.study.clocks import Clock, Steps, Wall, as_length, clock_from_json, seconds_of
from heliotrope.study.creation import CONFIG_KEYS, GOAL_KEYS, Choice, NewStudy
from heliotrope.study.evaluations import THE_VALUE
from heliotrope.study.space_adapter import SpaceAdapter
from heliotrope.tracker import Setup
from heliotrope.validation import Json, as_python, as_whole, short_repr

_KINDS = {name: entry for name, entry in REGISTRY.items() if entry.in_studies}
_MOST = 20  # metrics: each has its own belief
_LONGEST = 60  # characters of a name
_IN_UNITS = ("mean", "variance", "noise")  # parameters in the units of the values
_LENGTHS = ("clock.unit", "lease")  # of time
_MOST_ALIKE = 100  # studies that one is like
_SHOWN = 3  # differences in a message
_SHORTEST_SEASON = 1e-3  # units of the clock


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
                names = ", ".join(self.entry.parameters) or "none"
                raise InputError(f"parameters of {self.kind} ({names})", short_repr(name), "", name)
        for name in self.entry.required:
            if name not in self.parameters:
                raise InputError(f"{name} for {self.kind}", "none", "", name)
        if not self.learns_sums:
            self.recipe().check()

    @property
    def entry(self) -> PolicyEntry:
        return _KINDS[self.kind]

    @property
    def learns_sums(self) -> bool:
        """Whether the model is a sum of terms, all of whose parameters are learned."""
        return self.entry is AUTO

    @property
    def has_model(self) -> bool:
        """Whether the policy has a model of the values."""
        return self.learns_sums or self.entry.has_prior

    def recipe(self, independent: int = 0, **held: float) -> Named:
        """The recipe of a named policy, of which the first coordinates are independent options."""
        return Named(self.kind, {**self.parameters, **held}, independent)

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


class Goals(Live):
    """The metrics and the rules of a running system, as a study has them.

    ``baseline`` and ``safe`` are parameters by name, or names of options.
    """

    baseline: Choice | None
    safe: tuple[Choice, ...]

    def __init__(self, **described: Any) -> None:
        super().__init__(**described)
        for name in self.metrics:
            if len(name) > _LONGEST:
                form = f"names of at most {_LONGEST} characters"
                raise InputError(form, short_repr(name), "", "metrics")
        if len(self.metrics) > _MOST:
            raise InputError(f"at most {_MOST} metrics", str(len(self.metrics)), "", "metrics")

    def with_choices(self, baseline: Choice | None, safe: Sequence[Choice]) -> Goals:
        """The same goals with these choices."""
        same = copy(self)
        object.__setattr__(same, "baseline", baseline)
        object.__setattr__(same, "safe", tuple(safe))
        return same

    def to_json(self) -> Json:
        """The goals as keys of a study's configuration, with all defaults that matter."""
        rules, limited = self.rules, bool(self.rules.limits)
        written = {
            "metrics": dict(self.metrics),
            "objective": None if self.objective is None else dict(self.objective),
            "limits": limits_to_json(rules.limits) if limited else None,
            "risk": rules.risk if limited else None,
            "baseline": self.baseline,
            "share": None if self.baseline is None else rules.remeasure.share,
            "safe": list(self.safe) or None,
            "moves": rules.moves.to_json() if rules.moves else None,
        }
        return {name: value for name, value in written.items() if value is not None}


def goals_from_json(data: Mapping[str, Any]) -> Goals | None:
    """The goals in a study's configuration; None for one value without rules."""
    return goals_from(data.get("direction", "maximize"), {key: data.get(key) for key in GOAL_KEYS})


def goals_from(direction: Direction, arguments: Mapping[str, Any]) -> Goals | None:
    """Goals from arguments, of which None counts as not given; without metrics, of one value."""
    kept = {name: value for name, value in arguments.items() if value is not None}
    if not kept:
        return None
    return Goals(**{"metrics": {THE_VALUE: direction}, **kept})


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
    like: tuple[str, ...] = ()  # names of similar studies
    fleet: Fleet | None = None  # what they had learned when this one was created
    goals: Goals | None = None

    def __post_init__(self) -> None:
        _check_types(self)
        sign_of(self.direction)  # refuses any other
        if self.goals is not None:
            object.__setattr__(self, "goals", _checked_goals(self, self.goals))
            object.__setattr__(self, "direction", self.goals.direction(self.goals.lead))
        if self.lease is not None:
            with located("lease"):
                as_length(self.lease)
        if self.seed is not None:
            with located("seed"):
                object.__setattr__(self, "seed", as_whole(self.seed, "seed", least=0))
        _check_policy(self)

    @property
    def sign(self) -> float:
        """The factor of values that makes the highest the best."""
        return sign_of(self.direction)

    @property
    def lead(self) -> str:
        """The metric that the summary shows."""
        return THE_VALUE if self.goals is None else self.goals.lead

    def about(self, name: str) -> Json:
        """The field of an event that names its metric, if metrics have names."""
        return {} if self.goals is None else {"metric": name}

    @property
    def metrics(self) -> Mapping[str, StudyConfig]:
        """The configuration of each metric's belief, which is learned like that of a value."""
        return {THE_VALUE: self} if self.goals is None else self._by_metric

    @cached_property
    def _by_metric(self) -> Mapping[str, StudyConfig]:
        assert self.goals is not None
        return {name: _of_metric(self, name, self.goals) for name in self.goals.metrics}

    def setup(self, adapter: DomainAdapter) -> Setup | None:
        """The rules, and the points of their settings; None without goals."""
        if self.goals is None:
            return None
        return Setup(adapter, self.goals, self.adapter.choice_point, self.space)

    def limits_of(self, name: str) -> list[Limit]:
        """The limits of a metric."""
        limits = () if self.goals is None else self.goals.rules.limits
        return [limit for limit in limits if limit.metric == name]

    @cached_property
    def adapter(self) -> SpaceAdapter:
        """The space and the context, as domain of an optimizer."""
        return SpaceAdapter(self.space, self.context)

    @cached_property
    def recipe(self) -> Named:
        """The recipe of a named policy; options without features share nothing."""
        is_independent = self.adapter.is_independent and self.policy.entry.has_prior
        if not (isinstance(self.space, Options) and is_independent):
            return self.policy.recipe()
        if self.context is None:
            return self.policy.recipe(length_scale=INDEPENDENT)
        return self.policy.recipe(independent=len(self.space.names))

    def build(self) -> Policy:
        """The policy, which is told its model if it learns one."""
        if self.policy.learns_sums:
            return Adaptive(_tracking(self.policy, self.clock), deferred=True, fleet=self.fleet)
        if self.recipe.is_complete:
            return self.recipe.policy(Model(), Model().epsilon, self.adapter.domain)
        return Adaptive(self.recipe, deferred=True)

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
            **({"like": list(self.like)} if self.like else {}),
            **({} if self.fleet is None else {"fleet": self.fleet.to_json()}),
            **({} if self.goals is None else self.goals.to_json()),
        }

    @classmethod
    def of(cls, new: NewStudy) -> StudyConfig:
        """The configuration of a new study; an InputError names the argument at fault."""
        with located("policy"):
            policy = PolicyChoice.from_json(new.policy)
        with located("clock"):
            clock = Wall(new.clock) if isinstance(new.clock, str) else new.clock or Steps()
        return cls(
            as_space(new.options if new.space is None else new.space),  # type: ignore[arg-type]
            policy,
            new.direction,
            clock,
            new.seed,
            _as_context(new.context),
            new.lease,
            _as_names(new.like),
            goals=goals_from(new.direction, {key: getattr(new, key) for key in GOAL_KEYS}),
        )

    @classmethod
    def from_description(cls, data: object) -> StudyConfig:
        """Read what a user describes; what a ``fleet`` has learned stands only in a log."""
        return cls.from_json(_with_keys(data, CONFIG_KEYS))

    @classmethod
    def from_json(cls, data: object) -> StudyConfig:
        """Read a configuration; missing keys have their defaults."""
        data = _with_keys(data, (*CONFIG_KEYS, "fleet"))
        where = SpaceAdapter.from_json(data)
        with located("policy"):
            policy = PolicyChoice.from_json(data.get("policy"))
        with located("clock"):
            clock = clock_from_json(data.get("clock"))
        direction, seed = data.get("direction", "maximize"), data.get("seed")
        arguments = (where.space, policy, direction, clock, seed, where.context, data.get("lease"))
        return _with_fleet(cls(*arguments, goals=goals_from_json(data)), data)


def _of_metric(config: StudyConfig, name: str, goals: Goals) -> StudyConfig:
    """The configuration of one metric; only the leading one has the given units."""
    items = config.policy.parameters.items()
    kept = {key: value for key, value in items if name == goals.lead or key not in _IN_UNITS}
    policy = PolicyChoice(config.policy.kind, kept)
    own = replace(config, policy=policy, direction=goals.direction(name), goals=None)
    return own if name == goals.lead else replace(own, like=(), fleet=None)


def _check_types(config: StudyConfig) -> None:
    for name, kind, expected in (
        ("space", (SearchSpace, Options), "a SearchSpace or Options"),
        ("context", (SearchSpace, type(None)), "a SearchSpace, or None"),
        ("policy", PolicyChoice, "a policy"),
        ("clock", (Steps, Wall), "a unit of time such as 10min, or a clock"),
    ):
        if not isinstance(getattr(config, name), kind):
            raise InputError(expected, short_repr(getattr(config, name)), "", name)


def _tracking(policy: PolicyChoice, clock: Clock) -> Tracking:
    """The recipe of auto; with a wall clock, values may return after a day or a week."""
    season = policy.parameters.get("season")
    if season is not None:
        with located("policy.season"):
            period = clock.units_of(season)
        with located("policy"):
            return Tracking(period)
    if isinstance(clock, Steps):
        return Tracking()
    periods = [clock.units_of(length) for length in ("1d", "7d")]
    return Tracking(candidates=tuple(p for p in periods if p >= _SHORTEST_SEASON))


def _check_policy(config: StudyConfig) -> None:
    """Refuse a policy, or parameters of it, that do not fit the space, the clock or contexts."""
    policy = config.policy
    if policy.learns_sums:
        _tracking(policy, config.clock)  # refuses a wrong season
    shares = config.context is not None or not config.adapter.is_independent
    if not shares and "length_scale" in policy.parameters:
        expected = "no length scale for options without features"
        raise InputError(expected, "one", "", "policy.length_scale")
    if not policy.learns_sums:
        with located("policy"):
            config.recipe.held(Model(), config.adapter.domain)
    if config.context is not None and not policy.entry.takes_contexts:
        expected = "a policy that takes contexts"
        raise InputError(expected, policy.kind, "Use a GP policy.", "policy.kind")


def _checked_goals(config: StudyConfig, goals: Goals) -> Goals:
    """The goals as the log has them, if they fit the policy, the space and the direction."""
    if not config.policy.has_model:
        expected = "a policy with a model, because the study has metrics"
        raise InputError(expected, config.policy.kind, "Use a GP policy.", "policy.kind")
    canonical, leading = _canonical(goals, config.adapter), goals.direction(goals.lead)
    if config.direction not in ("maximize", leading):
        got, advice = f"{config.direction} beside metrics", "Leave the direction out."
        raise InputError(f"{leading} as {goals.lead}", got, advice, "direction")
    return canonical


def _canonical(goals: Goals, adapter: SpaceAdapter) -> Goals:
    """The goals with choices as the log has them; InputError for choices outside the space."""
    Distances(goals.rules.moves, adapter.choices, adapter.space)  # refuses unknown names
    with located("baseline"):
        chosen = goals.baseline
        baseline = None if chosen is None else adapter.canonical_choice(chosen)
    with located("safe"):
        safe = tuple(adapter.canonical_choice(choice) for choice in goals.safe)
    return goals.with_choices(baseline, safe)


def _as_context(context: SearchSpace | Mapping[str, Parameter] | None) -> SearchSpace | None:
    if context is None or isinstance(context, SearchSpace):
        return context
    with relocated("space", "context"):
        return SearchSpace(context)


def _as_names(like: Sequence[str]) -> tuple[str, ...]:
    with located("like"):
        if isinstance(like, str) or not isinstance(like, Sequence):
            raise InputError("a list of names of studies", short_repr(like))
        return tuple(as_name(name) for name in like)


def _with_keys(data: object, keys: Sequence[str]) -> Mapping[str, Any]:
    """An object that has only these keys."""
    if not isinstance(data, Mapping):
        raise InputError("an object that describes a study", short_repr(data))
    for name in data:
        if name not in keys:
            raise InputError(f"keys among {', '.join(keys)}", short_repr(name), "", str(name)[:60])
    return data


def _with_fleet(config: StudyConfig, data: Mapping[str, Any]) -> StudyConfig:
    with located("like"):
        names = as_list(data["like"], "names of studies", _MOST_ALIKE) if data.get("like") else ()
        like = tuple(as_text(name, "the name of a study") for name in names)
    if data.get("fleet") is None:
        return replace(config, like=like)
    with located("fleet"):
        try:
            fleet = Fleet.from_json(data["fleet"], config.adapter.domain)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise InputError("what similar studies have learned", short_repr(error)) from None
    return replace(config, like=like, fleet=fleet)


def is_same(first: StudyConfig, second: StudyConfig) -> bool:
    """Whether two configurations describe the same study; the default seed is 0."""
    wanted, existing = ({"seed": 0, **_compared(config)} for config in (first, second))
    return not any(_differences(wanted, existing))


def check_same(wanted: StudyConfig, existing: StudyConfig) -> None:
    """Raise a StudyExistsError that says how two configurations differ."""
    differing = list(_differences(_compared(wanted), _compared(existing)))
    if differing:
        raise StudyExistsError(
            "the configuration of the existing study",
            "another one: " + "; ".join(differing[:_SHOWN]),
            "Take another name, or Study.open to continue that study.",
        ) from None  # that the name is taken is expected


def _compared(config: StudyConfig) -> dict[str, Any]:
    """The configuration as it was given: similar studies may have learned more since."""
    return {name: value for name, value in config.to_json().items() if name != "fleet"}


def _differences(wanted: Any, existing: Any, field: str = "") -> Iterator[str]:
    """Each field that differs, with both values."""
    if isinstance(wanted, Mapping) and isinstance(existing, Mapping):
        for name in [*wanted, *(name for name in existing if name not in wanted)]:
            inner = f"{field}.{name}" if field else str(name)
            yield from _differences(wanted.get(name), existing.get(name), inner)
    elif not _is_equal(field, wanted, existing):
        yield f"{field} {short_repr(wanted)} instead of {short_repr(existing)}"


def _is_equal(field: str, wanted: Any, existing: Any) -> bool:
    """Whether two values of a field mean the same; a seed that is not given fits any."""
    if field == "seed" and wanted is None:
        return True
    if field in _LENGTHS and None not in (wanted, existing):
        return seconds_of(wanted) == seconds_of(existing)
    return bool(wanted == existing)
