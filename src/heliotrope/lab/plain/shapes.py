"""Plain functions of the unit cube, each with a place that says where it is high.

Symbols: U (n, d) points of the unit cube; c (d,) the place. All return values (n,).
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from heliotrope.validation import Array

Shape: TypeAlias = Callable[[Array, Array], Array]


def _squares(U: Array, c: Array) -> Array:
    distances: Array = np.sum((U - c) ** 2, axis=1)
    return distances


def _kink(U: Array, c: Array) -> Array:
    return -np.asarray(np.abs(U - c).sum(axis=1))


def _plane(U: Array, c: Array) -> Array:
    return np.asarray(U @ (c - 0.5))


def _step(U: Array, c: Array) -> Array:
    return np.where(U[:, 0] > c[0], 1.0, 0.0)


def _plateau(U: Array, c: Array) -> Array:
    """A bowl with a flat top."""
    return -np.maximum(_squares(U, c), 0.03)


def _floor(U: Array, c: Array) -> Array:
    """A hill on a flat floor."""
    return -np.minimum(_squares(U, c), 0.1)


def _ties(U: Array, c: Array) -> Array:
    """A bowl in a few levels."""
    return -np.floor(12.0 * _squares(U, c) / len(c))


def _waves(U: Array, c: Array) -> Array:
    slow = np.cos(2.0 * np.pi * 0.8 * (U - c)).sum(axis=1)
    return np.asarray(slow + 0.4 * np.cos(2.0 * np.pi * 1.7 * (U - c)).sum(axis=1))


def _valley(U: Array, c: Array) -> Array:
    """A curved valley (Rosenbrock's); in one dimension a bowl."""
    bends = U[:, 1:] - c[1:] - (U[:, :-1] - c[:-1]) ** 2
    return -np.asarray((U[:, 0] - c[0]) ** 2 + 5.0 * np.sum(bends**2, axis=1))


def _steep(U: Array, c: Array) -> Array:
    """Positive values that span decades."""
    return np.asarray(np.exp(-4.0 * np.sqrt(_squares(U, c))))


SHAPES: Mapping[str, Shape] = {
    "bowl": lambda U, c: -_squares(U, c),
    "kink": _kink,
    "plane": _plane,
    "step": _step,
    "plateau": _plateau,
    "floor": _floor,
    "ties": _ties,
    "waves": _waves,
    "valley": _valley,
    "steep": _steep,
    "constant": lambda U, _: np.zeros(len(U)),
}
"""The functions by name."""
