"""Gaussian-process environments that jump or repeat instead of drifting steadily."""

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.gp_drift import GPDrift
from heliotrope.lab.environments.timed import as_horizon, gaussian_noise
from heliotrope.priors import Prior, Static
from heliotrope.validation import Array, as_positive, as_whole

_JUMPS, _PARTS = 2, 3  # separate random streams


class Jumps:
    """The prior's drift, with jumps to an independent function.

    At each step after the first, a jump happens with probability 1 / ``every``.

    Examples
    --------
    >>> import heliotrope as ht
    >>> world = Jumps(ht.grid(9), ht.Prior(time=ht.Static()), every=10)
    >>> np.unique(world.episode(horizon=40, seed=1).values[:, 0]).size
    7
    """

    def __init__(self, domain: Finite, prior: Prior, every: float) -> None:
        self._steady, self.noise = GPDrift(domain, prior), prior.noise
        self._every = as_positive(every, "every")
        if self._every < 1.0:
            raise InputError("every, the steps between jumps, of at least 1", f"{every:g}")

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._steady.domain

    def episode(self, horizon: int, seed: int) -> FiniteEpisode:
        """Draw a world of ``horizon`` steps: independent segments of steady drift."""
        steps = as_horizon(horizon, len(self.domain))
        rng = _generator(seed, _JUMPS, steps)
        starts = np.flatnonzero(rng.random(steps - 1) < 1.0 / self._every) + 1
        lengths = np.diff([0, *starts.tolist(), steps])
        seeds = rng.integers(2**31, size=len(lengths)).tolist()
        segments = [
            self._steady.episode(int(length), one).values
            for length, one in zip(lengths, seeds, strict=True)
        ]
        return FiniteEpisode(
            self.domain, np.concatenate(segments), gaussian_noise(self.noise, steps, seed)
        )


class Periodic:
    """A periodic function: f_t = (g_0 + sqrt(2) cos(a t) g_1 + sqrt(2) sin(a t) g_2) / 3^½.

    g_0, g_1, g_2 are independent draws of the prior in space, and a = 2 pi / ``period``. f_t has
    the prior's variance at every time.

    Examples
    --------
    >>> import heliotrope as ht
    >>> values = Periodic(ht.grid(9), ht.Prior(), period=10).episode(horizon=20, seed=0).values
    >>> np.allclose(values[:10], values[10:])
    True
    """

    def __init__(self, domain: Finite, prior: Prior, period: float) -> None:
        self._parts, self.noise = GPDrift(domain, prior.with_time(Static())), prior.noise
        self._mean = prior.mean_at(domain.indices)
        self._period = as_positive(period, "period")

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._parts.domain

    def episode(self, horizon: int, seed: int) -> FiniteEpisode:
        """Draw a world of ``horizon`` steps; a longer one starts with the shorter one."""
        steps = as_horizon(horizon, len(self.domain))
        seeds = _generator(seed, _PARTS).integers(2**31, size=3).tolist()
        g = np.stack([self._parts.episode(1, one).values[0] for one in seeds]) - self._mean
        values = self._weights(steps) @ g + self._mean
        return FiniteEpisode(self.domain, values, gaussian_noise(self.noise, steps, seed))

    def _weights(self, steps: int) -> Array:
        """Weights (T, 3) of g_0, g_1 and g_2."""
        angle = 2.0 * np.pi * np.arange(1.0, steps + 1.0) / self._period
        parts = [np.ones(steps), np.sqrt(2.0) * np.cos(angle), np.sqrt(2.0) * np.sin(angle)]
        weights: Array = np.column_stack(parts) / np.sqrt(3.0)
        return weights


def _generator(seed: int, *purpose: int) -> np.random.Generator:
    return np.random.default_rng([as_whole(seed, "seed", least=0), *purpose])
