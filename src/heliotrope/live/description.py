"""What an optimizer of a live system is told once: metrics, limits, what runs today, and moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from heliotrope.domains import PlaceLike
from heliotrope.errors import InputError
from heliotrope.live.rules import RISK, Limit, Moves, Remeasure, Rules, read_limits
from heliotrope.serialization.codec import Arrays, JsonTree, decode, encode
from heliotrope.validation import short_repr

Aim: TypeAlias = Literal["maximize", "minimize", "watch"]

OBJECTIVE = "value"
"""The name of the objective if no metrics are named."""

_SIGNS = {"maximize": 1.0, "minimize": -1.0}


@dataclass(frozen=True, init=False, eq=False)
class Live:
    """The metrics of a live system, and the rules for changing its settings.

    ``metrics`` says of each metric whether to maximize, minimize or watch it. With several to
    maximize or minimize, asks take turns among the best trade-offs. All ``limits`` together are
    kept with a probability of at least 1 - ``risk``. The search starts from the ``baseline``, which
    runs today, and from ``safe`` settings, which keep the limits. A ``share`` of the asks measures
    the baseline again, and more while the gain is uncertain (``stale``). ``moves`` bounds each
    change, and its cost.

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

    def __init__(
        self,
        metrics: Mapping[str, Aim] | None = None,
        *,
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
        if not self.objectives:
            advice = 'Say "maximize" or "minimize" for one of them.'
            raise InputError("a metric to maximize or minimize", "none", advice, "metrics")

    @property
    def objectives(self) -> dict[str, float]:
        """The metrics to maximize (1) or minimize (-1)."""
        return {name: _SIGNS[aim] for name, aim in self.metrics.items() if aim != "watch"}

    @property
    def lead(self) -> str:
        """The first objective, whose results are the optimizer's history."""
        return next(iter(self.objectives))

    def limits_of(self, metric: str) -> list[Limit]:
        return [limit for limit in self.rules.limits if limit.metric == metric]


def encode_live(live: Live, arrays: Arrays) -> JsonTree:
    """Write a description as JSON, with points in ``arrays``."""
    places = [_encoded(place, arrays) for place in (live.baseline, *live.safe)]
    return {"metrics": dict(live.metrics), "rules": live.rules.to_json(), "places": places}


def decode_live(tree: JsonTree, arrays: Arrays) -> Live:
    """Read what :func:`encode_live` wrote."""
    rules = Rules.from_json(tree["rules"])
    baseline, *safe = (_decoded(place, arrays) for place in tree["places"])
    return Live(
        tree["metrics"],
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
