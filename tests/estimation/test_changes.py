"""Faults, jumps, returns and denied results, weighed by their evidence."""

from __future__ import annotations

from dataclasses import replace
from math import log, pi

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import multivariate_normal

import heliotrope as ht
from heliotrope.estimation import (
    Change,
    Regime,
    Results,
    World,
    contradicted,
    follows,
    is_placeholder,
    latest_change,
    surprising,
)
from heliotrope.estimation.changes import _filtered, _Values
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, Logarithm, Warp

WORLD = World(
    mean=0.0,
    mean_variance=1.0,
    stays=0.5,
    drifts=0.5,
    level=0.1,
    noise=0.01,
    drift_rate=0.01,
    level_rate=0.01,
    lengths=(0.2,),
    results=40,
)
PLACES = (0.1, 0.9, 0.5, 0.3, 0.7)


def regime(y: Array, x: Array | None = None, world: World = WORLD, start: float = 0.0) -> Regime:
    places = np.resize(PLACES, len(y)) if x is None else x
    return Regime(Results(start + np.arange(float(len(y))), places[:, None], y), world, 1.0)


def usual(count: int, seed: int = 0, world: World = WORLD) -> Array:
    """Values that the world may have at the places, one after the other."""
    K = regime(np.zeros(count), world=world).residuals().K
    return np.random.default_rng(seed).multivariate_normal(np.zeros(count), K)


def jump(results: Regime) -> int:
    """The number of latest results of a new regime, or 0."""
    change = latest_change(results, [])
    return 0 if change is None or change.check is not None else change.results


def back(before: Regime, since: Regime) -> int:
    """The number of latest results of a regime that is back, or 0."""
    change = latest_change(since, [before])
    return 0 if change is None or change.back is None else change.results


def test_densities_without_faults_are_those_of_the_normal_distribution() -> None:
    y = usual(30)
    one = regime(y)
    found = _filtered(_Values.of(one))
    assert not found.faulty.any()
    expected = multivariate_normal(np.zeros(30), one.residuals().K).logpdf(y)
    assert found.densities.sum() == pytest.approx(expected, rel=1e-9)


def test_a_fault_has_its_own_density_and_says_nothing_of_others() -> None:
    y = usual(30)
    y[12] = 40.0
    one = regime(y)
    assert np.flatnonzero(surprising(one)).tolist() == [12]
    kept = np.delete(np.arange(30), 12)
    expected = multivariate_normal(np.zeros(29), one.residuals().K[np.ix_(kept, kept)]).logpdf(
        y[kept]
    )
    s = 3.0 * WORLD.deviation
    own = -4.0 - log(pi * s * (1.0 + (40.0 / s) ** 2))
    assert _filtered(_Values.of(one)).densities.sum() == pytest.approx(expected + own, rel=1e-9)


@pytest.mark.parametrize("size", [-1e6, -30.0, -10.0, 10.0, 30.0, 1e6])
def test_one_far_value_is_a_fault_and_no_jump(size: float) -> None:
    one = regime(np.append(usual(30), size))
    assert surprising(one)[-1]
    assert jump(one) == 0


@pytest.mark.parametrize("length", [2, 3, 8, 20])
@pytest.mark.parametrize("level", [-10.0, 8.0])
def test_a_jump_of_the_level_is_found_with_its_length(length: int, level: float) -> None:
    y = usual(40 + length)
    y[40:] += level
    assert jump(regime(y)) == length


def test_earlier_faults_do_not_hide_a_jump() -> None:
    y = usual(44)
    y[40:] -= 10.0
    y[[5, 20, 33]] = [50.0, -500.0, 5e3]
    assert jump(regime(y)) == 4


def test_a_place_that_changes_is_no_new_world() -> None:
    """Values that the world may have, again and again at one place, against all before."""
    y, x = usual(40), np.resize(PLACES, 40)
    y -= y[x == 0.5].mean() - 1.5
    one = regime(np.append(y, [-0.5] * 6), np.append(x, [0.5] * 6))
    assert surprising(one)[-6:].all()
    assert jump(one) == 0


def test_few_results_are_no_world() -> None:
    assert jump(regime(np.array([0.0] * 7 + [9.0] * 2))) == 0


@pytest.mark.parametrize("length", [2, 5, 20])
def test_an_outage_ends_when_the_earlier_world_is_back(length: int) -> None:
    y = usual(60 + length)
    before = regime(y[:40])
    places = np.resize(PLACES, 60 + length)[40:]
    for after in (1, 2, 3):
        told = np.append(np.full(length, -10.0), y[40 + length : 40 + length + after])
        since = regime(told, places[: len(told)], start=40.0)
        found = back(before, since)
        assert found in ((0, 1) if after == 1 else (after,))


def test_the_regime_that_is_back_is_the_one_that_explains_the_results() -> None:
    low, high = usual(40), 8.0 + usual(40, seed=1)
    now = regime(np.append(-8.0 + usual(20, seed=2), high[20:23]), world=replace(WORLD, mean=-8.0))
    before = regime(high, world=replace(WORLD, mean=8.0))
    assert latest_change(now, [regime(low), before]) == Change(3, back=1)


def test_far_values_at_new_places_are_only_supposed_to_be_a_new_regime() -> None:
    x = np.append(np.resize(PLACES, 40), [0.0, 0.02, 0.01])
    y = np.append(usual(40), [9.0, 9.1, 9.05])
    assert latest_change(regime(y, x), []) == Change(3, check=-4)
    again = regime(np.append(y, y[39]), np.append(x, x[39]))
    assert latest_change(again, []) is None
    elsewhere = regime(np.append(y, y[39] + 9.0), np.append(x, x[39]))
    assert latest_change(elsewhere, []) == Change(4)


def test_results_that_an_earlier_regime_explains_follow_from_it() -> None:
    y = usual(50)
    places = np.resize(PLACES, 50)[40:]
    assert follows(regime(y[:40]), regime(y[40:], places, start=90.0))
    assert not follows(regime(y[:40]), regime(y[40:] + 8.0, places, start=90.0))


@pytest.mark.parametrize("value", [-10.0, 0.0, 1e6])
def test_equal_values_at_different_places_are_a_placeholder(value: float) -> None:
    assert is_placeholder(regime(np.full(8, value)))
    assert not is_placeholder(regime(value + usual(8)))
    assert not is_placeholder(regime(np.full(8, value), np.full(8, 0.5)))


def test_a_new_world_is_not_left_again() -> None:
    before = regime(usual(40))
    for count in range(2, 30):
        y = 8.0 + usual(count, seed=1)
        assert back(before, regime(y, start=40.0)) == 0


def test_most_clean_runs_have_no_jump() -> None:
    """Each result of 20 drawn worlds is tested, as while tracking: at most one has a jump."""
    jumps = 0
    for seed in range(20):
        y = usual(70, seed)
        jumps += any(jump(regime(y[:n])) for n in range(10, 71))
    assert jumps <= 1


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 1e6), st.floats(-1e6, 1e6), st.integers(0, 3))
def test_the_unit_of_the_values_does_not_matter(unit: float, mean: float, after: int) -> None:
    y = usual(30 + after)
    y[30:] -= 10.0
    world = replace(
        WORLD,
        mean=mean,
        **{
            name: unit**2 * getattr(WORLD, name)
            for name in ("mean_variance", "stays", "drifts", "level", "noise")
        },
    )
    scaled = regime(mean + unit * y, world=world)
    assert jump(scaled) == jump(regime(y))
    assert np.array_equal(surprising(scaled), surprising(regime(y)))


def test_warped_values_are_judged_by_what_their_world_describes() -> None:
    y = usual(40)
    y[-3:] -= 10.0
    logarithm = replace(WORLD, warp=Logarithm(1.0, 1e-9))
    assert jump(regime(np.exp(y), world=logarithm)) == 3


def test_a_world_of_one_term_drifts_as_a_whole() -> None:
    world = World.of_one_term(mean=2.0, variance=3.0, noise=0.1, rate=0.05, lengths=(0.4, 0.4))
    assert world.is_one_term
    assert world.shares() == {"drifts": pytest.approx(3.0 / 3.1), "noise": pytest.approx(0.1 / 3.1)}
    assert not WORLD.is_one_term


EVERY_TERM = World(
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
SEASONAL = replace(EVERY_TERM, period=12.0, season=0.4, shared_season=0.6)


@pytest.mark.parametrize("world", [EVERY_TERM, SEASONAL], ids=["plain", "seasonal"])
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
    assert Regime(results, EVERY_TERM, 1.0).latest(2).results.y.tolist() == [3.0, 4.0]


NEARLY_STATIC = World(
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


def found(x: list[float], y: list[float], world: World = NEARLY_STATIC) -> list[int]:
    results = Results(np.arange(float(len(x))), np.array(x)[:, None], np.array(y))
    return np.flatnonzero(~np.isnan(contradicted(Regime(results, world, 1.0)))).tolist()


def test_a_value_that_two_later_ones_contradict_is_found() -> None:
    assert found([0.1, 0.5, 0.9, 0.5, 0.51], [0.0, 5.0, 0.1, 0.2, 0.1]) == [1]


def test_a_value_is_believed_until_it_was_measured_twice_again() -> None:
    assert found([0.1, 0.5, 0.9, 0.5, 0.8], [0.0, 5.0, 0.1, 0.2, 0.1]) == []


def test_the_latest_results_are_never_doubted() -> None:
    assert found([0.1, 0.5, 0.9, 0.5, 0.51], [0.0, 0.1, 0.1, 0.2, 5.0]) == []


def test_logarithms_are_compared_in_a_logarithmic_world() -> None:
    world = replace(NEARLY_STATIC, warp=Logarithm(1.0, 0.1))
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
    variance = contradicted(Regime(Results(t, x[:, None], y), NEARLY_STATIC, 1.0))
    others = np.arange(12) != 5
    prior = NEARLY_STATIC.prior()
    kernels = prior.kernels_over(ht.Box(0, 1))

    def covariance(left: Array, right: Array) -> Array:
        parts = [
            kernel.block(x[left, None], x[right, None])
            * term.in_time(t[left][:, None], t[right][None, :], 0.0)
            for term, kernel in zip(prior.terms, kernels, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0))

    K = covariance(others, others) + NEARLY_STATIC.noise * np.eye(11)
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
