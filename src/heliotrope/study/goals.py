"""What a study of a running system is about: its metrics, and the rules for its asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict

from heliotrope.directions import Direction
from heliotrope.errors import InputError, located, relocated
from heliotrope.live.rules import RISK, Moves, Remeasure, Rules, limits_to_json, read_limits
from heliotrope.study.commands import THE_VALUE
from heliotrope.validation import Json, as_number, as_share, short_repr

Aim: TypeAlias = Literal["maximize", "minimize", "watch"]
"""What is wanted of a metric; a watched one is only recorded or limited."""

Choice: TypeAlias = Mapping[str, Any] | str
"""Parameters by name, or the name of an option."""


class GoalArguments(TypedDict, total=False):
    """The arguments of ``Study.create`` that describe its goals."""

    metrics: Mapping[str, Aim] | None
    objective: Mapping[str, float] | None
    limits: Mapping[str, Mapping[str, float | str]] | None
    risk: float | None
    baseline: Choice | None
    share: float | None
    safe: Sequence[Choice] | None
    moves: Mapping[str, Mapping[str, float]] | None


GOAL_KEYS = tuple(GoalArguments.__annotations__)
"""The keys of a study's configuration that describe its goals."""

_AIMS = ("maximize", "minimize", "watch")
_MOST = 20  # metrics: each has its own belief
_LONGEST = 60  # characters of a name
_SIGNS = {"maximize": 1.0, "minimize": -1.0}


@dataclass(frozen=True, eq=False)
class Goals:
    """The metrics with their aims, the weights of a sum to maximize, and the rules for asks.

    ``baseline`` is what runs today; it and the ``safe`` choices are known to keep all limits.
    """

    metrics: Mapping[str, Aim]
    objective: Mapping[str, float] | None = None
    rules: Rules = field(default_factory=Rules)
    baseline: Choice | None = None
    safe: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", _checked_metrics(self.metrics))
        self._check_objective()
        self._check_limits()

    @property
    def known(self) -> list[Choice]:
        """The choices that are known to keep all limits."""
        return [*([] if self.baseline is None else [self.baseline]), *self.safe]

    def _check_objective(self) -> None:
        if self.objective is not None:
            with located("objective"):
                object.__setattr__(self, "objective", self._checked_weights(self.objective))
        elif not self.directed:
            raise InputError(
                "a metric to maximize or minimize, or an objective",
                "only watched ones",
                'Say "maximize" or "minimize" for one of them.',
                "metrics",
            )

    def _check_limits(self) -> None:
        for name in self.rules.limited:
            if name not in self.metrics:
                known = f"metrics among {_listed(self.metrics)}"
                raise InputError(known, short_repr(name), "", "limits")
        if self.rules.needs_baseline and self.baseline is None:
            got = "a limit that is a share of it"
            raise InputError("a baseline", got, "Say what runs today.", "baseline")
        if self.rules.limits and not self.known:
            advice = "Say what runs today, or name choices that keep the limits."
            raise InputError("a baseline or safe choices beside limits", "neither", advice, "safe")

    @property
    def directed(self) -> list[str]:
        """The metrics to maximize or minimize."""
        return [name for name, aim in self.metrics.items() if aim != "watch"]

    @property
    def lead(self) -> str:
        """The metric that the summary shows: of several objectives, the first."""
        return next(iter(self.objective or self.directed))

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weights of the sum to maximize; None with several objectives."""
        if self.objective is not None:
            return self.objective
        (name, *others) = self.directed
        return None if others else {name: _SIGNS[self.metrics[name]]}

    def direction(self, name: str) -> Literal["maximize", "minimize"]:
        """The direction in which a metric is modelled."""
        return "minimize" if self.metrics[name] == "minimize" else "maximize"

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

    def _checked_weights(self, weights: object) -> dict[str, float]:
        if not isinstance(weights, Mapping) or not weights:
            raise InputError('weights such as {"throughput": 1.0}', short_repr(weights))
        checked = {}
        for name, weight in weights.items():
            if name not in self.metrics:
                raise InputError(f"metrics among {_listed(self.metrics)}", short_repr(name))
            with located(name):
                checked[name] = self._checked_weight(as_number(weight, "weight"), name)
        return checked

    def _checked_weight(self, weight: float, name: str) -> float:
        aim = self.metrics[name]
        if weight == 0.0:
            raise InputError("a weight other than 0", "0", "Leave the metric out.")
        if weight * _SIGNS.get(aim, weight) < 0.0:
            sign = "positive" if aim == "maximize" else "negative"
            advice = "The weighted sum is maximized."
            raise InputError(f"a {sign} weight of a metric to {aim}", f"{weight:g}", advice)
        return weight


def _checked_metrics(metrics: object) -> dict[str, Aim]:
    if not isinstance(metrics, Mapping) or not 0 < len(metrics) <= _MOST:
        raise InputError(
            f'1 to {_MOST} metrics such as {{"throughput": "maximize"}}',
            short_repr(metrics),
            "",
            "metrics",
        )
    checked: dict[str, Any] = {}
    for name, aim in metrics.items():
        if not (isinstance(name, str) and 0 < len(name) <= _LONGEST):
            form = f"names of 1 to {_LONGEST} characters"
            raise InputError(form, short_repr(name), "", "metrics")
        if aim not in _AIMS:
            raise InputError(" or ".join(_AIMS), short_repr(aim), "", f"metrics.{name}")
        checked[name] = aim
    return checked


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names)


def goals_from_json(data: Mapping[str, Any]) -> Goals | None:
    """The goals in a study's configuration; None for one value without rules."""
    return goals_from(data.get("direction", "maximize"), {key: data.get(key) for key in GOAL_KEYS})


def goals_from(direction: Direction, given: Mapping[str, Any]) -> Goals | None:
    """Goals from arguments, of which None counts as not given; without metrics, of one value."""
    for name in given:
        if name not in GOAL_KEYS:
            raise TypeError(f"create() got an unexpected keyword argument {name!r}")
    kept = {name: value for name, value in given.items() if value is not None}
    if not kept:
        return None
    metrics = kept.get("metrics", {THE_VALUE: direction})
    rules = _rules(kept)
    return Goals(metrics, kept.get("objective"), rules, kept.get("baseline"), _as_safe(kept))


def _rules(given: Mapping[str, Any]) -> Rules:
    limits, moves = read_limits(given.get("limits")), Moves.from_json(given.get("moves"))
    with located("risk"):
        risk = as_share(given.get("risk", RISK), "risk")
    with relocated("baseline", "share"):
        remeasure = Remeasure(given["share"]) if "share" in given else Remeasure()
    return Rules(limits, risk, remeasure, moves)


def _as_safe(given: Mapping[str, Any]) -> tuple[Choice, ...]:
    safe = given.get("safe", ())
    if isinstance(safe, (str, Mapping)) or not isinstance(safe, Sequence):
        raise InputError("a list of choices", short_repr(safe), "", "safe")
    return tuple(safe)
