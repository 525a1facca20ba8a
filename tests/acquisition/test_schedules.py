"""Schedules of beta against the paper's formulas."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st

from heliotrope.acquisition import UCB, Beta, ConstantBeta, LogBeta, RBeta, TVBeta, argmax, as_beta
from strategies import fixed

steps = st.integers(1, 10**6)
constants = st.tuples(
    st.floats(0.01, 0.99), st.integers(1, 6), *[st.floats(1.0, 100.0) for _ in range(3)]
)


@given(c1=st.floats(0.1, 9.0), c2=st.floats(0.01, 9.0), t=st.floats(-10.0, 1e6))
@fixed(60)
def test_log_beta_is_clipped_at_zero(c1: float, c2: float, t: float) -> None:
    beta = LogBeta(c1, c2)(t)
    assert beta >= 0.0
    assert beta == (pytest.approx(c1 * log(c2 * t), rel=1e-12) if c2 * t > 1.0 else 0.0)


@pytest.mark.parametrize("t", [1, 2])
def test_the_first_steps_of_the_real_data_setting_are_greedy(t: int) -> None:
    assert LogBeta(0.8, 0.4)(t) == 0.0
    assert LogBeta(0.8, 0.4)(3) > 0.0


@given(t=steps, constants=constants)
@fixed(60)
def test_tv_beta_is_the_theorems(t: int, constants: tuple[float, int, float, float, float]) -> None:
    """eq:beta_T; with r, a and b of at least 1 nothing is clipped."""
    delta, d, r, a, b = constants
    inner = log(d * a * pi**2 * t**2 / (2 * delta))
    expected = 2 * log(pi**2 * t**2 / (2 * delta)) + 2 * d * log(r * d * b * t**2 * sqrt(inner))
    assert TVBeta(delta, d, r, a, b)(t) == pytest.approx(expected, rel=1e-12)


@given(t=steps, constants=constants)
@fixed(60)
def test_r_beta_is_the_theorems(t: int, constants: tuple[float, int, float, float, float]) -> None:
    """eq:beta_T_R; with r, a and b of at least 1 nothing is clipped."""
    delta, d, r, a, b = constants
    inner = log(2 * d * a * pi**2 * t**2 / (3 * delta))
    expected = 2 * log(2 * pi**2 * t**2 / (3 * delta)) + 2 * d * log(r * d * b * t**2 * sqrt(inner))
    assert RBeta(delta, d, r, a, b)(t) == pytest.approx(expected, rel=1e-12)


SCHEDULES = [LogBeta(), LogBeta(0.8, 0.4), TVBeta(), RBeta(), TVBeta(0.9, 3, 0.01, 0.1, 0.1)]


@pytest.mark.parametrize("beta", SCHEDULES, ids=repr)
@given(t=st.floats(1e-6, 1e6), later=st.floats(0.0, 1e6))
@fixed(40)
def test_beta_never_falls_and_is_never_negative(beta: Beta, t: float, later: float) -> None:
    assert 0.0 <= beta(t) <= beta(t + later)


@pytest.mark.parametrize("beta", SCHEDULES, ids=repr)
def test_before_the_first_step_there_is_nothing_to_bound(beta: Beta) -> None:
    assert beta(0.0) == beta(-3.5) == 0.0


def test_a_number_is_a_constant_schedule() -> None:
    assert as_beta(3) == ConstantBeta(3.0)
    assert {as_beta(3)(t) for t in (0.0, 1.0, 1e9)} == {3.0}
    assert as_beta(LogBeta()) == LogBeta()


@given(
    mean=st.floats(-5.0, 5.0),
    std=st.floats(0.0, 5.0),
    beta=st.floats(0.0, 9.0),
    t=st.floats(1.0, 100.0),
)
@fixed(40)
def test_the_confidence_bound_and_its_slopes(
    mean: float, std: float, beta: float, t: float
) -> None:
    ucb = UCB(beta)
    value = ucb.value(t, np.array([mean]), np.array([std]))
    by_mean, by_std = ucb.slopes(t, np.array([mean]), np.array([std]))
    assert value.tolist() == [mean + sqrt(beta) * std]
    assert (by_mean.tolist(), by_std.tolist()) == ([1.0], [sqrt(beta)])


def test_the_bound_uses_the_time_of_the_suggestion() -> None:
    mean, std = np.zeros(1), np.ones(1)
    for t in (1.0, 5.0, 40.5):
        assert UCB(LogBeta()).value(t, mean, std)[0] == sqrt(0.8 * log(4.0 * t))


def test_the_largest_of_near_ties_is_drawn_evenly() -> None:
    """Counts of 3000 draws among three, within 5 standard errors."""
    rng = np.random.default_rng(0)
    values = np.array([1.0, 0.5, 1.0 - 1e-13, 1.0, 1.0 - 1e-9])
    counts = np.bincount([argmax(values, lambda: rng) for _ in range(3000)], minlength=5)
    assert counts[1] == counts[4] == 0
    error = np.sqrt(3000 * (1 / 3) * (2 / 3))
    assert np.all(np.abs(counts[[0, 2, 3]] - 1000) < 5 * error)
