"""Parameters with several values without an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from heliotrope.errors import InputError, located
from heliotrope.spaces.checks import as_list, as_real, as_text, as_truth
from heliotrope.spaces.discrete import Discrete, Value
from heliotrope.validation import Array, Indices, Json, as_python, short_repr

_CHOICES = 1_000
_CHOICE = 1_000  # characters


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
            given = as_list(self.choices, "choices", _CHOICES)
            for i, item in enumerate(given):
                with located(str(i)):
                    self._add(_as_choice(item))
        object.__setattr__(self, "choices", tuple(value for _, value in self._positions))

    def _add(self, choice: Value) -> None:
        key = (isinstance(choice, bool), choice)
        if key in self._positions:
            raise InputError("choices that differ", f"{short_repr(choice)} twice")
        self._positions[key] = len(self._positions)

    @property
    def count(self) -> int:
        """The number of values."""
        return len(self.choices)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return len(self.choices)

    def value(self, position: int) -> Value:
        """Return the choice at a position."""
        return self.choices[position]

    def position(self, value: object) -> int:
        """Return the position of a choice, or raise an InputError."""
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
        """Return 1 for each chosen value and 0 for the others."""
        corners = np.zeros((len(positions), self.count))
        corners[np.arange(len(positions)), positions] = 1.0
        return corners

    def to_json(self) -> Json:
        """Return the JSON form."""
        return {"type": "categorical", "choices": list(self.choices)}


@dataclass(frozen=True)
class Boolean(Discrete):
    """True or False, but no number in their place; one coordinate.

    Examples
    --------
    >>> Boolean().encode(True)
    array([1.])
    """

    @property
    def count(self) -> int:
        """The number of values."""
        return 2

    def value(self, position: int) -> bool:
        """Return False at 0 and True at 1."""
        return bool(position)

    def position(self, value: object) -> int:
        """Return 0 for False and 1 for True, or raise an InputError."""
        return int(as_truth(value, "the value"))

    def nearest(self, U: Array) -> Indices:
        """Return 1 for coordinates above a half."""
        return (U[:, 0] > 0.5).astype(np.intp)

    def coordinates(self, positions: Indices) -> Array:
        """Return 0 for False and 1 for True."""
        return positions.astype(float)[:, None]

    def to_json(self) -> Json:
        """Return the JSON form."""
        return {"type": "boolean"}


def _as_choice(value: object) -> Value:
    """Return a text, a number or a boolean, or raise an InputError."""
    choice = as_python(value)
    if type(choice) is bool:
        return choice
    if type(choice) is str:
        return as_text(choice, "a choice", _CHOICE)
    if type(choice) is int or type(choice) is float:
        as_real(choice, "a choice")
        return choice
    raise InputError("a choice to be a text, a number, true or false", short_repr(value))
