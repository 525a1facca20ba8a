"""What a live system demands of every choice: limits, a baseline, and moves that are not too large.

These are descriptions. They read and write JSON, check their input, and hold no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heliotrope.errors import InputError, located
from heliotrope.validation import Json, as_number, as_positive, as_share, short_repr

_ABOVE = {"below": -1.0, "at_most": -1.0, "above": 1.0, "at_least": 1.0}  # side that is kept
RISK = 0.05
LEAST_RISK = 1e-9  # 1 minus a much smaller one would be rounded to 1
_MOST = 0.4  # share of the asks at a stale baseline
_SURE = 3.0  # deviations of the gain, which clearly exclude 0
_ROUNDING = 1e-9


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
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise InputError(f"{name} by parameter", short_repr(given), "", f"moves.{name}")
            with located(f"moves.{name}"):
                kept = {str(key): _not_negative(value, str(key)) for key, value in given.items()}
            object.__setattr__(self, name, kept)

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
        known = abs(gain) / _SURE if self.stale is None else self.stale
        return at_baseline < least or (
            self.share > 0.0 and deviation > known and at_baseline < most
        )


@dataclass(frozen=True)
class Rules:
    """All demands on a choice: limits with their risk, the baseline's share, and moves."""

    limits: tuple[Limit, ...] = ()
    risk: float = RISK
    remeasure: Remeasure = Remeasure()
    moves: Moves = field(default_factory=Moves)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", tuple(self.limits))
        with located("risk"):
            object.__setattr__(self, "risk", _checked_risk(self.risk))

    @property
    def limited(self) -> tuple[str, ...]:
        """The metrics with a limit, each once."""
        return tuple(dict.fromkeys(limit.metric for limit in self.limits))

    def crosses(self, metric: str, value: float) -> bool:
        """Whether a value is beyond a limit of its metric; relative limits do not count."""
        own = [one for one in self.limits if one.metric == metric and not one.relative]
        return any(limit.margin(value) < 0.0 for limit in own)

    @property
    def risk_of_each(self) -> float:
        """The risk of crossing one limit: the whole risk, divided among the limits."""
        return self.risk / max(len(self.limits), 1)

    @property
    def needs_baseline(self) -> bool:
        """Whether a limit is relative to the baseline."""
        return any(limit.relative for limit in self.limits)

    def to_json(self) -> Json:
        return {
            "limits": limits_to_json(self.limits),
            "risk": self.risk,
            "remeasure": {"share": self.remeasure.share, "stale": self.remeasure.stale},
            "moves": self.moves.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rules:
        """Read what :meth:`to_json` wrote."""
        limits, moves = read_limits(data["limits"]), Moves.from_json(data["moves"])
        return cls(limits, data["risk"], Remeasure(**data["remeasure"]), moves)


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
