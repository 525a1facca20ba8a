"""What an optimizer of a live system is told once: metrics, limits, what runs today, and moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from heliotrope.directions import Direction, sign_of
from heliotrope.domains import PlaceLike
from heliotrope.errors import InputError, located
from heliotrope.live.rules import RISK, Limit, Moves, Remeasure, Rules, read_limits
from heliotrope.serialization.codec import Arrays, JsonTree, decode, encode
from heliotrope.validation import as_number, short_repr

Aim: TypeAlias = Literal["maximize", "minimize", "watch"]

OBJECTIVE = "value"
"""The name of the objective if no metrics are named."""

_SIGNS = {"maximize": 1.0, "minimize": -1.0}


@dataclass(frozen=True, init=False, eq=False)
class Live:
    """The metrics of a live system, and the rules for changing its settings.

    ``metrics`` says of each metric whether to maximize, minimize or watch it. With several to
    maximize or minimize, asks take turns among the best trade-offs, unless ``objective`` has the
    weights of a sum of metrics to maximize. All ``limits`` together are kept with a probability of
    at least 1 - ``risk``. The search starts from the ``baseline``, which runs today, and from
    ``safe`` settings, which keep the limits. A ``share`` of the asks measures the baseline again,
    and more while the gain is uncertain (``stale``). ``moves`` bounds each change, and its cost.

    Examples
    --------
    >>> live = Live({"rate": "maximize", "p99": "watch"}, limits={"p99": {"below": 200}}, safe=[0])
    >>> live.objectives, live.rules.limited
    ({'rate': 1.0}, ('p99',))
    """

    metrics: Mapping[str, Aim]
    rules: Rules
    baseline: PlaceLike | None = None
    safe: tuple[PlaceLike, ...] = field(default=())
    objective: Mapping[str, float] | None = None

    def __init__(
        self,
        metrics: Mapping[str, Aim] | None = None,
        *,
        objective: Mapping[str, float] | None = None,
        limits: Mapping[str, Mapping[str, float | str]] | Sequence[Limit] | None = None,
        risk: float = RISK,
        baseline: PlaceLike | None = None,
        safe: Sequence[PlaceLike] = (),
        share: float = 0.1,
        stale: float | None = None,
        moves: Mapping[str, Mapping[str, float]] | Moves | None = None,
    ) -> None:
        read = limits if isinstance(limits, tuple) else read_limits(limits)
        change = moves if isinstance(moves, Moves) else Moves.from_json(moves)
        if isinstance(safe, (str, Mapping)) or not isinstance(safe, Sequence):
            raise InputError("a list of settings", short_repr(safe), "", "safe")
        object.__setattr__(self, "metrics", _as_metrics(metrics))
        object.__setattr__(self, "rules", Rules(read, risk, Remeasure(share, stale), change))
        object.__setattr__(self, "baseline", baseline)
        object.__setattr__(self, "safe", tuple(safe))
        object.__setattr__(self, "objective", objective)
        self._check()

    def _check(self) -> None:
        known = ", ".join(self.metrics)
        for name in self.rules.limited:
            if name not in self.metrics:
                advice = "Name it in metrics."
                raise InputError(f"a metric among {known}", short_repr(name), advice, "limits")
        self._check_objectives()
        if self.baseline is None and self.rules.needs_baseline:
            raise InputError("a baseline for relative limits", "none", "", "baseline")
        if self.baseline is None and not self.safe and self.rules.limits:
            advice = "Limits widen from a setting that is known to keep them."
            raise InputError("a baseline or safe settings beside limits", "none", advice, "safe")

    def _check_objectives(self) -> None:
        if self.objective is not None:
            with located("objective"):
                object.__setattr__(self, "objective", self._checked_weights(self.objective))
        elif not self.objectives:
            advice = 'Say "maximize" or "minimize" for one of them.'
            raise InputError("a metric to maximize or minimize", "none", advice, "metrics")

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

    @property
    def objectives(self) -> dict[str, float]:
        """The metrics to maximize (1) or minimize (-1)."""
        return {name: _SIGNS[aim] for name, aim in self.metrics.items() if aim != "watch"}

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weights of the sum to maximize; None with several objectives."""
        if self.objective is not None:
            return self.objective
        return self.objectives if len(self.objectives) == 1 else None

    @property
    def lead(self) -> str:
        """The metric that is shown first: of several objectives, the first."""
        return next(iter(self.objective or self.objectives))

    @property
    def sign(self) -> float:
        """-1 if what is maximized is the negative of the leading metric, otherwise 1."""
        return 1.0 if self.objective is not None else self.objectives[self.lead]

    def direction(self, name: str) -> Direction:
        """The direction in which a metric is modelled: a watched one as if it were maximized."""
        return "minimize" if self.metrics[name] == "minimize" else "maximize"

    def sign_of(self, name: str) -> float:
        """The factor of a metric's values for the agent that models it."""
        return sign_of(self.direction(name))

    def limits_of(self, metric: str) -> list[Limit]:
        return [limit for limit in self.rules.limits if limit.metric == metric]


def encode_live(live: Live, arrays: Arrays) -> JsonTree:
    """Write a description as JSON, with points in ``arrays``."""
    places = [_encoded(place, arrays) for place in (live.baseline, *live.safe)]
    objective = None if live.objective is None else dict(live.objective)
    described = {"metrics": dict(live.metrics), "objective": objective}
    return {**described, "rules": live.rules.to_json(), "places": places}


def decode_live(tree: JsonTree, arrays: Arrays) -> Live:
    """Read what :func:`encode_live` wrote."""
    rules = Rules.from_json(tree["rules"])
    baseline, *safe = (_decoded(place, arrays) for place in tree["places"])
    return Live(
        tree["metrics"],
        objective=tree["objective"],
        limits=rules.limits,
        risk=rules.risk,
        baseline=baseline,
        safe=safe,
        share=rules.remeasure.share,
        stale=rules.remeasure.stale,
        moves=rules.moves,
    )


def _encoded(place: PlaceLike | None, arrays: Arrays) -> JsonTree:
    return {"params": dict(place)} if isinstance(place, Mapping) else encode(place, arrays)


def _decoded(tree: JsonTree, arrays: Arrays) -> Any:
    is_named = isinstance(tree, Mapping) and "params" in tree
    return dict(tree["params"]) if is_named else decode(tree, arrays)


def _as_metrics(metrics: object) -> dict[str, Aim]:
    if metrics is None:
        return {OBJECTIVE: "maximize"}
    if not isinstance(metrics, Mapping) or not metrics:
        expected = 'metrics such as {"throughput": "maximize", "p99": "watch"}'
        raise InputError(expected, short_repr(metrics), "", "metrics")
    for name, aim in metrics.items():
        if not isinstance(name, str) or not name:
            raise InputError("names of metrics", short_repr(name), "", "metrics")
        if aim not in ("maximize", "minimize", "watch"):
            raise InputError("maximize, minimize or watch", short_repr(aim), "", f"metrics.{name}")
    return dict(metrics)
