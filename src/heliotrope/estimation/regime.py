"""Results and the world that describes them: residuals and covariances."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from heliotrope.estimation.results import Results
from heliotrope.estimation.world import World, decay
from heliotrope.priors import noise_floor
from heliotrope.validation import Array


class Residuals(NamedTuple):
    """Residuals of results under a world, and their covariance.

    Warped values less their mean (n,), the slope of the warp (n,), covariances (n, n), and the
    correlations of the places (n, n).
    """

    r: Array
    slope: Array
    K: Array
    correlations: Array


class Regime(NamedTuple):
    """Results, and the world that they are assumed to come from.

    ``pace`` is the time between two results, the world's unit of time.
    """

    results: Results
    world: World
    pace: float

    def latest(self, count: int) -> Regime:
        """The same with the latest results only."""
        return self._replace(results=self.results.at(slice(-count, None)))

    def until(self, t: float) -> Regime:
        """The same on a clock of its own, which stood still since its last result until t."""
        if self.world.period:
            return self
        later = t - self.pace - self.results.t[-1]
        return self._replace(results=replace(self.results, t=self.results.t + later))

    def residuals(self) -> Residuals:
        y, warp = self.results.y, self.world.warp
        slope = warp.slope(y)
        correlations = self.world.shape(self.results.x)
        K = self._covariance(slope, correlations)
        return Residuals(warp.inside(y) - self.world.mean, slope, K, correlations)

    def _covariance(self, slope: Array, near: Array) -> Array:
        """The covariance of :meth:`World.prior`, with its negligible terms and a least noise.

        The prior's kernels would take ten times as long.
        """
        world, t = self.world, self.results.t / self.pace
        lags = np.abs(t[:, None] - t[None, :])
        K = near * (world.stays + world.drifts * decay(world.drift_rate, lags))
        K += world.level * decay(world.level_rate, lags) + world.mean_variance
        if world.period:
            season = world.in_season(lags)
            K += (world.season * near + world.shared_season) * season
        own, repeats = self.results.noise.T
        variances = np.where(np.isnan(own), world.noise / repeats, own * slope**2)
        K.flat[:: len(K) + 1] += np.maximum(variances, noise_floor(world.variance))
        return K
