"""Clocks of studies: a counter of steps, or wall time in a unit."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

from heliotrope.errors import InputError, TimeError, located
from heliotrope.storage import Store
from heliotrope.validation import as_positive, short_repr

Now: TypeAlias = Callable[[], float]
"""Returns seconds since 1970; tests pass their own."""

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "week": 604800.0}
_SECONDS |= {"sec": 1.0, "m": 60.0, "hour": 3600.0, "day": 86400.0}  # synonyms
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)?\s*([a-z]+)")
_CHARACTERS = 40  # of a length of time
_LONGEST = 1e12  # seconds
_UNITS_AHEAD = 1_000.0  # times may be ahead of the wall clock by this, or by a day if longer
_YEAR = 366 * 86400.0  # longest pause between two asks, in seconds
_UNITS_PAUSED = 10.0  # the same for long units
_READABLE = 1e15  # larger numbers are written with an exponent
_OFFSET = 60.0  # seconds by which a clock may differ from that of the store


@dataclass(frozen=True)
class Steps:
    """Time is 1, 2, 3, ...: one step for each ask that gives no time."""

    def at(self, now: float, created: float) -> float | None:
        return None  # the optimizer counts the steps

    def furthest(self, now: float, created: float) -> float:
        return inf

    def check(self, at: float, latest: float) -> None:
        """Do nothing: there is no clock that could be wrong."""

    def units_of(self, length: object) -> float:
        """A length of time in steps, as a number."""
        return as_positive(length, "a number of steps")

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
        with located("unit"):
            return seconds_of(self.unit)

    def at(self, now: float, created: float) -> float:
        """The time in units since the study was created."""
        return (now - created) / self.seconds

    def furthest(self, now: float, created: float) -> float:
        """The latest allowed time; a later one by mistake would stop the clock."""
        return self.at(now, created) + self._tolerance

    @property
    def _tolerance(self) -> float:
        return max(_SECONDS["day"] / self.seconds, _UNITS_AHEAD)

    def check(self, at: float, latest: float) -> None:
        """Raise a TimeError if the clock's own time is implausible beside the latest one seen.

        Other processes write the latest one, so one of the two clocks is wrong.
        """
        if at - latest > max(_YEAR / self.seconds, _UNITS_PAUSED):
            raise TimeError(
                "a clock that is less than a year ahead of the latest ask",
                f"one that is {duration((at - latest) * self.seconds)} ahead",
                f"Check the clock of this machine. If it is right, ask with t={at:g}.",
                "t",
            )
        if latest - at > self._tolerance:
            raise TimeError(
                "a clock that is not far behind the latest ask",
                f"one that is {duration((latest - at) * self.seconds)} behind",
                "Check the clock of this machine. If it is right, retime the study: the clock of"
                " another one was ahead.",
                "t",
            )

    def units_of(self, length: object) -> float:
        """A length of time, such as "24h" or a number of units, in units."""
        if isinstance(length, str):
            return seconds_of(length) / self.seconds
        return as_positive(length, "a number of units")

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


def seconds_of(length: object) -> float:
    """The seconds of a length of time such as "10min"; InputError.

    Examples
    --------
    >>> seconds_of("10min")
    600.0
    """
    text = length.strip() if isinstance(length, str) and len(length) <= _CHARACTERS else ""
    match = _LENGTH.fullmatch(text)
    number, name = match.groups() if match else ("", "")
    scale = _SECONDS.get(name) or _SECONDS.get(name.removesuffix("s"), 0.0)
    seconds = float(number or 1.0) * scale
    if not 0.0 < seconds < _LONGEST:
        raise InputError("a length of time such as 30s, 10m, 1h or 1d", short_repr(length))
    return seconds


def as_length(length: object) -> str:
    """Return a length of time such as "10min", or raise an InputError."""
    seconds_of(length)
    return str(length)


def by_store(now: Now, store: Store) -> Now:
    """A wall clock that is corrected where it differs from the clock of the store."""

    def corrected() -> float:
        offset = store.clock_offset()
        return now() - offset if abs(offset) > _OFFSET else now()

    return corrected


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
    """A number with two digits, or with all digits before the point if they can be read.

    Examples
    --------
    >>> [short(number) for number in (0.123, 99.4, 1234.5, 2e15)]
    ['0.12', '99', '1,234', '2e+15']
    """
    return f"{number:,.0f}" if 100.0 <= number < _READABLE else f"{number:.2g}"
