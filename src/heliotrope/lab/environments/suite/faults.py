"""Worlds whose measurements fail at some steps. The true function is not affected."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from heliotrope.domains import Finite
from heliotrope.lab.environments.finite import MeasuredEpisode
from heliotrope.lab.environments.gp_drift import GPDrift
from heliotrope.validation import Array, as_whole

StandIns: TypeAlias = Callable[[int, np.random.Generator], Array]
"""Draws what is measured in place of the truth at each of some steps, (T,); NaN without a fault."""

_PURPOSE = 6
_SPIKE_SHARE = 0.1
_SPIKES = (3.0, 100.0)  # least and greatest size, in deviations of the values
_BETWEEN_OUTAGES = 50.0  # mean number of steps
_LONGEST_OUTAGE = 30  # steps
_OUTAGE = 10.0  # distance of the stand-in from the mean, in deviations of the values


class Faulty:
    """A drifting Gaussian process. At a fault the result is a stand-in, whatever the place.

    Stand-ins are in units of the values: the prior has mean 0 and variance 1.

    Examples
    --------
    >>> import heliotrope as ht
    >>> world = Faulty(GPDrift(ht.grid(9), ht.Prior(time=ht.Forgetting(0.01))), outages)
    >>> episode = world.episode(horizon=100, seed=0)
    >>> sum(episode.measure(t, 4) in (-10.0, 10.0) for t in episode.times)
    10
    """

    def __init__(self, world: GPDrift, stand_ins: StandIns) -> None:
        self._world, self._stand_ins = world, stand_ins
        self.noise = world.noise

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._world.domain

    def episode(self, horizon: int, seed: int) -> MeasuredEpisode:
        """Draw a world of ``horizon`` steps: the world's own episode and its faults."""
        clean = self._world.episode(horizon, seed)
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE])
        told = self._stand_ins(clean.horizon, rng)[:, None]
        measured = np.where(np.isnan(told), clean.values + clean.noises[:, None], told)
        return MeasuredEpisode(self.domain, clean.values, clean.noises, measured)


def spikes(steps: int, rng: np.random.Generator) -> Array:
    """Outliers in 10 % of the steps: 3 to 100 deviations, uniform in the logarithm, either sign."""
    hit, (least, most) = rng.random(steps) < _SPIKE_SHARE, _SPIKES
    size = least * (most / least) ** rng.random(steps)
    return np.where(hit, size * rng.choice([-1.0, 1.0], steps), np.nan)


def outages(steps: int, rng: np.random.Generator) -> Array:
    """Runs of 1 to 30 steps with one constant each, 10 deviations above or below the mean.

    A run starts at a step outside others with probability 1/50.
    """
    told, step = np.full(steps, np.nan), int(rng.geometric(1.0 / _BETWEEN_OUTAGES))
    while step < steps:
        end = step + int(rng.integers(1, _LONGEST_OUTAGE + 1))
        told[step:end] = rng.choice([-_OUTAGE, _OUTAGE])
        step = end + int(rng.geometric(1.0 / _BETWEEN_OUTAGES))
    return told
