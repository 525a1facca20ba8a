"""Moving peaks (Branke 1999): the highest of several cones, which wander, grow and shrink.

Symbols
-------
k  peaks        d  coordinates        T  steps
centres (T, k, d)        heights, widths (T, k)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heliotrope.domains import Box
from heliotrope.lab.environments.function import BoxEpisode
from heliotrope.lab.environments.timed import as_horizon, as_variance, gaussian_noise
from heliotrope.validation import Array, as_positive, as_whole

_PEAKS = 5
_HEIGHTS, _WIDTHS = (30.0, 70.0), (40.0, 120.0)  # Branke's scenario 2, widths for a unit cube
_PURPOSE = 4


@dataclass(frozen=True, eq=False)
class _Course:
    """Where the peaks are at each step."""

    centres: Array
    heights: Array
    widths: Array

    def value(self, x: Array, t: float) -> float:
        """The highest cone above a point."""
        row = int(t) - 1
        distances = np.linalg.norm(self.centres[row] - x, axis=1)
        return float(np.max(self.heights[row] - self.widths[row] * distances))

    def best(self, t: float) -> float:
        """The highest peak, exactly: no cone is above its own height."""
        return float(self.heights[int(t) - 1].max())


class MovingPeaks:
    """Five cones in the unit cube of ``dimension`` coordinates.

    After every ``every`` steps each centre moves by ``shift`` in a random direction, and heights
    and widths change by a few per cent. Centres turn back at the walls.

    Examples
    --------
    >>> episode = MovingPeaks(2, every=1, shift=0.01).episode(horizon=20, seed=0)
    >>> 30.0 <= episode.best(20) <= 70.0
    True
    """

    def __init__(self, dimension: int, every: int, shift: float, noise: float = 4.0) -> None:
        self._domain = Box(np.zeros(as_whole(dimension, "dimension", least=1)), np.ones(dimension))
        self._every = as_whole(every, "every", least=1)
        self._shift, self.noise = as_positive(shift, "shift"), as_variance(noise)

    @property
    def domain(self) -> Box:
        """Where one may measure."""
        return self._domain

    def episode(self, horizon: int, seed: int) -> BoxEpisode:
        """Draw one world of that many steps."""
        steps = as_horizon(horizon)
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE])
        course, noise = self._course(steps, rng), gaussian_noise(self.noise, steps, seed)
        return BoxEpisode(self._domain, course.value, course.best, noise)

    def _course(self, steps: int, rng: np.random.Generator) -> _Course:
        moves = np.arange(steps) // self._every  # made before each step
        count, share = int(moves[-1]), self._shift
        centres = [rng.random((_PEAKS, self._domain.dimension))]
        heights, widths = [rng.uniform(*_HEIGHTS, _PEAKS)], [rng.uniform(*_WIDTHS, _PEAKS)]
        for _ in range(count):
            way = rng.standard_normal(centres[0].shape)
            way *= self._shift / np.linalg.norm(way, axis=1, keepdims=True)
            centres.append(_within(centres[-1] + way, (0.0, 1.0)))
            heights.append(_stirred(heights[-1], _HEIGHTS, share, rng))
            widths.append(_stirred(widths[-1], _WIDTHS, share, rng))
        return _Course(np.stack(centres)[moves], np.stack(heights)[moves], np.stack(widths)[moves])


def _stirred(
    values: Array, limits: tuple[float, float], share: float, rng: np.random.Generator
) -> Array:
    """Values moved by about a share of their range, within its limits."""
    width = limits[1] - limits[0]
    return _within(values + share * width * rng.standard_normal(values.shape), limits)


def _within(values: Array, limits: tuple[float, float]) -> Array:
    """Values that went beyond a limit turned back at it."""
    low, high = limits
    folded = np.mod(values - low, 2.0 * (high - low))
    return np.asarray(low + np.minimum(folded, 2.0 * (high - low) - folded))
