"""A function of point and time as an environment, over a Finite domain or a Box."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.stats.qmc import Sobol

from heliotrope.domains import Box, Domain, Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.episodes import Episode, Place
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.timed import (
    TimedEpisode,
    as_horizon,
    as_times,
    as_variance,
    gaussian_noise,
)
from heliotrope.validation import LARGEST, Array, as_number

Drifting: TypeAlias = Callable[[Array, float], float]

_CANDIDATES = 512
_STARTS = 4


class Function:
    """A Python function f(x, t) of one point x (d,), measured at times 1 .. T.

    Over a Finite domain the best value at a time is the maximum over all points. In a Box it is
    ``best(t)``. Without ``best`` it is searched for: by L-BFGS-B from the best few of 512 Sobol
    points, and row by row on lattices. The search can miss a narrow peak; a policy that finds the
    peak then has negative regret. ``noise`` is the variance of the measurement noise.

    f must be deterministic: its values are cached for later episodes.

    Examples
    --------
    >>> world = Function(Box(0.0, 1.0), lambda x, t: -((x[0] - 0.1 * t) ** 2))
    >>> round(world.episode(horizon=5, seed=0).regret(3, np.array([0.5])), 6)
    0.04
    """

    def __init__(
        self,
        domain: Domain,
        f: Drifting,
        noise: float = 0.0,
        best: Callable[[float], float] | None = None,
    ) -> None:
        if not isinstance(domain, (Finite, Box)):
            raise InputError("a Finite domain or a Box", repr(domain))
        if not callable(f) or not (best is None or callable(best)):
            raise InputError("functions f(x, t) and best(t)", f"{f!r} and {best!r}")
        if best is not None and isinstance(domain, Finite):
            raise InputError("best(t) only in a Box", "one over a Finite domain", "Omit it.")
        self._domain, self._f, self._given_best = domain, f, best
        self._noise = as_variance(noise)
        self._rows: list[Array] = []  # over a Finite domain: all values at times 1, 2, ...
        self._found: dict[float, float] = {}  # in a Box: the best value at a time

    @property
    def domain(self) -> Domain:
        """Points that can be measured."""
        return self._domain

    def episode(self, horizon: int, seed: int) -> Episode:
        """Return ``horizon`` steps of the function; the seed determines only the noise."""
        if isinstance(self._domain, Finite):
            steps = as_horizon(horizon, len(self._domain))
            drawn = gaussian_noise(self._noise, steps, seed)
            return FiniteEpisode(self._domain, self._table(self._domain, steps), drawn)
        drawn = gaussian_noise(self._noise, as_horizon(horizon), seed)
        return BoxEpisode(self._domain, self._value, self._best, drawn)

    def _table(self, domain: Finite, steps: int) -> Array:
        for t in range(len(self._rows) + 1, steps + 1):
            self._rows.append(np.array([self._value(x, float(t)) for x in domain.points]))
        return np.array(self._rows[:steps])

    def _value(self, x: Array, t: float) -> float:
        value = self._f(x, t)
        if isinstance(value, float) and abs(value) <= LARGEST:
            return float(value)
        return as_number(value, f"f(x, t) at x = {np.asarray(x).tolist()}, t = {t:g}")

    def _best(self, t: float) -> float:
        if t not in self._found:
            self._found[t] = self._maximum(t)
        return self._found[t]

    def _maximum(self, t: float) -> float:
        if self._given_best is not None:
            return as_number(self._given_best(t), f"best(t) at t = {t:g}")
        assert isinstance(self._domain, Box)
        return find_maximum(lambda x: self._value(x, t), self._domain)


class BoxEpisode(TimedEpisode):
    """An episode over a Box: a function, its best value, and noise (T,) at times 1 .. T."""

    def __init__(
        self, domain: Box, value: Drifting, best: Callable[[float], float], noise: Array
    ) -> None:
        super().__init__(noise, as_times(None, len(noise)))
        self._domain, self._value, self._best = domain, value, best

    @property
    def domain(self) -> Box:
        """Points that can be measured."""
        return self._domain

    def value(self, t: float, place: Place) -> float:
        """Return the true value of a point at time t."""
        time = float(self._times[self._row(t)])
        return self._value(self._domain.places(np.atleast_2d(place))[0], time)

    def best(self, t: float) -> float:
        """Return the highest value at time t."""
        return self._best(float(self._times[self._row(t)]))


def find_maximum(f: Callable[[Array], float], box: Box) -> float:
    """Search for the maximum of a function over a box and its lattices."""
    unit = Sobol(box.dimension, scramble=False).random(_CANDIDATES)
    tried = box.snap(box.scaled(unit))
    values = np.array([f(x) for x in tried])
    scale = float(np.ptp(values)) or 1.0
    starts = np.argsort(-values, kind="stable")[:_STARTS]
    ends = [_maximized(f, box, unit[i], _on_best_rows(f, box, tried[i]), scale) for i in starts]
    return float(max(values.max(), *(f(x) for x in ends)))


def _on_best_rows(f: Callable[[Array], float], box: Box, x: Array) -> Array:
    """Move a point to the best row of each lattice, one lattice after the other."""
    for lattice in box.lattices:
        moved = np.tile(x, (len(lattice.rows), 1))
        moved[:, lattice.columns] = lattice.rows
        x = moved[np.argmax([f(point) for point in moved])]
    return x


def _maximized(f: Callable[[Array], float], box: Box, unit: Array, x: Array, scale: float) -> Array:
    """Maximize over the continuous coordinates from a point."""
    free = box.continuous
    if not free.any():
        return x

    def at(coordinates: Array) -> Array:
        place = unit.copy()
        place[free] = coordinates
        return np.where(free, box.scaled(place), x)

    start, bounds = unit[free], [(0.0, 1.0)] * int(free.sum())
    found = minimize(lambda u: -f(at(u)) / scale, start, bounds=bounds, method="L-BFGS-B")
    return at(found.x)
