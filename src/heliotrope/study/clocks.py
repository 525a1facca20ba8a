"""Clocks of studies: a counter of steps, or wall time in a unit."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

from heliotrope.errors import InputError

Now: TypeAlias = Callable[[], float]
"""Returns seconds since 1970; tests pass their own."""

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "week": 604800.0}
_SECONDS |= {"sec": 1.0, "m": 60.0, "hour": 3600.0, "day": 86400.0}  # synonyms
_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)?\s*([a-z]+)\s*")
_LONGEST = 1e12  # seconds
_UNITS_AHEAD = 1_000.0  # times may be ahead of the wall clock by this, or by a day if longer


@dataclass(frozen=True)
class Steps:
    """Time is 1, 2, 3, ...: one step for each ask that gives no time."""

    def at(self, now: float, created: float) -> float | None:
        return None  # the optimizer counts the steps

    def furthest(self, now: float, created: float) -> float:
        return inf

    def to_json(self) -> dict[str, Any]:
        return {"kind": "steps"}


@dataclass(frozen=True)
class Wall:
    """Time since the study was created, in a unit such as "10min".

    Examples
    --------
    >>> Wall("10min").at(now=1500.0, created=300.0)
    2.0
    """

    unit: str

    def __post_init__(self) -> None:
        self.seconds  # noqa: B018 - raises an error for an unknown unit

    @property
    def seconds(self) -> float:
        """The length of the unit."""
        match = _UNIT.fullmatch(self.unit) if isinstance(self.unit, str) else None
        number, name = match.groups() if match else ("", "")
        scale = _SECONDS.get(name) or _SECONDS.get(name.removesuffix("s"), 0.0)
        length = float(number or 1.0) * scale
        if not 0.0 < length < _LONGEST:
            raise InputError(
                "a unit of time such as 30s, 10m, 1h or 1d", repr(self.unit)[:60], field="unit"
            )
        return length

    def at(self, now: float, created: float) -> float:
        """The time in units since the study was created."""
        return (now - created) / self.seconds

    def furthest(self, now: float, created: float) -> float:
        """The latest allowed time; a later one by mistake would stop the clock."""
        return self.at(now, created) + max(_SECONDS["day"] / self.seconds, _UNITS_AHEAD)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "wall", "unit": self.unit}


Clock: TypeAlias = Steps | Wall


def clock_from_json(data: object) -> Clock:
    """Read {"kind": "steps"} or {"kind": "wall", "unit": "10min"}; None is steps."""
    form = dict(data) if isinstance(data, Mapping) else {}
    if data is None or form == {"kind": "steps"}:
        return Steps()
    if form.get("kind") == "wall" and set(form) == {"kind", "unit"}:
        return Wall(form["unit"])
    raise InputError(
        'a clock, {"kind": "steps"} or {"kind": "wall", "unit": "10min"}', repr(data)[:60]
    )


def duration(seconds: float) -> str:
    """A length of time in words.

    Examples
    --------
    >>> duration(5400.0)
    '1.5 h'
    """
    fitting = [name for name in ("d", "h", "min", "s") if seconds >= _SECONDS[name]]
    unit = fitting[0] if fitting else "ms"
    return f"{short(seconds / _SECONDS[unit])} {unit}"


def short(number: float) -> str:
    """A number with two digits, or with all digits before the point."""
    return f"{number:.2g}" if number < 100.0 else f"{number:,.0f}"
