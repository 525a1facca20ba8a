"""Thompson sampling: samples have the posterior's moments and depend on the ask's own stream."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope import posterior as engines
from heliotrope.acquisition import Thompson, thompson
from heliotrope.lab.environments import GPDrift, run
from heliotrope.linalg import pivoted_rows
from heliotrope.memory import KeepAll
from heliotrope.posterior import (
    BankEngine,
    Engine,
    FiniteEngine,
    ReferenceEngine,
    Sampleable,
    finite,
)
from heliotrope.surroundings import RNGStream
from scenario import play
from strategies import PRIOR, square

GRID = ht.grid(5, 5)
DRAWS = 3000


def played(engine: Engine, prior: ht.Prior, domain: ht.Finite | ht.Box) -> float:
    *_, t = play([engine], domain, prior, steps=12, irregular=True)
    return float(t)


def assert_posterior(draws: np.ndarray, engine: Engine, t: float, places: np.ndarray) -> None:
    """Means and covariances within five standard errors: sd / sqrt(n), and at most that of a
    product of two normal variables, sqrt(2) sd sd' / sqrt(n), with what a draw may leave out."""
    mean, variance = engine.predict(t, places, count_open=False)
    covariance = engine.covariance(t, places)
    sd = np.sqrt(variance)
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5.0 * sd / np.sqrt(len(draws)) + 1e-9)
    error = np.abs(np.cov(draws.T) - covariance)
    allowed = 5.0 * np.sqrt(2.0) * np.outer(sd, sd) / np.sqrt(len(draws)) + 2e-4
    assert np.all(error < allowed)


@pytest.mark.parametrize(
    "time",
    [ht.Forgetting(0.05), ht.Static(), ht.priors.Wiener(0.05)],
    ids=["drift", "still", "walk"],
)
def test_a_finite_engine_draws_from_its_posterior(time: ht.Forgetting) -> None:
    prior = ht.Prior(Matern(0.3, nu=1.5), time, 0.05, mean=0.5)
    engine = FiniteEngine(prior, GRID)
    t = played(engine, prior, GRID) + 0.5
    rng = np.random.default_rng(0)
    assert isinstance(engine, Sampleable)
    draws = np.array([engine.sample_path(t, rng) for _ in range(DRAWS)])
    assert_posterior(draws, engine, t, GRID.indices)


def test_marginals_stay_exact_when_few_pivots_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "_MOST_PIVOTS", 6)
    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.05), 0.05)
    engine = FiniteEngine(prior, GRID)
    draws = np.array([engine.sample_path(1.0, rng) for rng in [np.random.default_rng(1)] * DRAWS])
    assert np.all(np.abs(draws.var(axis=0) - 1.0) < 5.0 * np.sqrt(2.0 / DRAWS))


def test_a_path_is_a_draw_and_interpolates_between_its_points() -> None:
    """Any other engine: jointly at some points, and elsewhere given those."""
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.05), 0.05)
    engine = ReferenceEngine(prior, square())
    t = played(engine, prior, square())
    rng = np.random.default_rng(0)
    X = rng.random((25, 2))
    paths = [thompson._Path(engine, t, X, rng) for _ in range(800)]
    assert_posterior(np.array([path.values for path in paths]), engine, t, X)
    np.testing.assert_allclose(paths[0](X), paths[0].values, atol=5.0 * np.sqrt(1e-4))
    between = rng.random((3, 2)) * 0.5 + 0.25
    assert_posterior(np.array([path(between) for path in paths]), engine, t, between)


def test_rows_of_a_covariance_made_one_by_one() -> None:
    K = RBF(1.0)(GRID.points)
    pivots, R, left = pivoted_rows(lambda i: K[i], K.diagonal(), 1e-6, most=25)
    assert left.max() <= 1e-6
    assert len(pivots) < 25
    np.testing.assert_allclose(R.T @ R, K, atol=1e-5)
    np.testing.assert_allclose(np.triu(R[:, pivots]), R[:, pivots], atol=1e-12)
    pivots, R, left = pivoted_rows(lambda i: K[i], K.diagonal(), 0.0, most=4)
    assert (len(pivots), R.shape) == (4, (4, 25))
    np.testing.assert_allclose(left, np.diag(K - R.T @ R), atol=1e-12)


def test_one_of_a_bank_is_drawn_by_its_weight() -> None:
    learn = ht.Learn([0.01, 0.3])
    bank = BankEngine(learn, PRIOR, lambda prior: engines.build(prior, GRID))
    played(bank, PRIOR, GRID)
    weight = float(bank.learned().weights[0])
    rng = np.random.default_rng(2)
    first = bank._ensemble.engines[0]
    share = np.mean([bank.component(30.0, rng) is first for _ in range(DRAWS)])
    assert abs(share - weight) < 5.0 * np.sqrt(weight * (1.0 - weight) / DRAWS)


# Choosing


@pytest.mark.parametrize("domain", [GRID, square()], ids=["finite", "box"])
def test_each_ask_has_its_own_draw(domain: ht.Finite | ht.Box) -> None:
    optimizer = ht.Optimizer(domain, ht.policies.tv_ts(PRIOR), seed=1)
    first = optimizer.propose(1.0)
    assert optimizer.propose(1.0).x.tolist() == first.x.tolist()
    points = {tuple(optimizer.ask(1.0).x.tolist()) for _ in range(8)}
    assert len(points) > 3  # draws of their own keep open suggestions apart


def test_choices_are_as_likely_as_they_are_best() -> None:
    """Two independent points: the share is the probability that one is above the other."""
    prior = ht.Prior(RBF(0.01), ht.Static(), noise=0.5)
    optimizer = ht.Optimizer(ht.Finite([0.0, 1.0]), ht.policies.tv_ts(prior), seed=0)
    optimizer.tell_many([1.0] * 3, [[0.0], [0.0], [1.0]], [0.9, 0.7, 0.3])
    belief = optimizer.belief(1.0)

    gap, spread = belief.mean[0] - belief.mean[1], np.hypot(*belief.std)
    probability = norm.cdf(gap / spread)
    agent, stream = optimizer.agent, RNGStream(5)
    share = np.mean([agent.choose(1.0, stream.at(i))[0] == 0 for i in range(DRAWS)])
    assert abs(share - probability) < 5.0 * np.sqrt(probability * (1.0 - probability) / DRAWS)


def test_a_part_of_the_points_is_drawn_alike() -> None:
    engine = FiniteEngine(PRIOR, GRID)
    t, part, stream = played(engine, PRIOR, GRID), np.array([3, 7, 20]), RNGStream(6)
    for i in range(20):
        drawn = engine.sample_path(t, stream.at(i)())
        chosen = Thompson().choose(engine, part, t, stream.at(i))
        assert chosen.tolist() == [part[drawn[part].argmax()]]


def test_the_search_around_the_best_climbs() -> None:
    """Of a draw with next to no spread the maximum is the mean's, found closely."""
    prior = ht.Prior(RBF(0.5), ht.Static(), noise=1e-4)
    optimizer = ht.Optimizer(square(), ht.policies.tv_ts(prior), seed=0)
    X = np.random.default_rng(0).random((60, 2))
    y = -np.sum((X - [0.31, 0.62]) ** 2, axis=1)
    optimizer.tell_many(np.ones(60), X, y)
    found = np.array([optimizer.ask(1.0).x for _ in range(5)])
    assert np.abs(found - [0.31, 0.62]).max() < 0.06


def test_the_policy_is_a_composition() -> None:
    policy = ht.policies.tv_ts(PRIOR, ht.Learn())
    assert (policy.acquisition, policy.memory) == (Thompson(), KeepAll())
    assert policy.prior is PRIOR
    assert policy.learn is not None


@pytest.mark.parametrize("learn", [None, ht.Learn([0.003, 0.03, 0.3])], ids=["known", "learned"])
def test_it_tracks(learn: ht.Learn | None) -> None:
    """Paired regrets against choosing at random, five standard errors."""
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.03), noise=0.01)
    world, gains = GPDrift(ht.grid(8, 8), prior), []
    for seed in range(6):
        tracking, blind = (
            np.mean([step.regret for step in run(policy, world, 80, seed)])
            for policy in (ht.policies.tv_ts(prior, learn), ht.uniform())
        )
        gains.append(blind - tracking)
    assert np.mean(gains) > 5.0 * np.std(gains, ddof=1) / np.sqrt(6)
