"""The base of all parameters with countably many values.

Symbols: U (n, width) rows of a parameter's coordinates, each in [0, 1]; u (width,) one of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np

from heliotrope.validation import Array, Indices

Value: TypeAlias = float | int | str | bool
"""The value of a parameter: plain Python, as in JSON."""


class Discrete(ABC):
    """A parameter with countably many values, each with a position and canonical coordinates."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of values."""

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return 1

    @abstractmethod
    def value(self, position: int) -> Value:
        """Return the value at a position, counted from 0."""

    @abstractmethod
    def position(self, value: object) -> int:
        """Return the position of a value, or raise an InputError."""

    @abstractmethod
    def nearest(self, U: Array) -> Indices:
        """Return the positions (n,) nearest to coordinates."""

    @abstractmethod
    def coordinates(self, positions: Indices) -> Array:
        """Return the canonical coordinates (n, width) of positions (n,)."""

    def snap(self, U: Array) -> Array:
        """Return the canonical coordinates of the value that each row decodes to."""
        return self.coordinates(self.nearest(U))

    def decode(self, u: Array) -> Value:
        """Return the value nearest to coordinates."""
        return self.value(int(self.nearest(u[None])[0]))

    def encode(self, value: object) -> Array:
        """Return the canonical coordinates of a value."""
        canonical: Array = self.coordinates(np.array([self.position(value)]))[0]
        return canonical
