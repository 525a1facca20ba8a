"""Every engine against the paper's dense formulas, and those against scikit-learn."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

import heliotrope as ht
from heliotrope import posterior as engines
from heliotrope.domains import Domain
from heliotrope.errors import InputError, TimeError
from heliotrope.posterior import (
    BoxEngine,
    BoxOptions,
    DenseEngine,
    Engine,
    FiniteEngine,
    ReferenceEngine,
    finite,
    sample,
)
from scenario import play

GRID = ht.grid(7, 7)
BOX = ht.Box([0.0, -1.0], [1.0, 1.0])
KERNELS = {
    "SE": RBF(0.2),
    "Matern-3/2": Matern(0.2, nu=1.5),
    "Matern-5/2": Matern([0.2, 0.4], nu=2.5),
    "sum": 0.5 * RBF(0.1) + Matern(0.6, nu=1.5),
    "product": ConstantKernel(4.0) * RBF(0.5) * Matern(0.8, nu=2.5),
    "tabulated": ht.Tabulated(2.0 * RBF(0.3)(GRID.points) + 0.1 * np.eye(len(GRID))),
}
EPSILONS = [0.0, 0.001, 0.03, 1.0]
NOISES = itertools.cycle([1e-4, 1e-2, 1.0])
CASES = [
    pytest.param(kernel, epsilon, next(NOISES), i % 2 == 1, id=f"{kernel}-{epsilon}")
    for i, (kernel, epsilon) in enumerate(itertools.product(KERNELS, EPSILONS))
]


def fast_engines(prior: ht.Prior, domain: Domain) -> list[Engine]:
    return [engines.build(prior, domain), DenseEngine(prior, domain)]


@pytest.fixture
def frequent_compression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "_LEAST_CAPACITY", 16)


@pytest.mark.parametrize(("kernel", "epsilon", "noise", "irregular"), CASES)
@pytest.mark.usefixtures("frequent_compression")
@pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
def test_exact_at_every_step(
    kernel: str, epsilon: float, noise: float, irregular: bool, domain: Domain
) -> None:
    if domain is BOX and kernel == "tabulated":
        return check_every_step(ht.Prior(RBF(0.3), ht.Forgetting(epsilon), noise), BOX, irregular)
    prior = ht.Prior(KERNELS[kernel], ht.Forgetting(epsilon), noise, mean=0.3)
    return check_every_step(prior, domain, irregular)


def check_every_step(prior: ht.Prior, domain: Domain, irregular: bool) -> None:
    reference = ReferenceEngine(prior, domain)
    fast = fast_engines(prior, domain)
    places = (
        GRID.indices if domain is GRID else BOX.scaled(np.random.default_rng(9).random((40, 2)))
    )
    for t in play([reference, *fast], domain, prior, steps=300, irregular=irregular):
        mean, variance = reference.predict(t + 0.25, places)
        for engine in fast:
            found_mean, found_variance = engine.predict(t + 0.25, places)
            np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-6)
            np.testing.assert_allclose(found_variance, variance, rtol=0, atol=1e-6)
    for engine in fast:
        assert engine.log_likelihood == pytest.approx(reference.log_likelihood, rel=1e-6)


@pytest.mark.usefixtures("frequent_compression")
def test_compression_only_raises_the_variance() -> None:
    prior = ht.Prior(Matern(0.2, nu=2.5), ht.Forgetting(0.01), 0.01)
    tolerance = 1e-4
    coarse, reference = FiniteEngine(prior, GRID, tolerance), ReferenceEngine(prior, GRID)
    excess = 0.0
    for t in play([coarse, reference], GRID, prior, steps=200, irregular=False):
        added = coarse.predict(t, GRID.indices)[1] - reference.predict(t, GRID.indices)[1]
        assert added.min() > -1e-12
        excess = max(excess, float(added.max()))
    assert excess > 0.0  # it did compress
    assert len(coarse.rows()) < 100


def test_compression_bounds_the_rows_for_ever() -> None:
    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.05), 0.01)
    engine = FiniteEngine(prior, GRID)
    rows = [len(engine.rows()) for _ in play([engine], GRID, prior, steps=3000, irregular=False)]
    assert max(rows) <= 3 * len(GRID)  # at most M directions, and room for 2 M more


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
def test_reference_is_scikit_learn_on_points_and_times(epsilon: float) -> None:
    rng = np.random.default_rng(3)
    prior = ht.Prior(Matern(0.3, nu=2.5), ht.Forgetting(epsilon), 0.05)
    reference = ReferenceEngine(prior, BOX)
    t, x, y = np.sort(rng.uniform(0, 30, 60)), BOX.scaled(rng.random((60, 2))), rng.normal(size=60)
    for key in range(60):
        reference.open(key, t[key], x[key : key + 1])
        reference.tell(key, y[key])
    other = GaussianProcessRegressor(_space_time_kernel(epsilon), alpha=0.05, optimizer=None)
    other.fit(np.column_stack([x, t]), y)
    at = BOX.scaled(rng.random((50, 2)))
    mean, std = other.predict(np.column_stack([at, np.full(50, 31.5)]), return_std=True)
    found_mean, found_variance = reference.predict(31.5, at)
    np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found_variance, std**2, rtol=0, atol=1e-8)
    assert reference.log_likelihood == pytest.approx(other.log_marginal_likelihood(), rel=1e-10)


def _space_time_kernel(epsilon: float) -> Any:
    """rho^|dt| = exp(-|dt| / length) with length = -1 / log(rho)."""
    nowhere = 1e12
    space = Matern([0.3, 0.3, nowhere], nu=2.5)
    if not epsilon:
        return space
    return space * Matern([nowhere, nowhere, -2.0 / np.log1p(-epsilon)], nu=0.5)


@pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
def test_log_likelihood_is_the_joint_density(domain: Domain) -> None:
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.1), 0.1, mean=2.0)
    rng = np.random.default_rng(1)
    times, y = np.cumsum(rng.exponential(size=12)), rng.normal(size=12)
    places = rng.integers(49, size=12) if domain is GRID else BOX.scaled(rng.random((12, 2)))
    rho = np.sqrt(0.9)
    K = RBF(0.4)(domain.at(places)) * rho ** np.abs(times[:, None] - times) + 0.1 * np.eye(12)
    expected = multivariate_normal(np.full(12, 2.0), K).logpdf(y)
    for engine in [*fast_engines(prior, domain), ReferenceEngine(prior, domain)]:
        for key in range(12):
            engine.open(key, times[key], places[key : key + 1])
            engine.tell(key, y[key])
        assert engine.log_likelihood == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
def test_joint_samples_have_the_posterior_mean_and_covariance(domain: Domain) -> None:
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.05), 0.1)
    places = np.array([0, 10, 48]) if domain is GRID else np.array([[0.1, 0], [0.5, 0.5], [1, 1]])
    reference, n = ReferenceEngine(prior, domain), 20_000
    fast = fast_engines(prior, domain)
    for _ in play([reference, *fast], domain, prior, steps=30, irregular=True):
        pass
    mean, _ = reference.predict(40.0, places, count_open=False)
    covariance = reference.covariance(40.0, places)
    for engine in [reference, *fast]:
        draws = sample(engine, 40.0, places, np.random.default_rng(0), size=n)
        error = np.sqrt(np.diag(covariance) / n)
        assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * error)
        variances = np.diag(covariance)
        spread = np.sqrt((covariance**2 + np.outer(variances, variances)) / n)
        assert np.all(np.abs(np.cov(draws.T) - covariance) < 5 * spread)


@pytest.mark.parametrize("kernel", ["SE", "Matern-3/2", "sum"])
def test_finite_engine_off_the_domain(kernel: str) -> None:
    prior = ht.Prior(KERNELS[kernel], ht.Forgetting(0.02), 0.01, mean=1.0)
    engine, reference = FiniteEngine(prior, GRID), ReferenceEngine(prior, GRID)
    points = np.random.default_rng(2).random((20, 2))
    for t in play([engine, reference], GRID, prior, steps=60, irregular=True):
        for found, exact in zip(
            engine.predict(t, points), reference.predict(t, points), strict=True
        ):
            np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)


def test_box_engine_beyond_its_budget_stays_close() -> None:
    prior = ht.Prior(RBF(0.5), ht.Forgetting(0.02), 0.01)
    engine, reference = BoxEngine(prior, BOX, budget=120), ReferenceEngine(prior, BOX)
    places = BOX.scaled(np.random.default_rng(2).random((30, 2)))
    *_, t = play([engine, reference], BOX, prior, steps=400, irregular=False)
    for found, exact in zip(engine.predict(t, places), reference.predict(t, places), strict=True):
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5)
    assert len(engine.state()["points/B"]) <= 121


@pytest.mark.parametrize(
    ("kernel", "epsilon"), [(Matern(0.3, nu=2.5), 0.03), (RBF(0.5), 0.0)], ids=["Matern", "SE"]
)
@pytest.mark.parametrize("workers", [8, 32])
def test_box_engine_does_not_drop_points_that_wait_for_their_results(
    kernel: Any, epsilon: float, workers: int
) -> None:
    prior = ht.Prior(kernel, ht.Forgetting(epsilon), 0.01)
    engine, dense = BoxEngine(prior, BOX, budget=120), DenseEngine(prior, BOX)
    rng, waiting = np.random.default_rng(0), list[int]()
    for key in range(300):
        place = BOX.scaled(rng.random((1, 2)))
        for one in (engine, dense):
            one.open(key, float(key), place)
        waiting.append(key)
        if len(waiting) > workers:
            late = waiting.pop(int(rng.integers(workers)))
            for one in (engine, dense):
                one.tell(late, 1.0)
    where = np.concatenate(dense.state()["records/open_places/values"])
    _, found = engine.predict(300.0, where)
    _, exact = dense.predict(300.0, where)
    np.testing.assert_allclose(found, exact, rtol=0, atol=0.02)
    engine.tell(waiting[0], 5.0)
    dense.tell(waiting[0], 5.0)
    np.testing.assert_allclose(
        engine.predict(300.0, where[:1])[0], dense.predict(300.0, where[:1])[0], atol=0.05
    )


def test_box_engine_survives_next_to_no_noise() -> None:
    with pytest.raises(InputError, match="at least 1e-05, for numerical stability"):
        ht.Optimizer(ht.Box([0], [1]), ht.gp_ucb(ht.Prior(RBF(0.2), noise=1e-6)))
    prior = ht.Prior(RBF(0.2), noise=1e-5)
    policy = ht.gp_ucb(prior, beta=0.5, engine=BoxOptions(400))
    optimizer = ht.Optimizer(ht.Box([0], [1]), policy, seed=0)
    for _ in range(520):
        s = optimizer.ask()
        optimizer.tell(s, float(-10 * (s.x[0] - 0.37) ** 2))
    assert optimizer.best().x[0] == pytest.approx(0.37, abs=0.01)


def test_best_in_a_box_finds_the_one_good_point_that_was_told() -> None:
    prior = ht.Prior(RBF(0.1), noise=1e-3)
    optimizer = ht.Optimizer(ht.Box([0] * 6, [1] * 6), ht.tv_gp_ucb(prior, beta=3.0))
    rng = np.random.default_rng(3)
    X, y = rng.random((40, 6)), 0.1 * rng.normal(size=40)
    y[0] = 5.0
    optimizer.tell_many(np.arange(40.0), X, y)
    assert optimizer.best().mean >= optimizer.belief(None, X).mean.max() - 1e-9


def test_samples_where_much_is_known() -> None:
    prior, domain = ht.Prior(RBF(0.2), noise=1e-4), ht.grid(20, 20)
    optimizer, rng = ht.Optimizer(domain, ht.gp_ucb(prior)), np.random.default_rng(0)
    told = rng.integers(400, size=300)
    optimizer.tell_many(np.arange(300.0), told, np.sin(6 * domain.points[told]).sum(axis=1))
    draws, belief = optimizer.sample(size=500, seed=1), optimizer.belief()
    assert draws.shape == (500, 400)
    error = np.maximum(belief.std, 1e-6) / np.sqrt(500)
    assert np.abs((draws.mean(axis=0) - belief.mean) / error).max() < 6
    assert np.isfinite(optimizer.log_likelihood)


def test_dense_engine_refuses_a_past_that_it_has_dropped() -> None:
    prior = ht.Prior(RBF(0.3), RBF(1.0), 0.01)
    engine = DenseEngine(prior, GRID)
    for _ in play([engine], GRID, prior, steps=300, irregular=False):
        pass
    with pytest.raises(TimeError, match="dropped"):
        engine.predict(10.0, GRID.indices)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_choice_in_a_box_does_not_depend_on_units(offset: float, scale: float) -> None:
    kernel = ConstantKernel(scale**2, constant_value_bounds="fixed") * RBF(0.2)
    prior = ht.Prior(kernel, ht.Forgetting(0.01), 0.01 * scale**2, mean=offset * scale)
    optimizer = ht.Optimizer(ht.Box([0, 0], [1, 1]), ht.tv_gp_ucb(prior, beta=2.0))
    grid, shortfalls = ht.grid(60, 60).points, []
    for t in range(1, 41):
        around = optimizer.belief(t, grid)
        s = optimizer.ask()
        here = optimizer.belief(t, s.x[None], count_open=False)
        best = np.max(around.mean - offset * scale + np.sqrt(2.0) * around.std)
        value = (here.mean[0] - offset * scale) + np.sqrt(2.0) * here.std[0]
        shortfalls.append((best - value) / scale)
        optimizer.tell(s, scale * (offset + float(np.sin(6 * s.x).sum())))
    assert np.mean(np.array(shortfalls) < 1e-6) >= 0.9


@pytest.mark.parametrize(
    "time", [RBF(8.0), 2.0 * Matern(20.0, nu=1.5)], ids=["SE in time", "Matern in time"]
)
def test_dense_engine_with_other_time_kernels(time: Any) -> None:
    prior = ht.Prior(RBF(0.3), time, 0.05)
    engine, reference = engines.build(prior, GRID), ReferenceEngine(prior, GRID)
    assert isinstance(engine, DenseEngine)
    for t in play([engine, reference], GRID, prior, steps=250, irregular=True):
        for found, exact in zip(
            engine.predict(t, GRID.indices), reference.predict(t, GRID.indices), strict=True
        ):
            np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)


def test_dense_engine_drops_forgotten_observations() -> None:
    prior = ht.Prior(RBF(0.3), RBF(4.0), 0.05)
    engine = DenseEngine(prior, GRID)
    for _ in play([engine], GRID, prior, steps=600, irregular=False):
        assert len(engine.state()["records/t"]) < 250


def test_dense_engine_with_a_window_keeps_the_newest() -> None:
    prior = ht.Prior(RBF(0.3), ht.Static(), 0.05)
    engine = DenseEngine(prior, GRID, window=40)
    times = []
    for t in play([engine], GRID, prior, steps=300, irregular=False):
        assert len(engine.state()["records/t"]) < 81
        times.append(t)
    assert engine.state()["records/t"].min() > times[-1] - 120


def test_recursive_engines_refuse_the_past_and_the_order_free_ones_do_not() -> None:
    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.1), 0.05)
    engine, dense = FiniteEngine(prior, GRID), DenseEngine(prior, GRID)
    reference = ReferenceEngine(prior, GRID)
    for _ in play([engine, dense, reference], GRID, prior, steps=20, irregular=False):
        pass
    with pytest.raises(TimeError, match="at least 20"):
        engine.predict(19.0, GRID.indices)
    with pytest.raises(TimeError):
        engine.open(99, 19.5, np.array([0]))
    np.testing.assert_allclose(
        dense.predict(5.0, GRID.indices), reference.predict(5.0, GRID.indices), atol=1e-9
    )


def test_engines_that_do_not_fit_are_refused() -> None:
    drifting = ht.Prior(RBF(0.3), RBF(4.0), 0.05)
    with pytest.raises(InputError, match="Static, Forgetting or Wiener"):
        FiniteEngine(drifting, GRID)
    with pytest.raises(InputError, match="Static, Forgetting or Wiener"):
        BoxEngine(drifting, BOX)
