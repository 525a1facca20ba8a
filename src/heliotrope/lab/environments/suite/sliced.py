"""A test function whose last coordinate is time, which runs through its range once."""

from functools import lru_cache

import numpy as np
from scipy.stats.qmc import Sobol

from heliotrope.domains import Box
from heliotrope.errors import InputError
from heliotrope.lab.environments.function import BoxEpisode
from heliotrope.lab.environments.suite.functions import FUNCTIONS, TestFunction
from heliotrope.lab.environments.suite.search import compass, compass_search
from heliotrope.lab.environments.timed import as_horizon, gaussian_noise
from heliotrope.validation import Array

_NOISE_SHARE = 0.05  # of the variance over the whole domain, as in W-DBO's comparison
_CANDIDATES = 2**13
_STARTS = 16
_ROUNDS = 120


class Sliced:
    """The test function ``name``, measured at times 1 .. T as its last coordinate increases.

    The best value of each slice is searched for: among 8,192 Sobol points, then by 120 rounds of
    compass search from the 16 best of them and from the best points of both neighbouring slices.
    The search starts with a step of 1/20 of the cube's width and halves it where it finds nothing
    better.

    Examples
    --------
    >>> world = Sliced("hartmann-3")
    >>> world.domain.dimension, round(world.episode(horizon=50, seed=0).best(43), 2)
    (2, 3.86)
    """

    def __init__(self, name: str) -> None:
        if name not in FUNCTIONS:
            raise InputError(f"one of {', '.join(FUNCTIONS)}", repr(name))
        self._name, self._function = name, FUNCTIONS[name]
        low, high = self._function.range
        rest = self._function.dimension - 1
        self._domain = Box(np.full(rest, low), np.full(rest, high))
        self.noise = _NOISE_SHARE * _variance(name)

    @property
    def domain(self) -> Box:
        """Points that can be measured."""
        return self._domain

    def episode(self, horizon: int, seed: int) -> BoxEpisode:
        """Return the function in ``horizon`` slices; the seed determines only the noise."""
        steps = as_horizon(horizon)
        slices, f = np.linspace(*self._function.range, steps), self._function.value

        def value(x: Array, t: float) -> float:
            return float(f(np.append(x, slices[int(t) - 1])))

        return BoxEpisode(
            self._domain,
            value,
            lambda t: float(slice_maxima(self._name, steps)[int(t) - 1]),
            gaussian_noise(self.noise, steps, seed),
        )


@lru_cache(maxsize=64)
def slice_maxima(name: str, steps: int) -> Array:
    """The maximum of each slice, (steps,)."""
    function = FUNCTIONS[name]
    cube, times = _sobol(function.dimension - 1), np.linspace(0.0, 1.0, steps)
    values = np.stack([_at(function, cube, np.full(len(cube), t)) for t in times])
    best = np.argpartition(-values, _STARTS, axis=1)[:, :_STARTS]
    points, maxima = _searched(function, cube[best], times)
    leaders = points[np.arange(steps), maxima.argmax(axis=1)]
    again = np.stack([np.roll(leaders, 1, axis=0), np.roll(leaders, -1, axis=0)], axis=1)
    result: Array = np.maximum(maxima.max(axis=1), _searched(function, again, times)[1].max(axis=1))
    result.flags.writeable = False
    return result


def _searched(function: TestFunction, points: Array, times: Array) -> tuple[Array, Array]:
    """Search each slice from unit points (T, n, d): the final points and their values."""

    def values(tried: Array) -> Array:
        when = times.reshape(-1, *[1] * (tried.ndim - 2))
        return _at(function, tried, np.broadcast_to(when, tried.shape[:-1]))

    return compass_search(values, points, compass(points.shape[-1]), _ROUNDS)


def _at(function: TestFunction, unit: Array, times: Array) -> Array:
    """Values at unit points (..., d) and unit times (...)."""
    low, high = function.range
    return function.value(low + (high - low) * np.concatenate([unit, times[..., None]], axis=-1))


def _sobol(dimension: int) -> Array:
    points: Array = Sobol(dimension, scramble=False).random(_CANDIDATES)
    return points


@lru_cache(maxsize=64)
def _variance(name: str) -> float:
    function = FUNCTIONS[name]
    points = _sobol(function.dimension)
    return float(_at(function, points[:, :-1], points[:, -1]).var())
