"""Ten optimization test functions, vectorized over points (..., d) and negated for maximization.

Formulas and domains follow Surjanovic and Bingham's Virtual Library of Simulation Experiments.
The dimensions follow W-DBO's comparison (Bardou et al. 2024); the last dimension is time.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from heliotrope.validation import Array


@dataclass(frozen=True)
class TestFunction:
    """A function to maximize over a cube of ``dimension`` coordinates, each in ``range``."""

    value: Callable[[Array], Array]
    dimension: int
    range: tuple[float, float]


def rastrigin(x: Array) -> Array:
    """A bowl with a regular grid of local optima; maximum 0 at 0."""
    return _total(10.0 * np.cos(2.0 * np.pi * x) - x**2 - 10.0)


def schwefel(x: Array) -> Array:
    """Waves that grow outwards; maximum about 0 at 420.9687."""
    return _total(x * np.sin(np.sqrt(np.abs(x))) - 418.9828872724339)


def styblinski_tang(x: Array) -> Array:
    """Two valleys per coordinate; maximum 39.16617 d at -2.903534."""
    return _total(8.0 * x**2 - 0.5 * x**4 - 2.5 * x)


def eggholder(x: Array) -> Array:
    """An egg carton in two coordinates; maximum 959.6407 at (512, 404.2319)."""
    a, b = x[..., 0], x[..., 1] + 47.0
    return b * np.sin(np.sqrt(np.abs(b + 0.5 * a))) + a * np.sin(np.sqrt(np.abs(a - b)))


def ackley(x: Array) -> Array:
    """A rough plain with one deep hole; maximum 0 at 0."""
    d = x.shape[-1]
    far = 20.0 * np.exp(-0.2 * np.sqrt(_total(x**2) / d))
    return np.asarray(far + np.exp(_total(np.cos(2.0 * np.pi * x)) / d) - 20.0 - math.e)


def rosenbrock(x: Array) -> Array:
    """A curved valley; maximum 0 at 1."""
    a, b = x[..., :-1], x[..., 1:]
    return -_total(100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2)


def shekel(x: Array) -> Array:
    """Ten holes; maximum 10.5364 near (4, 4, 4, 4)."""
    return _total(1.0 / (_total((x[..., None, :] - _HOLES) ** 2) + _SIZES))


def hartmann3(x: Array) -> Array:
    """Four bumps; maximum 3.86278 at (0.114614, 0.555649, 0.852547)."""
    return _bumps(x, _WIDE_3, _CENTRES_3)


def hartmann6(x: Array) -> Array:
    """Four bumps; maximum 3.32237."""
    return _bumps(x, _WIDE_6, _CENTRES_6)


def powell(x: Array) -> Array:
    """A flat valley in four coordinates; maximum 0 at 0."""
    a, b, c, d = (x[..., i] for i in range(4))
    far = (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2
    return -(far + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4)


def _total(terms: Array) -> Array:
    """Sum over the last axis."""
    return np.asarray(terms.sum(axis=-1))


def _bumps(x: Array, widths: Array, centres: Array) -> Array:
    distances = _total(widths * (x[..., None, :] - centres) ** 2)
    return np.asarray(np.exp(-distances) @ _HEIGHTS)


_SIZES = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10.0
_HOLES = np.array(
    [
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
    ]
).T
_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_WIDE_3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
_CENTRES_3 = 1e-4 * np.array(
    [[3689.0, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
_WIDE_6 = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_CENTRES_6 = 1e-4 * np.array(
    [
        [1312.0, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)

FUNCTIONS: Mapping[str, TestFunction] = {
    "rastrigin": TestFunction(rastrigin, 5, (-5.12, 5.12)),
    "schwefel": TestFunction(schwefel, 4, (-500.0, 500.0)),
    "styblinski-tang": TestFunction(styblinski_tang, 4, (-5.0, 5.0)),
    "eggholder": TestFunction(eggholder, 2, (-512.0, 512.0)),
    "ackley": TestFunction(ackley, 4, (-32.768, 32.768)),
    "rosenbrock": TestFunction(rosenbrock, 3, (-2.048, 2.048)),
    "shekel": TestFunction(shekel, 4, (0.0, 10.0)),
    "hartmann-3": TestFunction(hartmann3, 3, (0.0, 1.0)),
    "hartmann-6": TestFunction(hartmann6, 6, (0.0, 1.0)),
    "powell": TestFunction(powell, 4, (-4.0, 5.0)),
}
