"""Parameters that are numbers between two bounds, on a linear or logarithmic scale.

Symbols: U (n, 1) coordinates in [0, 1]; a position counts the values of a range with a step from 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isclose, log10
from typing import ClassVar

import numpy as np

from heliotrope.errors import InputError, located
from heliotrope.spaces.checks import as_boolean, as_integer
from heliotrope.spaces.parameters import Discrete, Parameter
from heliotrope.validation import LARGEST, Array, Indices, Json, as_number, as_positive, short_repr

_SMALLEST = 1.0 / LARGEST
_NARROWEST = 1e-9  # least width of a range, as a share of the size of its bounds
_SAME = 1e-9  # relative rounding error of a number that was written to a text file
_DIGITS = 12  # of a value that people wrote; scaling and sums change the later ones


class _Range(Parameter):
    """The bounds of a number, and the scale that maps them to 0 and 1, exactly."""

    low: float
    high: float
    log: bool
    _type: ClassVar[str]

    def to_json(self) -> Json:
        return {"type": self._type, "low": self.low, "high": self.high, "log": self.log}

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

    With a ``step`` only low, low + step, ..., high are values. Bounds are below 1e100 in size and,
    on a logarithmic scale, above 1e-100. With ``low == high`` it is a constant. Otherwise the range
    is wider than 1e-9 times its bounds, and than 1e-100.

    Examples
    --------
    >>> Real(1e-4, 1.0, log=True).decode(np.array([0.5]))
    0.01
    >>> Real(0.0, 1.0, step=0.25).decode(np.array([0.7]))
    0.75
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    _type: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        self._check(low=as_number, high=as_number, log=as_boolean)
        narrowest = max(_NARROWEST * self._size, _SMALLEST)
        if 0.0 < self.high - self.low < narrowest:
            raise InputError(
                f"high above low by at least {narrowest:.10g}",
                f"{self.low!r} and {self.high!r}",
                "Measure from another zero, or in another unit.",
                field="high",
            )
        if self.step is not None:
            with located("step"):
                object.__setattr__(self, "step", as_positive(self.step, "step"))
                self._check_steps(self.step)

    @property
    def count(self) -> int | None:
        """The number of values: 1 for a constant, None for a continuum."""
        if self.step is None:
            return 1 if self.low == self.high else None
        return round((self.high - self.low) / self.step) + 1

    def value(self, position: int) -> float:
        """Return the value at a position, of a range with a step."""
        return float(self._stepped(np.array([position]))[0])

    def position(self, value: object) -> int:
        """Return the position of a value, of a range with a step, or raise an InputError."""
        number = as_number(value, "the value")
        at = int(self._nearest(np.array([min(max(number, self.low), self.high)]))[0])
        if not isclose(number, self.value(at), rel_tol=_SAME, abs_tol=_SAME * self._size):
            expected = f"a number from {self.low!r} to {self.high!r} in steps of {self.step!r}"
            raise InputError(expected, short_repr(value))
        return at

    def table(self) -> Array:
        """Return the coordinates (count, 1) of all values, of a range with a step."""
        return self._unit(self._stepped(np.arange(self.count or 1)))[:, None]

    def snap(self, U: Array) -> Array:
        return U if self.step is None else self._unit(self._decoded(U))

    def decode(self, u: Array) -> float:
        """Return the value at a coordinate, or the nearest one in steps.

        Of values with the same coordinate it is one of at most twelve digits, if there is one.
        """
        value = float(self._decoded(u)[0])
        size = value if self.log else self._size
        short = round(value, _DIGITS - ceil(log10(size or 1.0)))
        is_same = self.low <= short <= self.high and self._unit(np.array([short]))[0] == u[0]
        return short if is_same and self.step is None else value

    def numbers(self, U: Array) -> Array:
        return self._decoded(U[:, 0])

    def encode(self, value: object) -> Array:
        if self.step is not None:
            return self._unit(np.array([self.value(self.position(value))]))
        number = as_number(value, "the value")
        inside = min(max(number, self.low), self.high)
        if not isclose(number, inside, rel_tol=_SAME):
            raise InputError(f"a number from {self.low!r} to {self.high!r}", short_repr(value))
        return self._unit(np.array([inside]))

    def to_json(self) -> Json:
        return super().to_json() | ({} if self.step is None else {"step": self.step})

    @property
    def _size(self) -> float:
        return max(abs(self.low), abs(self.high))

    def _decoded(self, U: Array) -> Array:
        values = self._values(U)
        return values if self.step is None else self._stepped(self._nearest(values))

    def _nearest(self, values: Array) -> Indices:
        """The positions of the steps nearest to values within the bounds."""
        return np.rint((values - self.low) / (self.step or 1.0)).astype(np.intp)

    def _stepped(self, positions: Indices) -> Array:
        """The values at positions, without the rounding errors of their sums."""
        exact = self.low + positions * (self.step or 0.0)
        tidy = np.round(exact, _DIGITS - ceil(log10(self._size or 1.0)))
        last = positions + 1 == self.count
        return np.where(last, self.high, np.clip(tidy, self.low, self.high))

    def _check_steps(self, step: float) -> None:
        steps, least = (self.high - self.low) / step, _NARROWEST * self._size
        if step < least or not isclose(steps, round(steps), rel_tol=_SAME, abs_tol=_SAME):
            raise InputError(
                f"a step of at least {least:g} that divides {self.high - self.low:g}",
                f"{step!r}",
                "high less low must be a whole number of steps.",
            )


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

    def numbers(self, U: Array) -> Array:
        return self.low + self.step * self.nearest(U).astype(np.float64)

    def coordinates(self, positions: Indices) -> Array:
        return self._unit(self.low + self.step * positions.astype(float))[:, None]

    def to_json(self) -> Json:
        return super().to_json() | {"step": self.step}
