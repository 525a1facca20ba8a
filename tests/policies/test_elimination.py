"""PE-GP-UCB: its rule, its eliminations, and its belief."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.lab.environments import GPDrift, run
from heliotrope.policies import PriorElimination
from heliotrope.policies.elimination import EliminationAgent
from heliotrope.posterior import ReferenceEngine
from strategies import PRIOR, refusal, smooth_time, square

GRID = ht.grid(6, 6)
EPSILONS = (0.001, 0.3)


def epsilons_left(agent: EliminationAgent) -> list[float]:
    return [prior.time.epsilon for prior in agent.left if isinstance(prior.time, ht.Forgetting)]


def agent_of(optimizer: ht.Optimizer) -> EliminationAgent:
    agent = optimizer.agent
    assert isinstance(agent, EliminationAgent)
    return agent


@pytest.mark.parametrize("domain", [GRID, square()], ids=["finite", "box"])
def test_the_rule_written_out(domain: Domain) -> None:
    """Against dense formulas: which prior chooses, its errors, its elimination."""
    policy = ht.policies.pe_gp_ucb(PRIOR, EPSILONS, beta=0.5, delta=0.2)
    optimizer, rng = ht.Optimizer(domain, policy, seed=1), np.random.default_rng(0)
    references = [ReferenceEngine(prior, domain) for prior in policy.priors]
    left, errors, widths, chosen = [0, 1], [0.0, 0.0], [0.0, 0.0], [0, 0]
    for step in range(1, 41):
        s = optimizer.ask()
        place = s.x[None] if s.index is None else np.array([s.index])
        beliefs = [reference.predict(s.t, place) for reference in references]
        bounds = [float(mean[0] + sqrt(0.5 * variance[0])) for mean, variance in beliefs]
        u = max(left, key=lambda v: bounds[v])
        y = float(rng.normal(3.0 * np.sin(step), 0.2))
        optimizer.tell(s, y)
        for reference in references:
            reference.open(step, s.t, place)
            reference.tell(step, y)
        chosen[u] += 1
        errors[u] += y - float(beliefs[u][0][0])
        widths[u] += sqrt(0.5 * float(beliefs[u][1][0]))
        xi = 2.0 * PRIOR.noise * log(2 * pi**2 * step**2 / (3 * 0.2))
        if abs(errors[u]) > sqrt(xi * chosen[u]) + widths[u] and len(left) > 1:
            left.remove(u)
        assert epsilons_left(agent_of(optimizer)) == [EPSILONS[v] for v in left]
    assert len(left) == 1  # the rule did come to bear


def test_every_choice_has_the_highest_bound_of_any_prior() -> None:
    policy = ht.policies.pe_gp_ucb(PRIOR, (0.001, 0.03, 0.3), beta=9.0)
    optimizer, rng = ht.Optimizer(GRID, policy, seed=2), np.random.default_rng(1)
    for _ in range(25):
        s = optimizer.propose()
        engines = agent_of(optimizer)._ensemble.engines
        bounds = [
            mean + 3.0 * np.sqrt(variance)
            for mean, variance in (engine.predict(s.t, GRID.indices) for engine in engines)
        ]
        assert np.max(bounds) == pytest.approx(np.max(bounds, axis=0)[s.index])
        optimizer.tell(optimizer.ask(), float(rng.normal()))


def test_a_prior_that_is_right_is_not_eliminated() -> None:
    """By the theorem's beta, in at most a share delta of the worlds: here in none of eight."""
    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.05), noise=0.05)
    policy = ht.policies.pe_gp_ucb(prior, (0.05, 0.9), beta=ht.acquisition.TVBeta(0.1, 2))
    world = GPDrift(GRID, prior)
    for seed in range(8):
        optimizer = ht.Optimizer(GRID, policy, seed)
        episode = world.episode(60, seed)
        rng = np.random.default_rng(seed)
        for t in range(1, 61):
            s = optimizer.ask(float(t))
            value = float(episode.values[t - 1, s.index or 0])
            optimizer.tell(s, value + float(rng.normal(scale=np.sqrt(0.05))))
        assert 0.05 in epsilons_left(agent_of(optimizer))


def test_an_error_within_the_noise_of_its_result_eliminates_nothing() -> None:
    left = []
    for std in (None, 50.0):
        optimizer = ht.Optimizer(GRID, ht.policies.pe_gp_ucb(PRIOR, EPSILONS, beta=0.01), seed=0)
        for _ in range(5):
            optimizer.tell(optimizer.ask(), 50.0, std=std)
        left.append(len(agent_of(optimizer).left))
    assert left == [1, 2]


def test_the_last_prior_stays() -> None:
    optimizer = ht.Optimizer(GRID, ht.policies.pe_gp_ucb(PRIOR, EPSILONS, beta=0.01), seed=0)
    for _ in range(30):
        optimizer.tell(optimizer.ask(), 50.0)
    assert len(agent_of(optimizer).left) == 1
    assert np.isfinite(optimizer.belief().mean).all()


def test_the_belief_is_the_mixture_of_what_is_left() -> None:
    policy = ht.policies.pe_gp_ucb(PRIOR, EPSILONS)
    optimizer = ht.Optimizer(GRID, policy, seed=0)
    references = [ReferenceEngine(prior, GRID) for prior in policy.priors]
    for key in range(6):
        s = optimizer.ask()
        optimizer.tell(s, 0.5)
        for reference in references:
            reference.open(key, s.t, np.array([s.index]))
            reference.tell(key, 0.5)
    assert len(agent_of(optimizer).left) == 2
    found = optimizer.belief(8.0)
    (m1, v1), (m2, v2) = (reference.predict(8.0, GRID.indices) for reference in references)
    np.testing.assert_allclose(found.mean, (m1 + m2) / 2, atol=1e-8)
    np.testing.assert_allclose(found.std**2, (v1 + v2) / 2 + ((m1 - m2) / 2) ** 2, atol=1e-8)
    best = optimizer.best(8.0)
    assert best.mean == pytest.approx(found.mean.max())


def test_late_values_are_compared_with_the_prediction_at_the_ask() -> None:
    agent = PriorElimination([PRIOR], ht.LogBeta()).start(GRID)
    agent.open(0, 1.0, np.array([3]))
    agent.open(1, 2.0, np.array([3]))
    agent.tell(1, 2.0)
    agent.tell(0, 2.0)
    chosen, errors, _ = agent._records[0]
    assert chosen == 2
    assert errors == pytest.approx(2 * (2.0 - 0.5))


def test_a_state_survives_an_elimination() -> None:
    optimizer = ht.Optimizer(GRID, ht.policies.pe_gp_ucb(PRIOR, EPSILONS, beta=0.01), seed=0)
    for _ in range(10):
        optimizer.tell(optimizer.ask(), 9.0)
    assert len(agent_of(optimizer).left) == 1
    loaded = ht.Optimizer.loads(optimizer.dumps())
    assert epsilons_left(agent_of(loaded)) == epsilons_left(agent_of(optimizer))
    for _ in range(5):
        one, other = optimizer.ask(), loaded.ask()
        assert one.index == other.index
        optimizer.tell(one, 1.0)
        loaded.tell(other, 1.0)


def test_it_tracks_without_knowing_the_drift() -> None:
    """Paired regrets against choosing at random, five standard errors."""
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.03), noise=0.01)
    world, gains = GPDrift(ht.grid(8, 8), prior), []
    for seed in range(6):
        tracking, blind = (
            np.mean([step.regret for step in run(policy, world, 80, seed)])
            for policy in (ht.policies.pe_gp_ucb(prior, (0.003, 0.03, 0.3), beta=3.0), ht.uniform())
        )
        gains.append(blind - tracking)
    assert np.mean(gains) > 5.0 * np.std(gains, ddof=1) / np.sqrt(6)


def test_priors_of_any_kind_can_compete() -> None:
    priors = [
        ht.Prior(RBF(0.3)),
        ht.Prior(Matern(0.3, nu=1.5), ht.priors.Wiener(0.1)),
        smooth_time(),
    ]
    optimizer = ht.Optimizer(
        GRID, PriorElimination(priors, ht.acquisition.ConstantBeta(3.0)), seed=0
    )
    for y in (0.3, 0.1, -0.4):
        optimizer.tell(optimizer.ask(), y)
    assert len(optimizer.belief().mean) == 36


@pytest.mark.parametrize(
    "call",
    [
        lambda: ht.policies.pe_gp_ucb(PRIOR, []),
        lambda: ht.policies.pe_gp_ucb(PRIOR, [0.1]),
        lambda: ht.policies.pe_gp_ucb(PRIOR, [0.1, 0.01, 0.1]),
        lambda: ht.policies.pe_gp_ucb(PRIOR, [0.1, 1.5]),
        lambda: ht.policies.pe_gp_ucb(PRIOR, EPSILONS, beta=-1.0),
        lambda: ht.policies.pe_gp_ucb(PRIOR, EPSILONS, delta=0.0),
        lambda: ht.policies.pe_gp_ucb(PRIOR, EPSILONS, delta=1.0),
        lambda: ht.policies.pe_gp_ucb(smooth_time(), EPSILONS),
        lambda: ht.policies.pe_gp_ucb(None, EPSILONS),  # type: ignore[arg-type]
        lambda: PriorElimination([], ht.acquisition.ConstantBeta(1.0)),
        lambda: PriorElimination([None], ht.acquisition.ConstantBeta(1.0)),  # type: ignore[list-item]
    ],
)
def test_bad_settings_are_refused(call: Callable[[], object]) -> None:
    with refusal(InputError):
        call()
