"""What every parameter of a space can do.

Symbols: U (n, width) rows of a parameter's coordinates, each in [0, 1]; u (width,) one of them.
"""

from abc import ABC, abstractmethod
from typing import TypeAlias

from heliotrope.validation import Array, Json

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
