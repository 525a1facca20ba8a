"""Results of one world, seen as that world describes them."""

from __future__ import annotations

from math import log1p
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from heliotrope.estimation.results import Results
from heliotrope.estimation.world import World
from heliotrope.validation import Array

_LEAST_NOISE = 1e-6  # share of the variance, so that a covariance can be inverted


class Residuals(NamedTuple):
    """What a world says of results.

    Warped values less their mean (n,), the slope of the warp (n,), covariances (n, n), and the
    correlations of the places (n, n).
    """

    r: Array
    slope: Array
    K: Array
    near: Array


class Regime(NamedTuple):
    """Results, and the world that they were taken to come from; times are divided by the pace."""

    results: Results
    world: World
    pace: float

    def latest(self, count: int) -> Regime:
        """The same with the latest results only."""
        return self._replace(results=self.results.at(slice(-count, None)))

    def residuals(self) -> Residuals:
        y, warp = self.results.y, self.world.warp
        slope = warp.slope(y)
        near = Matern(self.world.lengths, nu=2.5)(self.results.x)
        return Residuals(
            warp.inside(y) - self.world.mean, slope, self._covariance(slope, near), near
        )

    def _covariance(self, slope: Array, near: Array) -> Array:
        """The covariance of :meth:`World.prior`; its kernels would take ten times as long."""
        world, t = self.world, self.results.t / self.pace
        lags = np.abs(t[:, None] - t[None, :])
        drifts, level = (
            np.exp(0.5 * log1p(-one) * lags) for one in (world.drift_rate, world.level_rate)
        )
        K = near * (world.stays + world.drifts * drifts) + world.level * level + world.mean_variance
        if world.period:
            season = world.in_season(lags)
            K += (world.season * near + world.shared_season) * season
        own, repeats = self.results.noise.T
        variances = np.where(np.isnan(own), world.noise / repeats, own * slope**2)
        K.flat[:: len(K) + 1] += np.maximum(variances, _LEAST_NOISE * world.deviation**2)
        return K
