"""Results that later ones at the same place contradict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.estimation import Regime, Results, World, contradicted
from heliotrope.validation import Array
from heliotrope.warps import Logarithm

WORLD = World(
    mean=0.0,
    mean_variance=1.0,
    stays=4.0,
    drifts=0.1,
    level=0.1,
    noise=0.01,
    drift_rate=0.01,
    level_rate=0.01,
    lengths=(0.4,),
    results=20,
)


def found(x: list[float], y: list[float], world: World = WORLD) -> list[int]:
    results = Results(np.arange(float(len(x))), np.array(x)[:, None], np.array(y))
    return np.flatnonzero(~np.isnan(contradicted(Regime(results, world, 1.0)))).tolist()


def test_a_value_that_two_later_ones_contradict_is_found() -> None:
    assert found([0.1, 0.5, 0.9, 0.5, 0.51], [0.0, 5.0, 0.1, 0.2, 0.1]) == [1]


def test_a_value_is_believed_until_it_was_measured_twice_again() -> None:
    assert found([0.1, 0.5, 0.9, 0.5, 0.8], [0.0, 5.0, 0.1, 0.2, 0.1]) == []


def test_the_latest_results_are_never_doubted() -> None:
    assert found([0.1, 0.5, 0.9, 0.5, 0.51], [0.0, 0.1, 0.1, 0.2, 5.0]) == []


def test_logarithms_are_compared_in_a_logarithmic_world() -> None:
    world = replace(WORLD, warp=Logarithm(1.0, 0.1))
    assert found([0.1, 0.5, 0.9, 0.5, 0.51], [1.0, 150.0, 1.1, 1.2, 1.1], world) == [1]
    assert found([0.1, 0.5, 0.9, 0.5, 0.51], [1.0, 1.5, 1.1, 1.2, 1.1], world) == []


def test_errors_are_those_of_a_prediction_from_all_others() -> None:
    """The variance is the squared error of a GP that has not seen the value."""
    rng = np.random.default_rng(0)
    x: Array = rng.random(12)
    x[6:] = x[5] + 0.01 * rng.random(6)
    y = np.sin(3.0 * x) + 0.1 * rng.normal(size=12)
    y[5] = 6.0
    t = np.arange(12.0)
    variance = contradicted(Regime(Results(t, x[:, None], y), WORLD, 1.0))
    others = np.arange(12) != 5
    prior = WORLD.prior()
    kernels = prior.kernels_over(ht.Box(0, 1))

    def covariance(left: Array, right: Array) -> Array:
        parts = [
            kernel.block(x[left, None], x[right, None])
            * term.in_time(t[left][:, None], t[right][None, :], 0.0)
            for term, kernel in zip(prior.terms, kernels, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0))

    K = covariance(others, others) + WORLD.noise * np.eye(11)
    mean = covariance(~others, others) @ np.linalg.solve(K, y[others])
    assert np.flatnonzero(~np.isnan(variance)).tolist() == [5]
    assert variance[5] == pytest.approx((6.0 - mean[0]) ** 2)


@pytest.mark.parametrize("high", [5.0, 50.0])
def test_a_search_leaves_an_early_outlier_after_a_few_measurements(high: float) -> None:
    opt, rng = ht.Optimizer(ht.Box(0, 1), ht.auto(ht.Box(0, 1)), seed=4), np.random.default_rng(4)
    asked = []
    for i in range(40):
        s = opt.ask()
        asked.append(float(s.x[0]))
        value = -10.0 * (asked[-1] - 0.7) ** 2 + 0.1 * rng.normal()
        opt.tell(s, high if i == 4 else value)
    near = np.abs(np.array(asked[5:]) - asked[4]) < 0.05
    assert abs(asked[4] - 0.7) > 0.2
    assert near.sum() <= 6
    assert abs(opt.best().x[0] - 0.7) < 0.1
    assert opt.learner is not None
    assert opt.learner.faults(frozenset()) == {4}
