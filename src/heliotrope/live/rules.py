"""What a live system demands of every choice: limits, a baseline, and moves that are not too large.

These are descriptions. They check their input, read and write JSON, and hold no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heliotrope.directions import Direction, sign_of
from heliotrope.domains import Domain, PlaceLike, Places, are_indices
from heliotrope.errors import InputError, located
from heliotrope.serialization.codec import Arrays, JsonTree, decode, encode
from heliotrope.spaces import Integer, Options, Real, SearchSpace
from heliotrope.validation import Array, Json, as_number, as_positive, as_share, short_repr

Aim: TypeAlias = Literal["maximize", "minimize", "watch"]
Mask: TypeAlias = NDArray[np.bool_]

OBJECTIVE = "value"
"""The name of the objective if no metrics are named."""

RISK = 0.05
LEAST_RISK = 1e-9  # 1 minus a much smaller one would be rounded to 1
_ABOVE = {"below": -1.0, "at_most": -1.0, "above": 1.0, "at_least": 1.0}  # side that is kept
_SIGNS = {"maximize": 1.0, "minimize": -1.0}
_MOST = 0.4  # share of the asks at a stale baseline
_SURE = 3.0  # deviations of the gain, which clearly exclude 0
_ROUNDING = 1e-9  # share of a distance, and of an ask


@dataclass(frozen=True)
class Limit:
    """A bound that a metric must keep: ``side`` is below, at_most, above or at_least.

    A relative bound is a multiple of the baseline's value: 0.95 for "95%".

    Examples
    --------
    >>> Limit("p99", "below", 200.0).margin(150.0)
    50.0
    >>> Limit.read("throughput", "at_least", "95%").to_json()
    {'at_least': '95%'}
    """

    metric: str
    side: str
    bound: float
    relative: bool = False

    def __post_init__(self) -> None:
        if self.side not in _ABOVE:
            raise InputError(f"one of {', '.join(_ABOVE)}", short_repr(self.side), "", self.metric)
        check = as_positive if self.relative else as_number
        with located(self.metric):
            object.__setattr__(self, "bound", check(self.bound, self.side))

    @classmethod
    def read(cls, metric: str, side: str, bound: object) -> Limit:
        """Read a bound, a number or text such as "95%"."""
        if not isinstance(bound, str):
            return cls(metric, side, bound)  # type: ignore[arg-type]
        number = bound.strip().removesuffix("%")
        try:
            share = float(number) / 100.0
        except ValueError:
            share = -1.0
        if not bound.strip().endswith("%") or not share > 0.0:
            expected = 'a number, or a share of the baseline such as "95%"'
            raise InputError(expected, short_repr(bound), "", f"{metric}.{side}")
        return cls(metric, side, share, relative=True)

    @property
    def sign(self) -> float:
        """1 if the metric must stay above the bound, -1 below."""
        return _ABOVE[self.side]

    def margin(self, value: float, baseline: float = 0.0) -> float:
        """How far inside its limit a value is; negative if it crosses the limit."""
        bound = self.bound * baseline if self.relative else self.bound
        return self.sign * (value - bound)

    def to_json(self) -> Json:
        return {self.side: f"{100.0 * self.bound:.10g}%" if self.relative else self.bound}


def read_limits(data: object) -> tuple[Limit, ...]:
    """Read {"p99": {"below": 200.0}, "throughput": {"at_least": "95%"}}; None is no limit.

    Examples
    --------
    >>> [limit.side for limit in read_limits({"p99": {"above": 1, "below": 2}})]
    ['above', 'below']
    """
    if data is None:
        return ()
    expected = 'limits such as {"p99": {"below": 200.0}}'
    if not isinstance(data, Mapping):
        raise InputError(expected, short_repr(data), "", "limits")
    read = list[Limit]()
    for metric, sides in data.items():
        if not isinstance(metric, str) or not isinstance(sides, Mapping) or not sides:
            raise InputError(expected, short_repr({metric: sides}), "", "limits")
        with located("limits"):
            read += [Limit.read(metric, side, bound) for side, bound in sides.items()]
    return tuple(read)


def limits_to_json(limits: Sequence[Limit]) -> Json:
    """Write what :func:`read_limits` reads."""
    written: Json = {}
    for limit in limits:
        written.setdefault(limit.metric, {}).update(limit.to_json())
    return written


@dataclass(frozen=True)
class Moves:
    """How far and at what cost a setting may be changed.

    ``largest`` and ``cost`` are by parameter, in its own unit. No ask is further than ``largest``
    from the setting applied now. Each unit moved costs ``cost`` in the unit of the objective.
    The cost is compared with the gain of five steps. Any change of a category is a distance of 1.
    A coordinate without a name has its number.
    """

    largest: Mapping[str, float] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("largest", "cost"):
            numbers = getattr(self, name)
            if not isinstance(numbers, Mapping):
                raise InputError(f"{name} by parameter", short_repr(numbers), "", f"moves.{name}")
            with located(f"moves.{name}"):
                checked = {str(key): _not_negative(v, str(key)) for key, v in numbers.items()}
            object.__setattr__(self, name, checked)

    def __bool__(self) -> bool:
        return bool(self.largest or self.cost)

    def to_json(self) -> Json:
        return {"largest": dict(self.largest), "cost": dict(self.cost)}

    @classmethod
    def from_json(cls, data: object) -> Moves:
        """Read {"largest": {"workers": 4}, "cost": {"workers": 0.1}}; None is no rule."""
        if data is None:
            return cls()
        if not isinstance(data, Mapping) or set(data) - {"largest", "cost"}:
            expected = 'moves such as {"largest": {"workers": 4}, "cost": {"workers": 0.1}}'
            raise InputError(expected, short_repr(data), "", "moves")
        return cls(**data)


@dataclass(frozen=True)
class Remeasure:
    """When the baseline is measured again: a ``share`` of all asks, and more while it is stale.

    It is stale while the deviation of the gain over it exceeds ``stale``, in the unit of the
    objective; by default, while the gain is less than three deviations. Then up to 40 % of all
    asks are spent on it. A share of 0 never measures it.
    """

    share: float = 0.1
    stale: float | None = None

    def __post_init__(self) -> None:
        with located("share"):
            object.__setattr__(self, "share", as_share(self.share, "share", zero=True))
        if self.stale is not None:
            with located("stale"):
                object.__setattr__(self, "stale", as_positive(self.stale, "stale"))

    def is_due(self, asked: int, at_baseline: int, gain: float, deviation: float) -> bool:
        """Whether to measure the baseline next, after ``asked`` asks, some of them there."""
        least = self.share * (asked + 1) - _ROUNDING
        most = max(self.share, _MOST) * (asked + 1) - _ROUNDING
        stale = deviation > (abs(gain) / _SURE if self.stale is None else self.stale)
        return at_baseline < least or (self.share > 0.0 and stale and at_baseline < most)


@dataclass(frozen=True)
class Rules:
    """All demands on a choice: limits with their risk, the baseline's share, and moves."""

    limits: tuple[Limit, ...] = ()
    risk: float = RISK
    remeasure: Remeasure = Remeasure()
    moves: Moves = field(default_factory=Moves)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", tuple(self.limits))
        for metric in self.limited:
            with located("limits"):
                _check_range([limit for limit in self.limits if limit.metric == metric])
        with located("risk"):
            object.__setattr__(self, "risk", _checked_risk(self.risk))

    @property
    def limited(self) -> tuple[str, ...]:
        """The metrics with a limit, each once."""
        return tuple(dict.fromkeys(limit.metric for limit in self.limits))

    def crosses(self, metric: str, value: float) -> bool:
        """Whether a value is beyond a limit of its metric; relative limits do not count."""
        own = [limit for limit in self.limits if limit.metric == metric and not limit.relative]
        return any(limit.margin(value) < 0.0 for limit in own)

    @property
    def risk_of_each(self) -> float:
        """The risk of crossing one limit: the whole risk, divided among the limits."""
        return self.risk / max(len(self.limits), 1)


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
        for name in self.rules.limited:
            if name not in self.metrics:
                expected, advice = (
                    f"a metric among {', '.join(self.metrics)}",
                    "Name it in metrics.",
                )
                raise InputError(expected, short_repr(name), advice, "limits")
        self._check_objectives()
        if self.baseline is None and any(limit.relative for limit in self.rules.limits):
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

    @cached_property
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


class Distances:
    """Distances between places, by parameter; a change of a category is a distance of 1.

    The coordinates of a domain without names are called "0", "1", ...
    """

    def __init__(
        self, moves: Moves, domain: Domain, space: SearchSpace | Options | None = None
    ) -> None:
        self._moves, self._domain, self._space = moves, domain, space
        if isinstance(space, SearchSpace):
            numeric = {name: isinstance(p, (Real, Integer)) for name, p in space.parameters.items()}
        elif space is not None:
            numeric = {"option": False}
        else:
            numeric = {str(i): True for i in range(domain.dimension)}
        for name in {**moves.largest, **moves.cost}:
            if name not in numeric:
                names = ", ".join([*numeric][:10])
                raise InputError(f"a parameter among {names}", repr(name), "", "moves")
        self._is_number = np.array([*numeric.values()])
        self._costs = np.array([moves.cost.get(name, 0.0) for name in numeric])
        self._largest = np.array([moves.largest.get(name, np.inf) for name in numeric])

    def reachable(self, places: Places, applied: Sequence[Places]) -> Mask:
        """Which places are no further than the largest move from each of those applied."""
        within = np.ones(len(places), dtype=bool)
        if self._moves.largest:
            values, largest = self._values(places), self._largest * (1.0 + _ROUNDING)
            for place in applied:
                within &= (self._apart(values, self._values(place)) <= largest).all(1)
        return within

    def price(self, places: Places, applied: Places | None) -> Array:
        """The cost of moving to each place from the one applied."""
        if applied is None or not self._moves.cost:
            return np.zeros(len(places))
        return np.asarray(self._apart(self._values(places), self._values(applied)) @ self._costs)

    def _apart(self, values: Array, applied: Array) -> Array:
        """Distances (q, parameters)."""
        apart = np.abs(values - applied)
        return np.where(self._is_number, apart, np.sign(apart))

    def _values(self, places: Places) -> Array:
        """Values of the parameters, (q, parameters); of a category, the number of the choice."""
        if are_indices(places) and isinstance(self._space, Options):
            return places[:, None].astype(np.float64)
        points = self._domain.at(places) if are_indices(places) else places
        return self._space.numbers(points) if isinstance(self._space, SearchSpace) else points


def encode_live(live: Live, arrays: Arrays) -> JsonTree:
    """Write a description as the arguments that make it, with points in ``arrays``."""
    rules = live.rules
    return {
        "metrics": dict(live.metrics),
        "objective": None if live.objective is None else dict(live.objective),
        "limits": limits_to_json(rules.limits),
        "risk": rules.risk,
        "baseline": _encoded(live.baseline, arrays),
        "safe": [_encoded(setting, arrays) for setting in live.safe],
        "share": rules.remeasure.share,
        "stale": rules.remeasure.stale,
        "moves": rules.moves.to_json(),
    }


def decode_live(tree: JsonTree, arrays: Arrays) -> Live:
    """Read what :func:`encode_live` wrote."""
    safe = [_decoded(setting, arrays) for setting in tree["safe"]]
    return Live(**{**tree, "baseline": _decoded(tree["baseline"], arrays), "safe": safe})


def _encoded(setting: PlaceLike | None, arrays: Arrays) -> JsonTree:
    return {"params": dict(setting)} if isinstance(setting, Mapping) else encode(setting, arrays)


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


def _check_range(limits: Sequence[Limit]) -> None:
    """Refuse limits of one metric that no value keeps; the unit of relative ones is not known."""
    absolute = [limit for limit in limits if not limit.relative]
    lower = max((limit for limit in absolute if limit.sign > 0.0), key=_tightness, default=None)
    upper = max((limit for limit in absolute if limit.sign < 0.0), key=_tightness, default=None)
    if lower is None or upper is None or lower.bound < upper.bound:
        return
    if lower.bound > upper.bound or lower.side == "above" or upper.side == "below":
        expected = f"limits of {lower.metric} that a value can keep together"
        got = f"{lower.side} {lower.bound:g} and {upper.side} {upper.bound:g}"
        raise InputError(expected, got, "Swap the bounds, or leave one out.", lower.metric)


def _tightness(limit: Limit) -> tuple[float, bool]:
    """How much a limit excludes, beside others of the same direction."""
    return limit.sign * limit.bound, limit.side in ("above", "below")


def _checked_risk(value: Any) -> float:
    number = as_number(value, "risk")
    if not LEAST_RISK <= number < 1.0:
        advice = "No measurement shows that a limit is kept more surely than that."
        raise InputError(f"risk at least {LEAST_RISK:g} and below 1", repr(value), advice)
    return number


def _not_negative(value: Any, name: str) -> float:
    number = as_number(value, name)
    if number < 0.0:
        raise InputError(f"{name} to be at least 0", repr(value), "", name)
    return number
