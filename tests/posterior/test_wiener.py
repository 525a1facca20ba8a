"""The Wiener process in time: engines against the formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope import posterior as engines
from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.memory import KeepAll
from heliotrope.posterior import (
    BoxEngine,
    BoxOptions,
    DenseEngine,
    Engine,
    FiniteEngine,
    HasSurface,
    ReferenceEngine,
    finite,
)
from heliotrope.priors import correlation
from scenario import play
from strategies import PRIOR, refusal

GRID = ht.grid(6, 6)
BOX = ht.Box([0.0, -1.0], [1.0, 1.0])
AT = BOX.scaled(np.random.default_rng(9).random((30, 2)))


def walking(rate: float = 0.05, noise: float = 0.05) -> ht.Prior:
    return ht.Prior(Matern([0.3, 0.5], nu=2.5), ht.priors.Wiener(rate), noise, mean=0.3)


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("rate", [0.001, 0.1, 5.0])
@pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
def test_exact_at_every_step(
    domain: Domain, rate: float, irregular: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finite, "_LEAST_CAPACITY", 16)
    prior = walking(rate)
    reference = ReferenceEngine(prior, domain)
    fast = [engines.build(prior, domain), DenseEngine(prior, domain)]
    assert isinstance(fast[0], FiniteEngine if domain is GRID else BoxEngine)
    places = GRID.indices if domain is GRID else AT
    for t in play([reference, *fast], domain, prior, steps=90, irregular=irregular):
        for count_open in (True, False):
            expected = reference.predict(t + 0.25, places, count_open=count_open)
            for engine in fast:
                found = engine.predict(t + 0.25, places, count_open=count_open)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * (1.0 + rate * t))
    for engine in fast:
        np.testing.assert_allclose(
            engine.covariance(t + 1.0, places), reference.covariance(t + 1.0, places), atol=1e-5
        )
        assert engine.log_likelihood == pytest.approx(reference.log_likelihood, rel=1e-6)


def test_the_reference_is_the_formula() -> None:
    """Cov[f_s(x), f_t(x')] = (1 + rate (min(s, t) - t0)) k(x, x'), t0 the first time."""
    rng = np.random.default_rng(3)
    t, x, y = np.sort(rng.uniform(4, 30, 25)), BOX.scaled(rng.random((25, 2))), rng.normal(size=25)
    prior = ht.Prior(RBF(0.4), ht.priors.Wiener(0.2), 0.1, mean=1.0)
    reference = ReferenceEngine(prior, BOX)
    for key in range(25):
        reference.open(key, t[key], x[key : key + 1])
        reference.tell(key, y[key])
    K = RBF(0.4)(x) * (1.0 + 0.2 * (np.minimum.outer(t, t) - t[0])) + 0.1 * np.eye(25)
    k = RBF(0.4)(x, AT) * (1.0 + 0.2 * (t - t[0]))[:, None]
    mean, variance = reference.predict(33.0, AT)
    np.testing.assert_allclose(mean, 1.0 + k.T @ np.linalg.solve(K, y - 1.0), atol=1e-9)
    expected = 1.0 + 0.2 * (33.0 - t[0]) - np.sum(k * np.linalg.solve(K, k), axis=0)
    np.testing.assert_allclose(variance, expected, atol=1e-9)
    density = multivariate_normal(np.ones(25), K).logpdf(y)
    assert reference.log_likelihood == pytest.approx(density, rel=1e-9)


@pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
def test_the_mean_stays_and_the_variance_grows(domain: Domain) -> None:
    """With no result in between, the mean of f is the same, its variance larger by rate dt k."""
    prior, places = walking(0.1), GRID.indices if domain is GRID else AT
    for engine in (engines.build(prior, domain), DenseEngine(prior, domain)):
        for _ in play([engine], domain, prior, steps=30, irregular=False):
            pass
        mean, variance = engine.predict(30.0, places, count_open=False)
        later_mean, later_variance = engine.predict(50.0, places, count_open=False)
        np.testing.assert_allclose(later_mean, mean, atol=1e-9)
        np.testing.assert_allclose(later_variance, variance + 0.1 * 20.0, atol=1e-9)


@pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
def test_a_restored_engine_keeps_its_start(domain: Domain) -> None:
    prior, places = walking(), GRID.indices if domain is GRID else AT
    makers: list[Callable[[ht.Prior, Domain], Engine]]
    makers = [engines.build, DenseEngine, ReferenceEngine]
    for make in makers:
        engine = make(prior, domain)
        for _ in play([engine], domain, prior, steps=20, irregular=True, seed=2):
            pass
        twin = make(prior, domain)
        twin.restore(engine.state())
        np.testing.assert_array_equal(twin.predict(99.0, places), engine.predict(99.0, places))


def test_a_surface_equals_the_prediction() -> None:
    prior = walking()
    step = 1e-6
    for engine in (BoxEngine(prior, BOX), DenseEngine(prior, BOX), ReferenceEngine(prior, BOX)):
        *_, t = play([engine], BOX, prior, steps=15, irregular=True)
        assert isinstance(engine, HasSurface)
        surface = engine.surface(t + 3.0)
        np.testing.assert_allclose(surface.value(AT), engine.predict(t + 3.0, AT), atol=1e-9)
        for j, slopes in enumerate(np.moveaxis(np.array(surface.gradient(AT)), 2, 0)):
            shift = step * np.eye(2)[j]
            ahead, behind = (np.array(surface.value(AT + sign * shift)) for sign in (1, -1))
            np.testing.assert_allclose(slopes, (ahead - behind) / (2 * step), atol=1e-4)


def test_off_a_finite_domain() -> None:
    prior = walking()
    engine, reference = FiniteEngine(prior, GRID), ReferenceEngine(prior, GRID)
    *_, t = play([engine, reference], GRID, prior, steps=40, irregular=True)
    X = np.random.default_rng(1).random((12, 2))
    np.testing.assert_allclose(engine.predict(t + 2, X), reference.predict(t + 2, X), atol=1e-6)
    np.testing.assert_allclose(
        engine.covariance(t + 2, X), reference.covariance(t + 2, X), atol=1e-6
    )


def test_before_the_first_time_nothing_moves() -> None:
    times = np.array([-5.0, 2.0, 3.0])
    c = ht.terms.Walks(1.0, 0.5).in_time(times[:, None], times[None, :], start=2.0)
    np.testing.assert_allclose(c, np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.5]]))
    engine = DenseEngine(walking(), GRID)
    engine.open(0, 2.0, np.array([0]))
    engine.tell(0, 1.0)
    early, first = (engine.predict(t, GRID.indices) for t in (-5.0, 2.0))
    np.testing.assert_allclose(early, first, atol=1e-12)


def test_tracking_for_ever_keeps_the_budget() -> None:
    prior = walking(0.02)
    engine, exact = BoxEngine(prior, BOX, budget=40), ReferenceEngine(prior, BOX)
    *_, t = play([engine, exact], BOX, prior, steps=150, irregular=False)
    assert len(engine.state()["points/B"]) <= 40
    mean, variance = engine.predict(t, AT, count_open=False)
    expected_mean, expected = exact.predict(t, AT, count_open=False)
    assert np.all(variance > 0.3 * expected)
    assert np.abs(mean - expected_mean).mean() < 3.0 * np.sqrt(expected).mean()


# The policy


def test_the_policy_is_a_composition() -> None:
    policy = ht.policies.ui_gp_ucb(PRIOR, 0.02, beta=3.0)
    assert policy.prior.time == ht.priors.Wiener(0.02)
    assert (policy.memory, policy.acquisition) == (KeepAll(), ht.UCB(3.0))
    assert (policy.prior.space, policy.prior.noise) == (PRIOR.space, PRIOR.noise)


def test_it_tracks_a_permanent_drift() -> None:
    """Values rise without end, and the mean does not fall back to the prior's."""

    def tracked(policy: Any) -> float:
        optimizer = ht.Optimizer(ht.grid(5), policy, seed=0)
        for t in range(1, 81):
            optimizer.tell(optimizer.ask(), 0.2 * t)
        return optimizer.best(90.0).mean

    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.05), 0.01)
    assert tracked(ht.policies.ui_gp_ucb(prior, 0.5)) > 15.5
    assert tracked(ht.tv_gp_ucb(prior)) < 13.0


# Refusals


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, None, "1"])
def test_bad_rates_are_refused(rate: Any) -> None:
    with refusal(InputError):
        ht.priors.Wiener(rate)


def test_where_time_must_be_stationary_it_is_refused() -> None:
    with refusal(InputError):
        correlation(ht.priors.Wiener(0.1), np.ones(2))
    with refusal(InputError):
        ht.tv_gp_ucb(walking(), learn=ht.Learn())


def test_a_budget_and_a_named_engine_are_taken() -> None:
    for engine in ("box", "dense", "reference", BoxOptions(budget=10)):
        optimizer = ht.Optimizer(BOX, ht.policies.ui_gp_ucb(walking(), 0.1, engine=engine), seed=0)
        optimizer.tell(optimizer.ask(), 1.0)
        assert np.isfinite(optimizer.belief(X=AT).std).all()
