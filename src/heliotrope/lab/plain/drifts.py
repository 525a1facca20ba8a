"""How plain worlds change: a place that moves, a level that all points share, or a second hill.

Times are counted in steps from 0; levels and heights in deviations of the function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from heliotrope.validation import Array

Path: TypeAlias = Callable[[Array, float], Array]


def _at_rest(c: Array, _: float) -> Array:
    return c


def _no_level(_: float) -> float:
    return 0.0


def _moving(speed: float) -> Path:
    """A place that moves by ``speed`` per step in every coordinate, and turns at 0 and 1."""
    return lambda c, step: np.asarray(1.0 - np.abs((c + speed * step) % 2.0 - 1.0))


def _swapped(c: Array, step: float) -> Array:
    return 1.0 - c if step // 40 % 2 else c


def _jumped(c: Array, step: float) -> Array:
    return 1.0 - c if step >= 60 else c


def _turning(c: Array, step: float) -> Array:
    return np.asarray(np.clip(c + 0.25 * np.sin(2.0 * np.pi * step / 50.0), 0.0, 1.0))


@dataclass(frozen=True)
class Drift:
    """The ``place`` and the ``level`` by step, and the height of a second ``hill``."""

    place: Path = _at_rest
    level: Callable[[float], float] = _no_level
    hill: Callable[[float], float] | None = None
    slow: bool = False


DRIFTS: Mapping[str, Drift] = {
    "still": Drift(slow=True),
    "slow": Drift(_moving(0.001), slow=True),
    "fast": Drift(_moving(0.01)),
    "trend": Drift(level=lambda step: 0.03 * step),
    "daily level": Drift(level=lambda step: 2.0 * float(np.sin(2.0 * np.pi * step / 24.0))),
    "season": Drift(_turning),
    "swap": Drift(_swapped),
    "jump": Drift(_jumped, lambda step: 5.0 if step >= 60 else 0.0),
    "comeback": Drift(hill=lambda step: 3.0 * float(np.sin(step / 15.0))),
}
"""The drifts by name; those that are not ``slow`` move faster than 0.001 per step."""
