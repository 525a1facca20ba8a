"""What a study of a running system is about: its metrics, and the rules for its asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal, TypeAlias, TypedDict

from heliotrope.directions import Direction
from heliotrope.errors import InputError, located
from heliotrope.live.description import Aim, Live
from heliotrope.live.rules import limits_to_json
from heliotrope.study.measured import THE_VALUE
from heliotrope.validation import Json, as_number, short_repr

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

_MOST = 20  # metrics: each has its own belief
_LONGEST = 60  # characters of a name
_SIGNS = {"maximize": 1.0, "minimize": -1.0}


class Goals(Live):
    """The metrics and the rules of a running system, and perhaps the weights of a sum to maximize.

    ``baseline`` and ``safe`` are parameters by name, or names of options.
    """

    objective: Mapping[str, float] | None

    def __init__(self, *, objective: Mapping[str, float] | None = None, **described: Any) -> None:
        object.__setattr__(self, "objective", objective)
        super().__init__(**described)
        for name in self.metrics:
            if len(name) > _LONGEST:
                form = f"names of at most {_LONGEST} characters"
                raise InputError(form, short_repr(name), "", "metrics")
        if len(self.metrics) > _MOST:
            raise InputError(f"at most {_MOST} metrics", str(len(self.metrics)), "", "metrics")

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

    @property
    def sign(self) -> float:
        """-1 if what is maximized is the negative of the leading metric, otherwise 1."""
        return 1.0 if self.objective is not None else _SIGNS[self.metrics[self.lead]]

    @property
    def known(self) -> list[Any]:
        """The choices that are known to keep all limits."""
        return [*([] if self.baseline is None else [self.baseline]), *self.safe]

    def direction(self, name: str) -> Literal["maximize", "minimize"]:
        """The direction in which a metric is modelled."""
        return "minimize" if self.metrics[name] == "minimize" else "maximize"

    def with_choices(self, baseline: Choice | None, safe: Sequence[Choice]) -> Goals:
        """The same goals with these choices."""
        found = copy(self)
        object.__setattr__(found, "baseline", baseline)
        object.__setattr__(found, "safe", tuple(safe))
        return found

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

    def _check_objectives(self) -> None:
        if self.objective is None:
            super()._check_objectives()
            return
        with located("objective"):
            object.__setattr__(self, "objective", self._checked_weights(self.objective))

    def _checked_weights(self, weights: object) -> dict[str, float]:
        if not isinstance(weights, Mapping) or not weights:
            raise InputError('weights such as {"throughput": 1.0}', short_repr(weights))
        checked = {}
        for name, weight in weights.items():
            if name not in self.metrics:
                raise InputError(f"a metric among {', '.join(self.metrics)}", short_repr(name))
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
    return Goals(**{"metrics": {THE_VALUE: direction}, **kept})
