"""The model estimated while tracking: results, outliers, level shifts and the search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope.estimation import (
    Given,
    Model,
    OutlierBounds,
    Results,
    estimate_model,
    estimate_robustly,
    outlier_bounds,
)

# Estimates


def drifting(n: int, epsilon: float) -> Results:
    """Results at five points that share nothing, each drifting by the paper's model."""
    rng = np.random.default_rng(0)
    f, points, y = rng.standard_normal(5), rng.integers(5, size=n), np.empty(n)
    for i, point in enumerate(points):
        y[i] = f[point] + 0.1 * rng.standard_normal()
        f = np.sqrt(1.0 - epsilon) * f + np.sqrt(epsilon) * rng.standard_normal(5)
    return Results(np.arange(1.0, n + 1.0), points[:, None] / 4.0, y)


@pytest.mark.parametrize("n", [40, 250, 251, 600, 1_500])
def test_the_pace_is_that_of_all_results(n: int) -> None:
    results = drifting(n, 0.25)
    model = estimate_robustly(results, outlier_bounds(results.y), Given())
    assert model.pace == 1.0
    if n >= 250:
        assert 0.125 < model.rate < 0.5


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_noise_alone_does_not_rule_out_that_there_is_something(dimension: int) -> None:
    rng, t = np.random.default_rng(0), np.arange(1.0, 121.0)
    for _ in range(3):
        x = rng.random((len(t), dimension))
        model = estimate_model(Results(t, x, rng.standard_normal(len(t))), Given())
        assert model.length_scale < 0.21 * np.sqrt(dimension)


def test_fast_drift_is_seen_after_many_results() -> None:
    results, domain = drifting(450, 0.3), ht.Finite(np.linspace(0.0, 1.0, 5)[:, None])
    optimizer = ht.Optimizer(domain, ht.auto(domain))
    optimizer.tell_many(60.0 * results.t, results.x, results.y)
    model = optimizer.model()
    assert model.pace == 60.0
    assert 0.15 < model.rate < 0.6


def drawn(n: int, space: Any, epsilon: float, noise: float, seed: int) -> Results:
    """Results at random points, of the paper's model with mean 50 and variance 9."""
    rng = np.random.default_rng(seed)
    t, x = np.arange(1.0, n + 1.0), rng.random((n, 2))
    decay = (1.0 - epsilon) ** (0.5 * np.abs(t[:, None] - t[None, :]))
    root = np.linalg.cholesky(space(x) * decay + noise * np.eye(n))
    return Results(t, x, 50.0 + 3.0 * root @ rng.standard_normal(n))


@pytest.mark.parametrize("kernel", ["se", "matern"])
@pytest.mark.parametrize("epsilon", [0.003, 0.03])
def test_the_model_is_found(kernel: str, epsilon: float) -> None:
    """Medians of five: each logarithm has a deviation of about 0.3 to 0.5.

    No point was measured twice, so noise can hardly be told from fast drift.
    """
    space = RBF(0.2) if kernel == "se" else Matern(0.2, nu=2.5)
    found = [estimate_model(drawn(150, space, epsilon, 0.02, seed), Given()) for seed in range(5)]
    assert sum(one.kernel == kernel for one in found) >= 3
    assert np.median([one.epsilon for one in found]) == pytest.approx(epsilon, rel=0.4)
    assert np.median([one.length_scale for one in found]) == pytest.approx(0.2, rel=0.25)
    assert 0.25 < np.median([one.noise for one in found]) / (9.0 * 0.02) < 4.0
    assert np.median([one.mean for one in found]) == pytest.approx(50.0, abs=1.5)


def test_the_variance_is_hardly_exceeded() -> None:
    """The probability of an excess is 1/5; that of 9 or more in 20 cases is 0.01."""
    found = [estimate_model(drawn(30, RBF(0.2), 0.01, 0.02, seed), Given()) for seed in range(20)]
    assert sum(one.variance < 9.0 for one in found) < 9
    assert np.median([one.variance for one in found]) < 3 * 9.0


def test_what_is_given_stays() -> None:
    results = drawn(30, RBF(0.2), 0.01, 0.02, 0)
    given = Given(mean=40.0, variance=2.0, noise=0.3, kernel="se", length_scale=0.7)
    assert estimate_model(results, given, (0.02,)) == given.override(Model(rate=0.02))
    partly = estimate_model(results, Given(noise=0.3))
    assert partly.noise == 0.3


def test_learning_does_not_feel_the_unit_of_the_values() -> None:
    rng = np.random.default_rng(2)
    t, x, y = np.arange(40.0), rng.random((40, 3)), rng.normal(size=40)
    one = estimate_model(Results(t, x, y), Given())
    other = estimate_model(Results(60.0 * t, x, 7e-5 * y + 2.0), Given())
    assert other.kernel == one.kernel
    assert other.length_scale == one.length_scale
    assert other.noise == pytest.approx(7e-5**2 * one.noise, rel=1e-6)
    assert other.mean == pytest.approx(2.0 + 7e-5 * one.mean, rel=1e-9)
    assert other.rate == pytest.approx(one.rate, rel=1e-6)
    assert (one.pace, other.pace) == (1.0, 60.0)


# Selected results


def test_results_apart_are_kept() -> None:
    """Of 100 results at one point and 4 elsewhere, long ago, the latter are all kept."""
    x = np.full((110, 1), 0.5)
    x[[3, 20, 40, 60], 0] = [0.0, 1.0, 0.2, 0.8]
    chosen = Results(np.arange(110.0), x, np.zeros(110)).select(latest=10, apart=12)
    assert len(chosen) == 22
    assert chosen[12:].tolist() == list(range(100, 110))
    assert {3, 20, 40, 60} <= set(chosen.tolist())
    assert np.all(np.diff(chosen) > 0)


def test_estimates_use_the_latest_and_some_distant_results() -> None:
    rng = np.random.default_rng(3)
    x = np.vstack([rng.random((20, 1)), np.full((400, 1), 0.5), rng.random((150, 1))])
    results = Results(np.arange(570.0), x, np.zeros(570))
    chosen = results.informative()
    assert len(chosen.y) == 250
    assert chosen.t[100:].tolist() == list(range(420, 570))
    assert np.all(np.diff(chosen.t) > 0.0)
    assert np.sum(chosen.t < 20.0) >= 15  # nearly all of those, of the 400 equal ones a fifth
    few = Results(np.arange(7.0), x[:7], np.zeros(7))
    assert few.informative().t.tolist() == few.t.tolist()


# Models


def test_a_model_converts_its_drift_to_units_of_time() -> None:
    assert Model(pace=1.0, rate=0.02).epsilon == pytest.approx(0.02)
    assert Model(pace=0.5, rate=0.02).epsilon == pytest.approx(1.0 - 0.98**2)


def test_a_model_of_the_first_version_is_read() -> None:
    data = Model().to_json()
    del data["low"], data["high"]
    assert Model.from_json(data) == Model()
    assert Model(low=-1.0, high=3.0).outlier_bounds(-1.0) == OutlierBounds(-3.0, 1.0)


# Outliers and level shifts


def test_outliers_are_few_and_far_off() -> None:
    usual = np.sin(np.arange(40.0))
    assert outlier_bounds(usual) == OutlierBounds()
    assert outlier_bounds(np.append(usual, 5.0)) == OutlierBounds()
    assert outlier_bounds(np.append(usual, [1e3, -1e9])) == OutlierBounds(usual.min(), usual.max())
    assert outlier_bounds(np.append(usual, [1e3, 2e3])) == OutlierBounds()  # a peak met twice
    assert outlier_bounds(np.append(np.zeros(20), 1.0)) == OutlierBounds()  # the first non-zero
    assert outlier_bounds(np.append(usual[:6], 1e3)) == OutlierBounds()  # too few to tell


def test_one_outlier_does_not_make_every_record_one() -> None:
    rng = np.random.default_rng(0)
    values = np.append(0.2 * np.arange(40) + 0.1 * rng.standard_normal(40), 1e6)
    found = outlier_bounds(values)
    assert found.suit(values)
    assert found.suit(np.append(values, 8.5))
    assert not found.suit(np.append(values, -1e6))
    assert not found.suit(np.append(values, np.linspace(8.0, 14.0, 9)))
    assert not outlier_bounds(values[:-1]).suit(values)
