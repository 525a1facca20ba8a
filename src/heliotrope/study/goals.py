"""What a study of a running system is about: its metrics, and the rules for its asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from heliotrope.directions import Direction
from heliotrope.errors import InputError
from heliotrope.live.rules import Live, limits_to_json
from heliotrope.study.creation import GOAL_KEYS, Choice
from heliotrope.study.measured import THE_VALUE
from heliotrope.validation import Json, short_repr

_MOST = 20  # metrics: each has its own belief
_LONGEST = 60  # characters of a name


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
