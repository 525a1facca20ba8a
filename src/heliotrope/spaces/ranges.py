"""Parameters that are numbers between two bounds, on a linear or logarithmic scale."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose
from typing import ClassVar

import numpy as np

from heliotrope.errors import InputError, located
from heliotrope.spaces.checks import as_boolean, as_integer
from heliotrope.spaces.discrete import Discrete
from heliotrope.validation import LARGEST, Array, Indices, Json, as_number, short_repr

_SMALLEST = 1.0 / LARGEST
_NARROWEST = 1e-9  # least width of a range, as a share of the size of its bounds
_SAME = 1e-9  # relative rounding error of a bound that was written to a text file


class _Range:
    """The bounds of a number, and the scale that maps them to 0 and 1, exactly."""

    low: float
    high: float
    log: bool
    _type: ClassVar[str]

    def to_json(self) -> Json:
        scale = "log" if self.log else "linear"
        return {"type": self._type, "low": self.low, "high": self.high, "scale": scale}

    def _check(self, **checks: Callable[[object, str], object]) -> None:
        """Keep what the check of each field returns; raise an InputError for wrong bounds."""
        for name, check in checks.items():
            with located(name):
                object.__setattr__(self, name, check(getattr(self, name), name))
        low, high = self.low, self.high
        if low > high:
            raise InputError("high to be no less than low", f"{low!r} and {high!r}", field="high")
        if self.log and low < _SMALLEST:
            raise InputError("low above zero on a logarithmic scale", f"{low!r}", field="low")

    def _unit(self, values: Array) -> Array:
        if self.log:
            return np.log(values / self.low) / (np.log(self.high / self.low) or 1.0)
        return (values - self.low) / ((self.high - self.low) or 1.0)

    def _values(self, unit: Array) -> Array:
        if self.log:
            inner = self.low * (self.high / self.low) ** unit
        else:
            inner = self.low + unit * (self.high - self.low)
        return np.where(unit < 1.0, np.clip(inner, self.low, self.high), self.high)


@dataclass(frozen=True)
class Real(_Range):
    """A real number from low to high, on a linear or a logarithmic scale.

    Bounds are below 1e100 in size and, on a logarithmic scale, above 1e-100. With ``low == high``
    it is a constant. Otherwise the range is wider than 1e-9 times its bounds, and than 1e-100.

    Examples
    --------
    >>> Real(1e-4, 1.0, log=True).decode(np.array([0.5]))
    0.01
    """

    low: float
    high: float
    log: bool = False
    width: ClassVar[int] = 1
    _type: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        self._check(low=as_number, high=as_number, log=as_boolean)
        narrowest = max(_NARROWEST * max(abs(self.low), abs(self.high)), _SMALLEST)
        if 0.0 < self.high - self.low < narrowest:
            raise InputError(
                f"high above low by at least {narrowest:g}",
                f"{self.low!r} and {self.high!r}",
                "Measure from another zero, or in another unit.",
                field="high",
            )

    @property
    def count(self) -> int | None:
        """The number of values: 1, or None for a continuum."""
        return 1 if self.low == self.high else None

    def snap(self, U: Array) -> Array:
        """Return the coordinates unchanged: every coordinate is a valid value."""
        return U

    def decode(self, u: Array) -> float:
        """Return the value at a coordinate."""
        return float(self._values(u)[0])

    def encode(self, value: object) -> Array:
        """Return the coordinate of a value."""
        number = as_number(value, "the value")
        inside = min(max(number, self.low), self.high)
        if not isclose(number, inside, rel_tol=_SAME):
            raise InputError(f"a number from {self.low!r} to {self.high!r}", short_repr(value))
        return self._unit(np.array([inside]))


@dataclass(frozen=True)
class Integer(_Range, Discrete):
    """A whole number from low to high in steps, of a size up to 1e12; one coordinate.

    Examples
    --------
    >>> Integer(0, 8, step=4).decode(np.array([0.4]))
    4
    """

    low: int
    high: int
    log: bool = False
    step: int = 1
    _type: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        self._check(low=as_integer, high=as_integer, step=as_integer, log=as_boolean)
        if self.step < 1 or (self.high - self.low) % self.step:
            raise InputError(
                f"step to be a positive divisor of {self.high - self.low}, high less low",
                f"{self.step}",
                field="step",
            )

    @property
    def count(self) -> int:
        return (self.high - self.low) // self.step + 1

    def value(self, position: int) -> int:
        return self.low + position * self.step

    def position(self, value: object) -> int:
        number = as_number(value, "the value")
        steps, rest = divmod(number - self.low, self.step)
        if rest or not 0 <= steps < self.count:
            steps_of = f" in steps of {self.step}" if self.step > 1 else ""
            raise InputError(
                f"a whole number from {self.low} to {self.high}{steps_of}", short_repr(value)
            )
        return int(steps)

    def nearest(self, U: Array) -> Indices:
        steps = (self._values(U[:, 0]) - self.low) / self.step
        return np.rint(steps).astype(np.intp)

    def coordinates(self, positions: Indices) -> Array:
        return self._unit(self.low + self.step * positions.astype(float))[:, None]

    def to_json(self) -> Json:
        return super().to_json() | {"step": self.step}
