"""The world of one term, estimated from results with their own noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

import heliotrope as ht
from heliotrope.estimation import Model, OneTerm, Results, estimate_model, usual_noise
from heliotrope.validation import Array

N = 200
NOISE = 0.04  # variance of usual results


def world(seed: int) -> tuple[Array, Array, Array]:
    """Times, points and values of the paper's model: Matern 5/2 of length 0.3, epsilon 0.02."""
    rng = np.random.default_rng(seed)
    t, x = np.arange(1.0, N + 1.0), rng.random((N, 2))
    lags = np.abs(t[:, None] - t[None, :])
    C = Matern(0.3, nu=2.5)(x) * 0.98 ** (0.5 * lags) + 1e-10 * np.eye(N)
    return t, x, np.linalg.cholesky(C) @ rng.standard_normal(N)


def with_noise(seed: int, variance: Array, noise: Array) -> Results:
    """Results with these true noise variances, told as ``noise``."""
    t, x, f = world(seed)
    rng = np.random.default_rng([seed, 1])
    return Results(t, x, f + np.sqrt(variance) * rng.standard_normal(N), noise)


def estimated(results: Results, structure: OneTerm | None = None) -> Model:
    """The model of one term, whose coordinates share a length scale."""
    return estimate_model(results, [[0, 1]], structure=structure or OneTerm())


def logs(model: Model) -> Array:
    values = [model.variance, model.noise, model.length_scale, model.rate]
    return np.log(values)


def test_what_is_told_may_be_left_out() -> None:
    """A known noise that is the usual one gives the estimate of the usual one."""
    results = with_noise(0, np.full(N, NOISE), usual_noise(N))
    held = OneTerm(noise=NOISE, variance=1.0, length_scale=0.3, epsilon=0.02)
    told = replace(results, noise=np.tile([NOISE, 1.0], (N, 1)))
    one, other = (estimated(each, held) for each in (results, told))
    assert one.mean == pytest.approx(other.mean, rel=1e-9)
    free = replace(held, variance=None)
    one, other = (estimated(each, free) for each in (results, told))
    assert logs(one) == pytest.approx(logs(other), abs=0.25)


def test_the_noise_of_one_repeat_is_found_from_means_of_many() -> None:
    errors, ignored = [], []
    for seed in range(4):
        repeats = np.random.default_rng([seed, 2]).integers(1, 20, N).astype(float)
        noise = np.column_stack([np.full(N, np.nan), repeats])
        results = with_noise(seed, 0.5 / repeats, noise)
        errors.append(np.log(estimated(results).noise / 0.5))
        silent = replace(results, noise=usual_noise(N))
        ignored.append(np.log(estimated(silent).noise / 0.5))
    assert np.abs(errors).mean() < 0.35
    assert np.mean(ignored) < -1.0  # it takes the means for single results


@pytest.mark.parametrize("ratio", [10.0, 100.0])
def test_results_of_mixed_precision_give_a_better_model(ratio: float) -> None:
    """Half of the results have a standard error that is ``ratio`` times the others'."""
    told, silent = list[float](), list[float]()
    truth = np.log([1.0, 0.3])
    for seed in range(6):
        coarse = np.random.default_rng([seed, 3]).random(N) < 0.5
        variance = np.where(coarse, ratio**2 * NOISE, NOISE)
        results = with_noise(seed, variance, np.column_stack([variance, np.ones(N)]))
        for errors, some in ((told, results), (silent, replace(results, noise=usual_noise(N)))):
            model = estimated(some)
            errors.append(np.abs(np.log([model.variance, model.length_scale]) - truth).sum())
    difference = np.array(silent) - np.array(told)
    assert difference.mean() > 2.0 * difference.std(ddof=1) / np.sqrt(len(difference))


@pytest.mark.parametrize("std", [1e2, 1e6, 1e30])
def test_results_that_say_nothing_change_little(std: float) -> None:
    """A quarter of the results is nothing but noise, and said to be."""
    for seed in range(3):
        nothing = np.arange(N) % 4 == 1
        usual = with_noise(seed, np.full(N, NOISE), usual_noise(N))
        y = np.where(nothing, std * np.random.default_rng(seed).standard_normal(N), usual.y)
        noise = np.where(nothing[:, None], [std**2, 1.0], usual_noise(N))
        whole = estimated(Results(usual.t, usual.x, y, noise))
        rest = estimated(replace(usual, noise=usual_noise(N)).at(~nothing))
        difference = logs(whole) - logs(rest)
        assert np.abs(difference[[0, 2]]).max() < 0.4
        assert abs(difference[1]) < 0.8


def test_estimates_do_not_feel_the_unit_of_the_values() -> None:
    rng = np.random.default_rng(4)
    variance = NOISE * 10.0 ** rng.uniform(-1.0, 2.0, N)
    one = with_noise(0, variance, np.column_stack([variance, np.ones(N)]))
    for unit in (1e-30, 7e-5, 1e30):
        other = replace(one, y=unit * one.y + 3.0 * unit, noise=one.noise * [unit**2, 1.0])
        first, second = estimated(one), estimated(other)
        assert second.variance == pytest.approx(unit**2 * first.variance, rel=1e-3)
        assert second.length_scale == pytest.approx(first.length_scale, rel=1e-3)


def test_cautious_values_lie_within_three_errors_of_the_told_ones() -> None:
    y = np.array([1.0, 2.0, 3.0, 40.0, -7.0, 1e9])
    noise = np.array([[np.nan, 1], [np.nan, 3], [0.01, 1], [25.0, 1], [100.0, 1], [1e20, 1]])
    found = Results(np.arange(6.0), np.zeros((6, 1)), y, noise).cautious
    np.testing.assert_allclose(found, [1.0, 2.0, 2.7, 25.0, 2.5, 2.5])


def test_imprecise_results_are_no_level_shift() -> None:
    """Twelve results with a huge error, all on one side: nothing else is forgotten."""
    domain = ht.grid(6, 6)
    optimizer, usual = (ht.Optimizer(domain, ht.auto(domain), seed=0) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(40):
        s = optimizer.ask()
        y = -float(((s.x - 0.4) ** 2).sum()) + 0.01 * rng.normal()
        optimizer.tell(s, y)
        usual.tell(usual.begin(s.x), y)
    best = optimizer.best()
    for _ in range(12):
        optimizer.tell(optimizer.ask(), 500.0 + 100.0 * rng.random(), std=1000.0)
    later = optimizer.best()
    assert np.abs(later.x - best.x).max() <= 0.2
    assert later.mean == pytest.approx(best.mean, abs=0.1)
    for _ in range(12):  # without their errors they are a new level
        usual.tell(usual.ask(), 500.0 + 100.0 * rng.random())
    assert usual.best().mean > 400.0
