"""Parameters: numbers between two bounds, and those with countably many values without an order.

Symbols: U (n, width) rows of a parameter's coordinates, each in [0, 1]; u (width,) one of them. A
position counts the values of a range with a step from 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, isclose, log10
from typing import ClassVar, TypeAlias

import numpy as np

from heliotrope.errors import InputError, located
from heliotrope.spaces.checks import as_boolean, as_integer, as_list, as_text
from heliotrope.validation import (
    LARGEST,
    Array,
    Indices,
    Json,
    as_number,
    as_positive,
    as_python,
    short_repr,
)

_CHOICES = 1_000
_CHOICE = 1_000  # characters
_SMALLEST = 1.0 / LARGEST
_NARROWEST = 1e-9  # least width of a range, as a share of the size of its bounds
_SAME = 1e-9  # relative rounding error of a number that was written to a text file
_DIGITS = 12  # of a value that people wrote; scaling and sums change the later ones


Value: TypeAlias = float | int | str | bool
"""The value of a parameter: plain Python, as in JSON."""


class Parameter(ABC):
    """One parameter of a space: its values, and their coordinates in the unit cube."""

    @property
    @abstractmethod
    def count(self) -> int | None:
        """The number of values; None for a continuum."""

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return 1

    @abstractmethod
    def value(self, position: int) -> Value:
        """Return the value at a position, counted from 0, of countably many."""

    @abstractmethod
    def position(self, value: object) -> int:
        """Return the position of a value among countably many, or raise an InputError."""

    @abstractmethod
    def table(self) -> Array:
        """Return the canonical coordinates (count, width) of all values, if they are countable."""

    @abstractmethod
    def snap(self, U: Array) -> Array:
        """Return the canonical coordinates of the value that each row decodes to."""

    @abstractmethod
    def decode(self, u: Array) -> Value:
        """Return the value nearest to coordinates."""

    @abstractmethod
    def numbers(self, U: Array) -> Array:
        """Return the values (n,) nearest to coordinates; of a choice its position."""

    @abstractmethod
    def encode(self, value: object) -> Array:
        """Return the canonical coordinates of a value, or raise an InputError."""

    @abstractmethod
    def to_json(self) -> Json:
        """Return the JSON form: the type and the fields."""


class Discrete(Parameter):
    """A parameter with countably many values, each with a position and canonical coordinates."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of values."""

    @abstractmethod
    def nearest(self, U: Array) -> Indices:
        """Return the positions (n,) nearest to coordinates."""

    @abstractmethod
    def coordinates(self, positions: Indices) -> Array:
        """Return the canonical coordinates (n, width) of positions (n,)."""

    def table(self) -> Array:
        return self.coordinates(np.arange(self.count))

    def snap(self, U: Array) -> Array:
        return self.coordinates(self.nearest(U))

    def decode(self, u: Array) -> Value:
        return self.value(int(self.nearest(u[None])[0]))

    def numbers(self, U: Array) -> Array:
        return self.nearest(U).astype(np.float64)

    def encode(self, value: object) -> Array:
        canonical: Array = self.coordinates(np.array([self.position(value)]))[0]
        return canonical


@dataclass(frozen=True)
class Categorical(Discrete):
    """One of up to 1,000 texts, numbers or booleans without an order; a coordinate for each.

    As in JSON, ``1`` and ``1.0`` are one choice, ``1`` and ``True`` are two.

    Examples
    --------
    >>> Categorical(["slow", "fast"]).encode("fast")
    array([0., 1.])
    """

    choices: Sequence[Value]
    _positions: dict[tuple[bool, Value], int] = field(
        init=False, repr=False, hash=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        with located("choices"):
            for i, item in enumerate(as_list(self.choices, "choices", _CHOICES)):
                with located(str(i)):
                    choice = _as_choice(item)
                    if self._positions.setdefault((isinstance(choice, bool), choice), i) != i:
                        raise InputError("choices that differ", f"{short_repr(choice)} twice")
        object.__setattr__(self, "choices", tuple(value for _, value in self._positions))

    @property
    def count(self) -> int:
        return len(self.choices)

    width = count

    def value(self, position: int) -> Value:
        return self.choices[position]

    def position(self, value: object) -> int:
        choice = as_python(value)
        if isinstance(choice, (str, int, float)):
            position = self._positions.get((isinstance(choice, bool), choice))
            if position is not None:
                return position
        raise InputError(f"one of {short_repr(list(self.choices))}", short_repr(value))

    def nearest(self, U: Array) -> Indices:
        """Return the positions of the largest coordinates, the first among equals."""
        largest: Indices = U.argmax(axis=1)
        return largest

    def coordinates(self, positions: Indices) -> Array:
        corners = np.zeros((len(positions), self.count))
        corners[np.arange(len(positions)), positions] = 1.0
        return corners

    def to_json(self) -> Json:
        return {"type": "categorical", "choices": list(self.choices)}


@dataclass(frozen=True)
class Boolean(Discrete):
    """True or False (0 and 1 are refused); one coordinate.

    Examples
    --------
    >>> Boolean().encode(True)
    array([1.])
    """

    @property
    def count(self) -> int:
        return 2

    def value(self, position: int) -> bool:
        return bool(position)

    def position(self, value: object) -> int:
        return int(as_boolean(value, "the value"))

    def nearest(self, U: Array) -> Indices:
        return (U[:, 0] > 0.5).astype(np.intp)

    def coordinates(self, positions: Indices) -> Array:
        return positions.astype(float)[:, None]

    def to_json(self) -> Json:
        return {"type": "boolean"}


def _as_choice(value: object) -> Value:
    """Return a text, a number or a boolean, or raise an InputError."""
    choice = as_python(value)
    if type(choice) is bool:
        return choice
    if type(choice) is str:
        return as_text(choice, "a choice", _CHOICE)
    if type(choice) is int or type(choice) is float:
        as_number(choice, "a choice")
        return choice
    raise InputError("a choice to be a text, a number, true or false", short_repr(value))


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
