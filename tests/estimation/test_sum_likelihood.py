"""Likelihoods of sums of terms, their gradients, and observations with their own noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Kernel,
    Matern,
    RationalQuadratic,
)

import heliotrope as ht
from heliotrope.errors import HeliotropeError
from heliotrope.estimation import Observations, Panel, gradient, log_likelihood
from heliotrope.estimation.parameters import parameter_values, parameters, with_parameter_values
from heliotrope.terms import Drifts, Level, Season, Smooth, Stationary, Stays, Term, Trend, Walks
from heliotrope.validation import Array
from strategies import bad_numbers, fixed

KERNEL = 0.8 * Matern([0.3, 0.6], nu=2.5)
TERMS: dict[str, tuple[Term, Callable[[Array, Array], Array]]] = {  # with c(s, t) by hand
    "stays": (Stays(KERNEL), lambda s, t: np.ones_like(s - t)),
    "drifts": (Drifts(0.5 * RBF(0.2), epsilon=0.05), lambda s, t: 0.95 ** (abs(s - t) / 2)),
    "level": (Level(0.7, epsilon=0.02), lambda s, t: 0.98 ** (abs(s - t) / 2)),
    "season": (
        Season(0.3 * RBF(0.4), period=7.0, harmonics=2, epsilon=0.01),
        lambda s, t: (
            0.5
            * (np.cos(2 * np.pi * (s - t) / 7) + np.cos(4 * np.pi * (s - t) / 7))
            * 0.99 ** (abs(s - t) / 2)
        ),
    ),
    "shared season": (
        Season(0.4, period=5.0, epsilon=0.03, name="shared"),
        lambda s, t: np.cos(2 * np.pi * (s - t) / 5) * 0.97 ** (abs(s - t) / 2),
    ),
    "trend": (
        Trend(0.2 * RBF(0.5), origin=3.0, unit=8.0),
        lambda s, t: (s - 3.0) * (t - 3.0) / 64.0,
    ),
    "smooth": (
        Smooth(0.4 * RBF(0.3), length=4.0),
        lambda s, t: (1 + np.sqrt(3) * abs(s - t) / 4) * np.exp(-np.sqrt(3) * abs(s - t) / 4),
    ),
    "smoother": (
        Smooth(0.4 * RBF(0.3), length=6.0, nu=2.5, name="smoother"),
        lambda s, t: Matern(6.0, nu=2.5)(np.abs(s - t).reshape(-1, 1), [[0.0]]).reshape(
            np.shape(s - t)
        ),
    ),
    "walks": (
        Walks(0.3 * RBF(0.4), growth=0.1),
        lambda s, t: 1.0 + 0.1 * (np.minimum(s, t) - np.minimum(s, t).min()),
    ),
    "stationary": (
        Stationary(0.5 * RBF(0.3), time=1.5 * RationalQuadratic(3.0, 0.7)),
        lambda s, t: (
            1.5 * RationalQuadratic(3.0, 0.7)(np.abs(s - t).reshape(-1, 1), [[0.0]])
        ).reshape(np.shape(s - t)),
    ),
}
SUMS = [
    *[(name,) for name in TERMS],
    ("stays", "drifts"),
    ("drifts", "level", "shared season"),
    ("stays", "drifts", "level", "season", "smooth"),
    ("walks", "trend", "smoother", "stationary"),
]
MARKOV = [names for names in SUMS if "stationary" not in names]
sums = pytest.mark.parametrize("names", SUMS, ids=" + ".join)


def sum_of(names: tuple[str, ...]) -> ht.Prior:
    return ht.Prior(noise=0.2, mean=0.3, terms=[TERMS[name][0] for name in names])


def some_data(n: int = 30, seed: int = 0) -> Observations:
    """Several at one time and at one place, some with their own standard error or repeats."""
    rng = np.random.default_rng(seed)
    x = rng.random((12, 2))[rng.integers(12, size=n)]
    std = np.where(rng.random(n) < 0.3, rng.uniform(0.1, 1.0, n), np.nan)
    t = np.round(rng.uniform(0.0, 15.0, n), 1)
    repeats = np.where(np.isnan(std), rng.integers(1, 4, n), 1)
    return Observations(t, x, rng.normal(size=n), std=std, n=repeats)


def gappy_panel() -> Panel:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(9, 4))
    values[rng.random(values.shape) < 0.15] = np.nan
    values[3] = np.nan
    return Panel(np.cumsum(rng.uniform(0.5, 2.0, 9)), values, rng.random((4, 2)))


def all_of(panel: Panel) -> Observations:
    return panel.sample(int(np.count_nonzero(~np.isnan(panel.values))))


def covariance(names: tuple[str, ...], data: Observations) -> Array:
    s, t = np.meshgrid(data.t, data.t, indexing="ij")
    total = np.diag(np.where(np.isnan(data.std), 0.2 / data.n, data.std**2))
    for name in names:
        term, in_time = TERMS[name]
        assert not isinstance(term.space, ht.Tabulated)
        total += term.space(data.x) * in_time(s, t)
    return total


@sums
def test_the_value_is_the_joint_density(names: tuple[str, ...]) -> None:
    data = some_data()
    joint = multivariate_normal(np.full(len(data.t), 0.3), covariance(names, data))
    assert log_likelihood(sum_of(names), data) == pytest.approx(joint.logpdf(data.y), rel=1e-9)


def differences(prior: ht.Prior, data: Observations | Panel) -> dict[str, float]:
    """Richardson-extrapolated central differences."""
    values, found = parameter_values(prior), {}

    def slope(i: int, h: float) -> float:
        step = h * np.eye(len(values))[i]
        ahead, back = (with_parameter_values(prior, values + one) for one in (step, -step))
        return (log_likelihood(ahead, data) - log_likelihood(back, data)) / (2 * h)

    for i, one in enumerate(parameters(prior)):
        h = 1e-2 * (1.0 if one.kind in ("space", "time") else values[i])
        found[one.name] = (4 * slope(i, h / 2) - slope(i, h)) / 3
    return found


@sums
def test_the_gradient_is_that_of_central_differences(names: tuple[str, ...]) -> None:
    data, prior = some_data(), sum_of(names)
    expected = differences(prior, data)
    largest = max(map(abs, expected.values()))
    assert gradient(prior, data) == pytest.approx(expected, rel=1e-5, abs=1e-7 * largest)


@pytest.mark.parametrize("names", MARKOV, ids=" + ".join)
def test_the_filter_over_a_panel_is_the_dense_formula(names: tuple[str, ...]) -> None:
    panel, prior = gappy_panel(), sum_of(names)
    complete = Panel(panel.times, np.nan_to_num(panel.values, nan=0.4), panel.points)
    for one in (panel, complete):
        assert log_likelihood(prior, one) == pytest.approx(
            log_likelihood(prior, all_of(one)), rel=1e-9
        )
        expected = gradient(prior, all_of(one))
        largest = max(map(abs, expected.values()))
        assert gradient(prior, one) == pytest.approx(expected, rel=1e-7, abs=1e-9 * largest)


def test_sums_over_x_and_t_are_scikit_learns() -> None:
    """k(x, x') c(s, t) is a product of kernels, each over its own coordinate."""
    data = some_data()
    data = Observations(data.t, data.x[:, :1], data.y)

    def over(x_scale: float, t_scale: float, nu: float) -> Kernel:  # a huge scale: constant
        return Matern([x_scale, 1e9], nu=2.5) * Matern([1e9, t_scale], nu=nu)

    rate = -0.5 * np.log(1 - 0.1)
    theirs = (
        0.5 * Matern([0.3, 1e9], nu=2.5)
        + 0.4 * over(0.2, 1.0 / rate, 0.5)
        + 0.7 * Matern([1e9, 1.0 / rate], nu=0.5)
        + 0.2 * over(0.2, 5.0, 1.5)
    )
    ours = ht.Prior(
        noise=0.1,
        terms=[
            Stays(0.5 * Matern(0.3, nu=2.5)),
            Drifts(0.4 * Matern(0.2, nu=2.5), epsilon=0.1),
            Level(0.7, epsilon=0.1),
            Smooth(0.2 * Matern(0.2, nu=2.5), length=5.0),
        ],
    )
    model = GaussianProcessRegressor(theirs, alpha=0.1, optimizer=None)
    model.fit(np.column_stack([data.x, data.t]), data.y)
    value, slopes = model.log_marginal_likelihood(theirs.theta, eval_gradient=True)
    by_name = dict(zip(_names(theirs), slopes, strict=True))
    assert log_likelihood(ours, data) == pytest.approx(value, rel=1e-9)
    found = gradient(ours, data)
    assert found["stays.k1__constant_value"] == pytest.approx(
        by_name["k1__k1__k1__k1__constant_value"], rel=1e-6
    )
    assert found["level.variance"] == pytest.approx(by_name["k1__k2__k1__constant_value"], rel=1e-6)
    assert 5.0 * found["smooth.length"] == pytest.approx(
        by_name["k2__k2__k2__length_scale[1]"], rel=1e-6
    )


def _names(kernel: Kernel) -> list[str]:
    return [
        f"{one.name}[{i}]" if one.n_elements > 1 else one.name
        for one in kernel.hyperparameters
        for i in range(one.n_elements)
    ]


def test_a_periodic_kernel_over_time_is_scikit_learns() -> None:
    data = some_data()
    data = Observations(data.t, np.zeros_like(data.t), data.y)
    time = ConstantKernel(0.6) * ExpSineSquared(1.2, 6.0)
    ours = ht.Prior(noise=0.1, terms=[Stationary(1.0, time=time), Level(0.5)])
    theirs = time + ConstantKernel(0.5)
    model = GaussianProcessRegressor(theirs, alpha=0.1, optimizer=None)
    model.fit(data.t[:, None], data.y)
    value, slopes = model.log_marginal_likelihood(theirs.theta, eval_gradient=True)
    assert log_likelihood(ours, data) == pytest.approx(value, rel=1e-9)
    found = gradient(ours, data)
    ordered = [found[name] for name in found if name.startswith("stationary.time")]
    np.testing.assert_allclose([*ordered, found["level.variance"]], slopes, rtol=1e-7)


def test_repeats_and_standard_errors_say_the_same() -> None:
    plain, prior = some_data(), sum_of(("drifts", "level"))
    n = np.where(np.isnan(plain.std), plain.n, 1.0)
    errors = np.where(np.isnan(plain.std), np.sqrt(0.2 / n), plain.std)
    known = Observations(plain.t, plain.x, plain.y, std=errors)
    assert log_likelihood(prior, known) == pytest.approx(log_likelihood(prior, plain), rel=1e-12)
    assert gradient(prior, known)["noise"] == 0.0
    assert gradient(prior, plain)["noise"] != 0.0


def test_terms_of_one_name_are_numbered() -> None:
    prior = ht.Prior(noise=0.1, terms=[Level(0.5), Level(0.2), Drifts(RBF(0.3), epsilon=0.1)])
    assert [one.name for one in parameters(prior)] == [
        "level[0].variance",
        "level[0].epsilon",
        "level[1].variance",
        "level[1].epsilon",
        "drifts.length_scale",
        "drifts.epsilon",
        "noise",
    ]


@sums
def test_values_of_parameters_make_the_prior_again(names: tuple[str, ...]) -> None:
    prior = sum_of(names)
    values = parameter_values(prior)
    same = with_parameter_values(prior, values)
    assert all(one is other for one, other in zip(prior.terms, same.terms, strict=True))
    moved = parameter_values(with_parameter_values(prior, values + 0.01))
    np.testing.assert_allclose(moved, values + 0.01, rtol=1e-12)


def test_a_table_and_a_level() -> None:
    panel = gappy_panel()
    table = ht.Tabulated(RBF(0.4)(panel.points) + 0.1 * np.eye(4))
    prior = ht.Prior(noise=0.1, terms=[Drifts(table, epsilon=0.1), Level(0.5, epsilon=0.02)])
    plain = Panel(panel.times, panel.values)
    singles = all_of(plain)
    assert log_likelihood(prior, plain) == pytest.approx(log_likelihood(prior, singles), rel=1e-9)
    assert list(gradient(prior, singles)) == [
        "drifts.epsilon",
        "level.variance",
        "level.epsilon",
        "noise",
    ]


def test_a_sample_of_a_panel() -> None:
    panel = gappy_panel()
    assert panel.points is not None
    found, again = panel.sample(12, seed=3), panel.sample(12, seed=3)
    np.testing.assert_array_equal(found.y, again.y)
    assert np.all(np.diff(found.t) >= 0.0)
    rows = np.searchsorted(panel.times, found.t)
    columns = [int(np.flatnonzero((panel.points == x).all(axis=1))[0]) for x in found.x]
    np.testing.assert_array_equal(panel.values[rows, columns], found.y)
    assert len(set(zip(rows.tolist(), columns, strict=True))) == 12


def is_bad(std: Any) -> bool:
    pair = isinstance(std, list) and len(std) == 2 and all(isinstance(one, float) for one in std)
    return std is not None and not (pair and all(0.0 < one < 1e100 for one in std))


@given(std=st.one_of(bad_numbers.filter(is_bad), st.floats(max_value=0.0)))
@fixed(60)
def test_bad_standard_errors_are_refused(std: Any) -> None:
    with pytest.raises(HeliotropeError):
        Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1], std=std)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1], std=[0.1, 0.0]),
        lambda: Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1], std=[0.1, 0.2, 0.3]),
        lambda: Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1], n=[1, 0]),
        lambda: Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1], n=1.5),
        lambda: gappy_panel().sample(1000),
        lambda: gappy_panel().sample(0),
        lambda: gappy_panel().sample(3, seed=-1),
        lambda: log_likelihood(sum_of(("stationary", "drifts")), gappy_panel()),
        lambda: log_likelihood(sum_of(("drifts", "level")), Panel([1, 2], [[1.0], [2.0]])),
        lambda: log_likelihood(
            ht.Prior(terms=[Stays(ht.Tabulated(np.eye(2))), Drifts(RBF(0.3), epsilon=0.1)]),
            Observations([1, 2], [0, 1], [0.1, 0.2]),
        ),
        lambda: gradient(ht.Prior(terms=[Level(0.5), Level(0.2, epsilon=1.0)]), some_data()),
    ],
)
def test_bad_data_of_sums_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(HeliotropeError):
        make()
