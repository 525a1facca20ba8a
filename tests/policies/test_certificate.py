"""Certificates: bounds of the regret along the path, checked by simulation and by hand."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope.acquisition import FiniteBeta, LogBeta, RBeta, TVBeta
from heliotrope.errors import InputError
from heliotrope.lab.environments import GPDrift
from heliotrope.lab.theory import kernel_constants
from heliotrope.policies import GPPolicy, cp_gp_ucb
from heliotrope.posterior import Learn
from heliotrope.terms import Drifts, Level, Stays

PRIOR = ht.Prior(RBF(0.3), ht.Forgetting(0.05), noise=0.05)
FIELD = ht.grid(5, 5)
KNOWN = kernel_constants(RBF(0.3), 2)
THEOREM = TVBeta(0.1, 2, 1.0, KNOWN.a1, KNOWN.b1)
FINITE = FiniteBeta(25, 0.1)


def played(
    policy: GPPolicy, world: GPDrift, steps: int, seed: int
) -> tuple[ht.Optimizer, list[float]]:
    """An optimizer after some steps in a world, and its regrets."""
    episode, opt, regrets = world.episode(steps, seed), ht.Optimizer(world.domain, policy, seed), []
    for _ in range(steps):
        s = opt.ask()
        assert s.index is not None
        opt.tell(s, episode.measure(s.t, s.index))
        regrets.append(episode.regret(s.t, s.index))
    return opt, regrets


@pytest.mark.parametrize("beta", [FINITE, THEOREM], ids=["finite", "convex"])
def test_it_is_the_sum_of_the_theorem(beta: FiniteBeta | TVBeta) -> None:
    """2 sqrt(beta_t) sigma~_{t-1}(x_t), and 1 / t^2 in the theorem for convex domains."""
    opt = ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, beta), seed=0)
    rng, expected = np.random.default_rng(0), []
    for t in range(1, 13):
        s = opt.propose()
        assert s.index is not None
        deviation = opt.belief(s.t).std[s.index]
        extra = 1.0 / t**2 if beta is THEOREM else 0.0
        expected.append(2.0 * sqrt(beta(t)) * deviation + extra)
        opt.tell(opt.ask(), rng.normal())
    found = opt.certificate()
    np.testing.assert_allclose(found.by_step, expected, rtol=1e-9)
    assert found.bound == pytest.approx(sum(expected))
    assert (found.steps, found.probability) == (12, 0.9)
    assert found.per_step == pytest.approx(found.bound / 12)
    assert "drawn from the policy's prior" in str(found)


SUM = ht.Prior(
    noise=0.05,
    terms=[Stays(0.4 * RBF(0.3)), Drifts(0.6 * Matern(0.3, nu=2.5), 0.1), Level(2.0, epsilon=0.1)],
)


@pytest.mark.parametrize("prior", [PRIOR, SUM], ids=["paper", "sum"])
def test_it_holds_in_simulated_worlds(prior: ht.Prior) -> None:
    """At delta = 0.5, in each prefix of 60 worlds: at most half of them may fail."""
    world, delta = GPDrift(FIELD, prior), 0.5
    policy, failures, ratios = ht.tv_gp_ucb(prior, FiniteBeta(25, delta)), 0, []
    for seed in range(60):
        opt, regrets = played(policy, world, 15, seed)
        bound = np.cumsum(opt.certificate().by_step)
        failures += bool(np.any(np.cumsum(regrets) > bound))
        ratios.append(sum(regrets) / bound[-1])
    assert failures <= delta * 60
    assert 0.02 < np.mean(ratios) < 1.0


def test_any_choice_has_a_bound() -> None:
    """A point that does not maximize the bound adds what it falls short by."""
    opt = ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, FINITE), seed=0)
    for t, y in enumerate((2.0, -1.0, 0.5), start=1):
        opt.tell(opt.ask(), y)
        assert opt.latest == t
    belief, width = opt.belief(4.0), sqrt(FINITE(4))
    worst = int(np.argmin(belief.mean + width * belief.std))
    s = opt.begin(worst, 4.0)
    opt.tell(s, 0.0)
    highest = (belief.mean + width * belief.std).max()
    lowest = belief.mean[worst] - width * belief.std[worst]
    assert opt.certificate().by_step[-1] == pytest.approx(highest - lowest)


def test_open_suggestions_count_and_late_results_do_not_matter() -> None:
    def told(order: tuple[int, ...]) -> ht.Optimizer:
        opt = ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, FINITE), seed=0)
        for i in range(4):
            opt.begin(5 * i, i + 1.0)
        for i in order:
            opt.tell(i, float(i))
        return opt

    late, early = told((2, 0, 1)).certificate(), told((0, 1, 2)).certificate()
    assert late.steps == 4
    np.testing.assert_allclose(late.by_step, early.by_step)
    assert ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, FINITE)).certificate().bound == 0.0


def test_results_of_others_are_data_only() -> None:
    alone, helped = (ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, FINITE), seed=0) for _ in range(2))
    helped.tell_many([0.25, 0.5], [7, 8], [0.0, 0.1])
    for opt in (alone, helped):
        opt.begin(7, 1.0)
    assert (alone.certificate().steps, helped.certificate().steps) == (1, 1)
    assert helped.certificate().bound < alone.certificate().bound


def test_a_saved_optimizer_has_the_same_certificate(tmp_path: object) -> None:
    opt, _ = played(ht.tv_gp_ucb(PRIOR, FINITE), GPDrift(FIELD, PRIOR), 6, 0)
    opt.save(f"{tmp_path}/opt")
    again = ht.Optimizer.load(f"{tmp_path}/opt").certificate()
    assert again.bound == pytest.approx(opt.certificate().bound)


def test_in_a_box_every_choice_is_taken_as_the_maximizer() -> None:
    opt = ht.Optimizer(ht.Box([0, 0], [1, 1]), ht.tv_gp_ucb(PRIOR, THEOREM), seed=0)
    for y in (0.3, -0.2):
        opt.tell(opt.ask(), y)
    found = opt.certificate()
    assert found.by_step[0] == pytest.approx(2.0 * sqrt(THEOREM(1)) + 1.0)
    assert "told before the next ask" in found.assumptions[-1]


def test_times_change_the_probability() -> None:
    opt = ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, FINITE), seed=0)
    for t in (0.5, 1.0, 1.5):
        opt.begin(0, t)
    failure = 0.1 * 6.0 / pi**2 * (4.0 + 1.0 + 1.0 / 2.25)
    assert opt.certificate().probability == pytest.approx(1.0 - failure)
    opt = ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, FINITE), seed=0)
    opt.begin(0, 0.01)
    with pytest.raises(InputError, match="units of a step"):
        opt.certificate()
    opt = ht.Optimizer(FIELD, ht.tv_gp_ucb(PRIOR, FINITE), seed=0)
    opt.begin(0, -1.0)
    with pytest.raises(InputError, match="times above 0"):
        opt.certificate()


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (ht.tv_gp_ucb(PRIOR), "whose beta is a theorem's"),
        (ht.tv_gp_ucb(PRIOR, LogBeta(50.0, 9.0)), "whose beta is a theorem's"),
        (ht.tv_gp_ucb(PRIOR, 30.0), "whose beta is a theorem's"),
        (ht.r_gp_ucb(PRIOR, 5, RBeta(0.1, 2)), "keeps all results"),
        (cp_gp_ucb(PRIOR, beta=THEOREM), "keeps all results"),
        (ht.tv_gp_ucb(PRIOR, THEOREM, learn=Learn()), "learns its drift"),
        (ht.tv_gp_ucb(PRIOR, FiniteBeta(24)), "at most 24 points"),
        (ht.auto(FIELD), "a GP policy with a given prior"),
        (ht.uniform(), "a GP policy with a given prior"),
    ],
)
def test_other_policies_are_refused(policy: ht.policies.Policy, said: str) -> None:
    with pytest.raises(InputError) as caught:
        ht.Optimizer(FIELD, policy).certificate()
    assert said in str(caught.value)
    assert "FiniteBeta" in str(caught.value)


def test_contexts_are_refused() -> None:
    problem = ht.Contextual(ht.grid(3), ht.Box([0], [1]))
    opt = ht.Optimizer(problem, ht.tv_gp_ucb(PRIOR, TVBeta(0.1, 2)))
    with pytest.raises(InputError, match="without contexts"):
        opt.certificate()
