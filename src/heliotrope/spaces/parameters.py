"""Parameters: what each can do, and those with countably many values that have no order.

Symbols: U (n, width) rows of a parameter's coordinates, each in [0, 1]; u (width,) one of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from heliotrope.errors import InputError, located
from heliotrope.spaces.checks import as_boolean, as_list, as_text
from heliotrope.validation import Array, Indices, Json, as_number, as_python, short_repr

_CHOICES = 1_000
_CHOICE = 1_000  # characters

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
