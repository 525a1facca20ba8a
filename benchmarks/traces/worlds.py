"""Spaces as data, and the drifting functions that are measured in them.

A choice is what a user passes and gets: an index, coordinates, a name, or parameters by name. Its
unit coordinates lie between 0 and 1; the functions are defined on them.

Symbols
-------
u (d,)  unit coordinates of a choice
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import heliotrope as ht

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """A Finite domain with this many points on a side; a choice is an index."""

    sides: tuple[int, ...]

    @property
    def dimension(self) -> int:
        return len(self.sides)

    def build(self) -> Any:
        return ht.grid(*self.sides)

    def choice(self, u: Array) -> int:
        return int(((self.build().points - u) ** 2).sum(axis=1).argmin())

    def unit(self, choice: int) -> Array:
        return np.asarray(self.build().points[choice])

    def asked(self, suggestion: Any) -> int:
        if suggestion.index is not None:
            return int(suggestion.index)
        return self.choice(np.asarray(suggestion.choice))  # its domain has contexts


@dataclass(frozen=True)
class Cube:
    """A Box from ``low`` to ``high``; a choice is a list of coordinates."""

    dimension: int
    low: float = 0.0
    high: float = 1.0

    def build(self) -> Any:
        return ht.Box([self.low] * self.dimension, [self.high] * self.dimension)

    def choice(self, u: Array) -> list[float]:
        return [float(x) for x in self.low + (self.high - self.low) * u]

    def unit(self, choice: list[float]) -> Array:
        return (np.array(choice) - self.low) / (self.high - self.low)

    def asked(self, suggestion: Any) -> list[float]:
        return [float(x) for x in suggestion.choice]


@dataclass(frozen=True)
class Names:
    """Options without features; a choice is a name."""

    count: int
    dimension: int = 1

    def build(self) -> Any:
        return [f"option {i}" for i in range(self.count)]

    def choice(self, u: Array) -> str:
        return f"option {min(int(u[0] * self.count), self.count - 1)}"

    def unit(self, choice: str) -> Array:
        return np.array([(int(choice.split()[1]) + 0.5) / self.count])

    def asked(self, suggestion: Any) -> str:
        return str(suggestion.option)


@dataclass(frozen=True)
class Range:
    """A Real parameter, or with ``whole`` an Integer one; perhaps on a logarithmic scale."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def build(self) -> Any:
        if self.whole:
            return ht.Integer(int(self.low), int(self.high), log=self.log)
        return ht.Real(self.low, self.high, log=self.log)

    def value(self, u: float) -> float:
        low, high = self._ends
        x = low + (high - low) * u
        x = float(np.exp(x)) if self.log else x
        return min(max(round(x) if self.whole else x, self.low), self.high)

    def unit(self, value: float) -> float:
        low, high = self._ends
        return (float(np.log(value) if self.log else value) - low) / (high - low)

    @property
    def _ends(self) -> tuple[float, float]:
        low, high = np.log([self.low, self.high]) if self.log else (self.low, self.high)
        return float(low), float(high)


@dataclass(frozen=True)
class Words:
    """A Categorical parameter."""

    names: tuple[str, ...]

    def build(self) -> Any:
        return ht.Categorical(list(self.names))

    def value(self, u: float) -> str:
        return self.names[min(int(u * len(self.names)), len(self.names) - 1)]

    def unit(self, value: str) -> float:
        return (self.names.index(value) + 0.5) / len(self.names)


@dataclass(frozen=True)
class Named:
    """Parameters by name; so is a choice."""

    parameters: Mapping[str, Range | Words]

    @property
    def dimension(self) -> int:
        return len(self.parameters)

    def build(self) -> Any:
        return {name: one.build() for name, one in self.parameters.items()}

    def choice(self, u: Array) -> dict[str, Any]:
        pairs = zip(self.parameters.items(), u, strict=True)
        return {name: one.value(float(x)) for (name, one), x in pairs}

    def unit(self, choice: Mapping[str, Any]) -> Array:
        return np.array([one.unit(choice[name]) for name, one in self.parameters.items()])

    def asked(self, suggestion: Any) -> dict[str, Any]:
        return dict(suggestion.params)


Space: TypeAlias = Grid | Cube | Names | Named


def hill(u: Array, step: int, context: float = 0.0, phase: float = 0.0) -> float:
    """A hill whose top moves with the step and the context, and a level that all places share."""
    top = 0.5 + 0.3 * np.sin(step / 20.0 + np.arange(len(u)) + 2.0 * context + phase)
    return float(np.exp(-4.0 * np.sum((u - top) ** 2)) + 0.2 * np.sin(step / 12.0))


def load(u: Array, step: int, context: float = 0.0) -> float:
    """A metric to limit: it rises with all coordinates, and with the context."""
    return float(1.0 + np.mean(u) + 0.3 * context + 0.1 * np.sin(step / 15.0))
