"""Moving peaks (Branke 1999): the maximum of several cones that move, grow and shrink.

Symbols
-------
k  peaks        d  coordinates        T  steps
centres (T, k, d)        heights, widths (T, k)
"""

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
class _Peaks:
    """The peaks at each step."""

    centres: Array
    heights: Array
    widths: Array

    def value(self, x: Array, t: float) -> float:
        """The maximum of the cones at a point."""
        row = int(t) - 1
        distances = np.linalg.norm(self.centres[row] - x, axis=1)
        return float(np.max(self.heights[row] - self.widths[row] * distances))

    def best(self, t: float) -> float:
        """The highest peak: a cone is highest at its centre."""
        return float(self.heights[int(t) - 1].max())


class MovingPeaks:
    """Five cones in the unit cube of ``dimension`` coordinates.

    Every ``every`` steps each centre moves by ``shift`` in a random direction, and heights and
    widths change by a few per cent. Centres are reflected at the boundary.

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
        """Points that can be measured."""
        return self._domain

    def episode(self, horizon: int, seed: int) -> BoxEpisode:
        """Draw a world of ``horizon`` steps."""
        steps = as_horizon(horizon)
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE])
        peaks, noise = self._peaks(steps, rng), gaussian_noise(self.noise, steps, seed)
        return BoxEpisode(self._domain, peaks.value, peaks.best, noise)

    def _peaks(self, steps: int, rng: np.random.Generator) -> _Peaks:
        moves = np.arange(steps) // self._every  # number of moves before each step
        count, share = int(moves[-1]), self._shift
        centres = [rng.random((_PEAKS, self._domain.dimension))]
        heights, widths = [rng.uniform(*_HEIGHTS, _PEAKS)], [rng.uniform(*_WIDTHS, _PEAKS)]
        for _ in range(count):
            direction = rng.standard_normal(centres[0].shape)
            direction *= self._shift / np.linalg.norm(direction, axis=1, keepdims=True)
            centres.append(_reflected(centres[-1] + direction, (0.0, 1.0)))
            heights.append(_perturbed(heights[-1], _HEIGHTS, share, rng))
            widths.append(_perturbed(widths[-1], _WIDTHS, share, rng))
        return _Peaks(np.stack(centres)[moves], np.stack(heights)[moves], np.stack(widths)[moves])


def _perturbed(
    values: Array, limits: tuple[float, float], share: float, rng: np.random.Generator
) -> Array:
    """Values changed by about ``share`` of their range, within its limits."""
    width = limits[1] - limits[0]
    return _reflected(values + share * width * rng.standard_normal(values.shape), limits)


def _reflected(values: Array, limits: tuple[float, float]) -> Array:
    """Values reflected at the limits."""
    low, high = limits
    folded = np.mod(values - low, 2.0 * (high - low))
    return np.asarray(low + np.minimum(folded, 2.0 * (high - low) - folded))
