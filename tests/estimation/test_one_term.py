"""The world of one term, estimated while tracking: held parameters, kernels, and the search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope.estimation import Model, OneTerm, Results, World, estimate_model

# Estimates


def estimated(results: Results, structure: OneTerm | None = None) -> Model:
    """The model of one term, whose coordinates share a length scale."""
    groups = [list(range(results.x.shape[1]))]
    return estimate_model(results, groups, structure=structure or OneTerm())


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
    model = estimated(results)
    assert model.pace == 1.0
    if n >= 250:
        assert 0.125 < model.rate < 0.5


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_noise_alone_does_not_rule_out_that_there_is_something(dimension: int) -> None:
    rng, t = np.random.default_rng(0), np.arange(1.0, 121.0)
    for _ in range(3):
        x = rng.random((len(t), dimension))
        model = estimated(Results(t, x, rng.standard_normal(len(t))))
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
    found = [estimated(drawn(150, space, epsilon, 0.02, seed)) for seed in range(5)]
    assert sum(one.kernel == kernel for one in found) >= 3
    assert np.median([one.epsilon for one in found]) == pytest.approx(epsilon, rel=0.4)
    assert np.median([one.length_scale for one in found]) == pytest.approx(0.2, rel=0.25)
    assert 0.25 < np.median([one.noise for one in found]) / (9.0 * 0.02) < 4.0
    assert np.median([one.mean for one in found]) == pytest.approx(50.0, abs=1.5)


def test_the_variance_is_hardly_exceeded() -> None:
    """The probability of an excess is 0.35; that of 13 or more in 20 cases is 0.006."""
    found = [estimated(drawn(30, RBF(0.2), 0.01, 0.02, seed)) for seed in range(20)]
    assert sum(one.variance < 9.0 for one in found) < 13
    assert np.median([one.variance for one in found]) < 3 * 9.0


def test_what_is_given_stays() -> None:
    results = drawn(30, RBF(0.2), 0.01, 0.02, 0)
    held = OneTerm(40.0, 2.0, 0.3, "se", 0.7, epsilon=0.02)
    world = estimated(results, held).world
    assert (world.mean, world.drifts, world.noise) == (40.0, 2.0, 0.3)
    assert (world.kernel, world.lengths) == ("se", (0.7, 0.7))
    assert world.drift_rate == pytest.approx(0.02, rel=1e-12)
    assert world.is_one_term
    assert estimated(results, OneTerm(noise=0.3)).noise == 0.3


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_a_drift_at_the_end_of_its_range_is_held(epsilon: float) -> None:
    world = estimated(drawn(30, RBF(0.2), 0.01, 0.02, 0), OneTerm(epsilon=epsilon)).world
    assert world.drift_rate == epsilon
    assert World.from_json(world.to_json()) == world


def test_options_that_share_nothing_have_a_length_of_their_own() -> None:
    """Three options in two contexts: only the contexts have a length that is estimated."""
    rng, n = np.random.default_rng(0), 40
    x = np.column_stack([np.eye(3)[rng.integers(3, size=n)], rng.random(n)])
    results = Results(np.arange(1.0, n + 1.0), x, rng.standard_normal(n))
    structure = OneTerm(independent=3)
    world = estimate_model(results, [[0, 1, 2], [3]], structure=structure).world
    assert world.lengths[:3] == (1e-3, 1e-3, 1e-3)
    assert world.lengths[3] > 0.01


def test_learning_does_not_feel_the_unit_of_the_values() -> None:
    rng = np.random.default_rng(2)
    t, x, y = np.arange(40.0), rng.random((40, 3)), rng.normal(size=40)
    one = estimated(Results(t, x, y))
    other = estimated(Results(60.0 * t, x, 7e-5 * y + 2.0))
    assert other.kernel == one.kernel
    assert other.length_scale == pytest.approx(one.length_scale, rel=1e-6)
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
    world = World.of_one_term(0.0, 1.0, 0.1, 0.02, (0.3,))
    assert Model(world, pace=1.0).epsilon == pytest.approx(0.02)
    assert Model(world, pace=0.5).epsilon == pytest.approx(1.0 - 0.98**2)


def test_a_model_is_read_from_its_json() -> None:
    model = estimated(drawn(30, RBF(0.2), 0.01, 0.02, 0))
    assert Model.from_json(model.to_json()) == model
    assert Model.from_json(Model().to_json()) == Model()
