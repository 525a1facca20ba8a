"""What a world says of results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.estimation import Regime, Results, World
from heliotrope.warps import IDENTITY, Logarithm, Warp

WORLD = World(
    mean=0.5,
    mean_variance=2.0,
    stays=0.5,
    drifts=0.7,
    level=0.3,
    noise=0.02,
    drift_rate=0.01,
    level_rate=0.2,
    lengths=(0.2, 0.6),
    results=40,
)
SEASONAL = replace(WORLD, period=12.0, season=0.4, shared_season=0.6)


@pytest.mark.parametrize("world", [WORLD, SEASONAL], ids=["plain", "seasonal"])
@pytest.mark.parametrize("warp", [IDENTITY, Logarithm(1.0, 1e-9)], ids=["as is", "logarithm"])
def test_the_covariance_is_that_of_the_prior(world: World, warp: Warp) -> None:
    rng, world = np.random.default_rng(0), replace(world, warp=warp)
    t, x, y = np.cumsum(rng.random(20)) * 3.0, rng.random((20, 2)), rng.uniform(0.5, 2.0, 20)
    noise = np.column_stack([np.full(20, np.nan), np.ones(20)])
    noise[3] = [0.3, 1.0]
    noise[5, 1] = 4.0
    found = Regime(Results(t, x, y, noise), world, pace=3.0).residuals()
    slope = warp.slope(y)
    own = np.full(20, world.noise)
    own[3], own[5] = 0.3 * slope[3] ** 2, world.noise / 4.0
    prior, lags = world.prior(), t[:, None] / 3.0
    kernels = prior.kernels_over(ht.Box([0.0, 0.0], [1.0, 1.0]))
    parts = [
        kernel.block(x, x) * term.in_time(lags, lags.T)
        for term, kernel in zip(prior.terms, kernels, strict=True)
    ]
    np.testing.assert_allclose(found.K, np.sum(parts, axis=0) + np.diag(own), rtol=1e-9)
    np.testing.assert_allclose(found.r, warp.inside(y) - 0.5)
    np.testing.assert_allclose(found.slope, slope)


def test_the_latest_results_are_the_last_ones() -> None:
    results = Results(np.arange(5.0), np.zeros((5, 2)), np.arange(5.0))
    assert Regime(results, WORLD, 1.0).latest(2).results.y.tolist() == [3.0, 4.0]
