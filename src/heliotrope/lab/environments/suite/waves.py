"""Drifting functions over boxes: random waves (Rahimi and Recht 2007) whose weights drift.

f_t(x) = sqrt(2 / m) sum_k w_k(t) cos(omega_k . x + b_k)

With omega_k ~ N(0, diag(1 / l^2)), b_k uniform and w_k(t) of variance 1, f_t has the covariance
of a GP with a squared exponential kernel and length scales l.

Symbols
-------
m  waves      d  coordinates of the box, p of which matter      T  steps
omega (m, p)  frequencies      b (m,)  phases      w (T, m)  weights
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Box
from heliotrope.errors import InputError
from heliotrope.lab.environments.function import BoxEpisode
from heliotrope.lab.environments.suite.search import compass, compass_search, lattice_grid
from heliotrope.lab.environments.timed import as_horizon, as_variance, gaussian_noise
from heliotrope.validation import Array, Indices, as_share, as_vector, as_whole

_WAVES = 128
_PURPOSE = 8
_SIDE = 33  # grid points of a continuous coordinate
_STARTS = 16
_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class _DriftingWaves:
    """The waves over the coordinates that matter, ``columns``, of which ``box`` is the cube."""

    box: Box
    columns: Indices
    frequencies: Array
    phases: Array
    weights: Array

    def value(self, x: Array, t: float) -> float:
        """The value at a point (d,)."""
        return float(self._waves(x[self.columns]) @ self.weights[int(t) - 1])

    def best(self, t: float) -> float:
        """The maximum, searched for."""
        if t not in self._found:
            self._found[t] = self._maximum(self.weights[int(t) - 1])
        return self._found[t]

    def _maximum(self, weights: Array) -> float:
        starts = np.argpartition(-(self._grid_waves @ weights), _STARTS)[:_STARTS]
        free = np.tile(self.box.continuous, 2)
        directions = compass(self.box.dimension)[free]
        _, values = compass_search(
            lambda x: self._waves(x) @ weights, self._grid[starts], directions, _ROUNDS
        )
        return float(values.max())

    def _waves(self, points: Array) -> Array:
        """The waves (..., m) at points (..., p)."""
        angles = points @ self.frequencies.T + self.phases
        return np.asarray(np.sqrt(2.0 / len(self.phases)) * np.cos(angles))

    @cached_property
    def _grid(self) -> Array:
        return lattice_grid(self.box, _SIDE)

    @cached_property
    def _grid_waves(self) -> Array:
        return self._waves(self._grid)

    @cached_property
    def _found(self) -> dict[float, float]:
        return {}


class Waves:
    """A drifting function over a unit cube, some of whose coordinates may be on lattices.

    ``lengths`` are the length scales of the coordinates that matter. If there are fewer than
    coordinates, each episode draws which ones matter.

    The best value is searched for: among all lattice rows, each with 33 points a continuous
    coordinate that matters, then by 40 rounds of compass search from the 16 best of these points.

    Examples
    --------
    >>> world = Waves(Box([0.0] * 6, [1.0] * 6), [0.3, 0.3], epsilon=0.01, noise=0.01)
    >>> episode = world.episode(horizon=20, seed=0)
    >>> episode.regret(20, np.full(6, 0.5)) > 0.0
    True
    """

    def __init__(self, domain: Box, lengths: ArrayLike, epsilon: float, noise: float) -> None:
        self._domain, self._lengths = domain, as_vector(lengths, "lengths")
        if not 1 <= self.active <= domain.dimension:
            raise InputError(f"1 to {domain.dimension} lengths", f"{self.active}")
        if domain.lattices and self.active < domain.dimension:
            raise InputError(f"{domain.dimension} lengths with lattices", f"{self.active}")
        self._epsilon = as_share(epsilon, "epsilon", zero=True, one=True)
        self.noise = as_variance(noise)

    @property
    def domain(self) -> Box:
        """Points that can be measured."""
        return self._domain

    @property
    def active(self) -> int:
        """Number of coordinates that matter."""
        return len(self._lengths)

    def columns(self, seed: int) -> Indices:
        """The coordinates that matter in the episodes of a seed."""
        return np.sort(_generator(seed).permutation(self._domain.dimension)[: self.active])

    def episode(self, horizon: int, seed: int) -> BoxEpisode:
        """Draw a world of ``horizon`` steps; a longer one starts with the shorter one."""
        steps, cube = as_horizon(horizon, _WAVES), self._domain
        rng = _generator(seed, 1)
        if self.active < cube.dimension:
            cube = Box(np.zeros(self.active), np.ones(self.active))
        waves = _DriftingWaves(
            cube,
            self.columns(seed),
            rng.standard_normal((_WAVES, self.active)) / self._lengths,
            rng.uniform(0.0, 2.0 * np.pi, _WAVES),
            self._weights(rng.standard_normal((steps, _WAVES))),
        )
        return BoxEpisode(
            self._domain, waves.value, waves.best, gaussian_noise(self.noise, steps, seed)
        )

    def _weights(self, independent: Array) -> Array:
        """Turn independent draws (T, m) into weights that drift as in the paper's model."""
        rho, weights = np.sqrt(1.0 - self._epsilon), independent.copy()
        for t in range(1, len(weights)):
            weights[t] = rho * weights[t - 1] + np.sqrt(self._epsilon) * independent[t]
        return weights


def _generator(seed: int, *part: int) -> np.random.Generator:
    return np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE, *part])
