"""Clocks of studies: a counter of steps, or wall time in a unit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from heliotrope.errors import InputError, TimeError, located
from heliotrope.storage import Store
from heliotrope.surroundings import Surroundings
from heliotrope.validation import as_positive, short_repr

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "week": 604800.0}
_SECONDS |= {"sec": 1.0, "m": 60.0, "hour": 3600.0, "day": 86400.0}  # synonyms
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)?\s*([a-z]+)")
_CHARACTERS = 40  # of a length of time
_LONGEST = 1e12  # seconds
_AHEAD = 600.0, 1.0  # seconds and units: a time may be ahead of the wall clock by the longer one
_BEHIND = 86400.0, 2.0  # the same, by which the wall clock may be behind the latest time
_PAUSE = 366 * 86400.0, 10.0  # the same, for a pause between two asks
_READABLE = 1e15  # larger numbers are written with an exponent
_OFFSET = 60.0  # seconds by which a clock may differ from that of the store


@dataclass(frozen=True)
class Steps:
    """Time is 1, 2, 3, ...: one step for each ask that gives no time."""

    def at(self, now: float, created: float) -> float | None:
        return None  # the optimizer counts the steps

    def check(self, at: float, latest: float, requested: float | None) -> None:
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

    def check(self, at: float, latest: float, requested: float | None) -> None:
        """Raise a TimeError if a clock is wrong, or the time of an ask is far ahead of it.

        ``at`` is the time by the wall clock, ``latest`` the latest one seen, ``requested`` the time
        of the ask. Times never run backwards, so a time that is far ahead would stop the clock.
        """
        if latest - at > self._longer(*_BEHIND):
            raise TimeError(
                "a clock that is not far behind the latest ask",
                f"one that is {self._words(latest - at)} behind",
                "Check the clock of this machine. If it is right, retime the study: the clock of"
                " another one was ahead.",
                "t",
            )
        furthest = max(at + self._longer(*_AHEAD), latest)
        if requested is not None and requested > furthest:
            raise TimeError(
                f"a time of at most {furthest:g}, {self._words(furthest - at)} after now",
                f"{requested:g}",
                "A belief may be of any later time. For times of your own use a clock of steps.",
                "t",
            )
        resting = at - max(latest, 0.0)  # since the latest ask, or since it was created
        if requested is None and resting > self._longer(*_PAUSE):
            raise TimeError(
                "a clock that is less than a year ahead of the latest ask",
                f"one that is {self._words(resting)} ahead",
                f"Check the clock of this machine. If it is right, ask with t={at:g}.",
                "t",
            )

    def _longer(self, seconds: float, units: float) -> float:
        """The longer one of two times, in units."""
        return max(seconds / self.seconds, units)

    def _words(self, units: float) -> str:
        return duration(units * self.seconds)

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


def by_store(surroundings: Surroundings, store: Store) -> Surroundings:
    """The same with a wall clock that is corrected where it differs from that of the store."""

    def corrected() -> float:
        offset = store.clock_offset()
        return surroundings.now() - (offset if abs(offset) > _OFFSET else 0.0)

    return replace(surroundings, now=corrected)


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
