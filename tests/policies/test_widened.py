"""What people see of a learned belief."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.acquisition import UCB
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.policies.frame import widened, widening
from heliotrope.policies.gp import GPPolicy

DOMAIN, PLACES = ht.grid(12), np.arange(12)
POLICY = GPPolicy(ht.Prior(RBF(0.3), ht.Forgetting(0.01), 0.04), UCB(2.0))


@pytest.mark.parametrize(("results", "factor"), [(0, 6.7), (1, 6.7), (5, 2.7), (100, 1.75)])
def test_variances_allow_for_a_wrong_model(results: int, factor: float) -> None:
    assert widening(results) == pytest.approx(factor)


def test_draws_have_these_variances() -> None:
    agent, rng, factor = POLICY.start(DOMAIN), np.random.default_rng(0), widening(5)
    mean, variance = agent.predict(2.0, PLACES, count_open=False)
    own = agent.sample(2.0, PLACES, rng, 20_000)
    draws = widened(own, mean, variance, factor, rng)
    error = 4.0 / np.sqrt(2 * 20_000)  # four standard errors of a deviation
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(factor * variance), rtol=error)
    correlation = np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]
    together = (2.7 - 0.3 * 1.7) / 2.7  # the rest is independent at each place
    expected = together * float(RBF(0.3)([[0.0]], [[1.0 / 11.0]])[0, 0])
    assert correlation == pytest.approx(expected, abs=4.0 * (1.0 - expected**2) / np.sqrt(20_000))


def test_an_optimizer_shows_the_wider_belief_and_chooses_by_its_own() -> None:
    opt = ht.Optimizer(DOMAIN, ht.auto(DOMAIN), seed=0)
    for _ in range(9):
        ask = opt.ask()
        opt.tell(ask, -float((ask.x[0] - 0.4) ** 2))
    agent, seen, best = opt.agent, opt.belief(opt.latest), opt.best(opt.latest)
    assert isinstance(agent, AdaptiveAgent)
    _, own = agent.predict(opt.latest, PLACES, count_open=False)
    assert np.all(seen.std**2 > 1.7 * own)
    assert best.index is not None
    assert best.std == pytest.approx(seen.std[best.index])
