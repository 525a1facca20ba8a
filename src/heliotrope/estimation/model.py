"""The model of a metric: its world, and the usual time between two results.

Values come in any unit, so the world is estimated from the results, at certain counts of
them. A study logs each new model as an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from heliotrope.estimation.results import Results
from heliotrope.estimation.world import KernelName, World, per_result, per_unit
from heliotrope.priors import CANDIDATE_EPSILONS, Forgetting, Prior, noise_floor
from heliotrope.validation import as_positive

# without an estimate; its noise is a share of the variance
_PLAIN = World.of_one_term(mean=0.0, variance=1.0, noise=0.1, rate=0.01, lengths=(0.3,))
_OFTEN, _RARELY = 4_012, 1_000  # up to the first count, a quarter more is less than the second
_EARLY = [1]  # counts of results after which to estimate again
while _EARLY[-1] < _OFTEN:
    _EARLY.append(ceil((1.5 if _EARLY[-1] < 140 else 1.25) * _EARLY[-1]))


@dataclass(frozen=True)
class Model:
    """The ``world`` that a metric's values come from, and ``pace``, the time between two results.

    ``mean``, ``variance`` and ``noise`` are in the unit of the values, near their mean;
    ``variance`` is that of what differs between places. ``length_scale`` is the geometric mean of
    those of the coordinates of the unit cube. ``rate`` is the drift between two results,
    ``epsilon`` that per unit of time.
    """

    world: World = _PLAIN
    pace: float = 1.0

    @classmethod
    def plain(cls, results: Results) -> Model:
        """The model of results without an estimate: their mean and spread, and a tenth of noise."""
        mean, variance = float(np.mean(results.precise)), results.spread**2
        return cls._plain(mean, variance, results.pace)

    @classmethod
    def _plain(cls, mean: float, variance: float, pace: float) -> Model:
        noise, rate, lengths = variance * _PLAIN.noise, _PLAIN.drift_rate, _PLAIN.lengths
        return cls(World.of_one_term(mean, variance, noise, rate, lengths), pace)

    @property
    def is_plain(self) -> bool:
        """Whether it was made without an estimate."""
        return self == Model._plain(self.world.mean, self.world.drifts, self.pace)

    @property
    def estimate(self) -> World | None:
        """The world; None if it was made without an estimate."""
        return None if self.is_plain else self.world

    @property
    def is_finite(self) -> bool:
        """Whether all its numbers are finite."""
        return bool(np.isfinite(_numbers(self.to_json())).all())

    @property
    def mean(self) -> float:
        return float(self.world.warp.outside(self.world.mean))

    @property
    def variance(self) -> float:
        return self._squared_unit * (self.world.stays + self.world.drifts)

    @property
    def noise(self) -> float:
        return self._squared_unit * self.world.noise

    @property
    def _squared_unit(self) -> float:
        """The factor of variances of warped values that gives those of values, near the mean."""
        return float(self.world.warp.slope(self.mean)) ** -2

    @property
    def kernel(self) -> KernelName:
        return self.world.kernel

    @property
    def length_scale(self) -> float:
        return float(np.exp(np.mean(np.log(self.world.lengths))))

    @property
    def rate(self) -> float:
        return self.world.drift_rate

    @property
    def epsilon(self) -> float:
        return self.per_unit(self.rate)

    def with_mean(self, mean: float) -> Model:
        """The model of values around another mean."""
        return replace(self, world=self.world.with_mean(mean))

    def signed(self, sign: float) -> Model:
        """The model of the values times a sign."""
        return self if sign > 0.0 else replace(self, world=self.world.negated())

    def prior(self, epsilon: float) -> Prior:
        """The prior of one term that drifts by ``epsilon`` per unit of time."""
        noise = max(self.noise, noise_floor(self.variance))
        return Prior(self.variance * self.world.shape, Forgetting(epsilon), noise, self.mean)

    def shares(self) -> dict[str, float]:
        """The share of each part, and of the noise, in the variance of a result."""
        return self.world.shares()

    def epsilons(self) -> Sequence[float]:
        """Candidates for the drift per unit of time: the usual ones for one result each."""
        return sorted({self.per_unit(rate) for rate in CANDIDATE_EPSILONS})

    def per_unit(self, rate: float) -> float:
        """The drift per unit of time, from the drift between two results."""
        return per_unit(rate, self.pace)

    def per_result(self, epsilon: float) -> float:
        """The drift between two results, from the drift per unit of time."""
        return per_result(epsilon, self.pace)

    def to_json(self) -> dict[str, Any]:
        """The model as JSON; the numbers beside its world and pace are for people."""
        numbers = {name: getattr(self, name) for name in _SHOWN}
        return {**numbers, "pace": self.pace, "world": self.world.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Read the output of :meth:`to_json`."""
        return cls(World.from_json(data["world"]), as_positive(data["pace"], "pace"))


_SHOWN = ("mean", "variance", "noise", "kernel", "length_scale", "rate")


def _numbers(data: Any) -> list[float]:
    """The numbers in JSON."""
    if isinstance(data, Mapping):
        return [number for value in data.values() for number in _numbers(value)]
    if isinstance(data, list):
        return [number for value in data for number in _numbers(value)]
    return [data] if isinstance(data, (int, float)) else []


def is_estimate_due(told: int) -> bool:
    """Whether to estimate the model again after this many results.

    The count grows by half each time, from 140 on by a quarter, and by at most 1,000.

    Examples
    --------
    >>> [n for n in range(1000) if is_estimate_due(n)]
    [1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93, 140, 175, 219, 274, 343, 429, 537, 672, 840]
    """
    return told in _EARLY if told <= _OFTEN else (told - _OFTEN) % _RARELY == 0
