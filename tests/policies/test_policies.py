"""Named policies as compositions, first points and the uniform policy."""

from __future__ import annotations

import numpy as np

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.memory import KeepAll, Restart
from heliotrope.policies import GPPolicy
from strategies import PRIOR, refusal


def test_named_policies_are_compositions() -> None:
    still = ht.gp_ucb(PRIOR, 2.0)
    assert (still.memory, still.acquisition) == (KeepAll(), ht.UCB(2.0))
    assert still.prior.time == ht.Static()
    restarting = ht.r_gp_ucb(PRIOR, 7, 2.0)
    assert (restarting.memory, restarting.acquisition) == (Restart(7), ht.UCB(2.0))
    assert restarting.prior.time == ht.Static()
    tracking = ht.tv_gp_ucb(PRIOR, 2.0)
    assert (tracking.memory, tracking.acquisition) == (KeepAll(), ht.UCB(2.0))
    assert tracking.prior is PRIOR


def test_static_policies_keep_the_rest_of_the_prior() -> None:
    for policy in (ht.gp_ucb(PRIOR), ht.r_gp_ucb(PRIOR, 7)):
        prior = policy.prior
        assert (prior.space, prior.noise, prior.mean) == (PRIOR.space, PRIOR.noise, PRIOR.mean)


def test_beta_is_the_papers_by_default() -> None:
    for policy in (ht.gp_ucb(PRIOR), ht.r_gp_ucb(PRIOR, 7), ht.tv_gp_ucb(PRIOR)):
        assert policy.acquisition == ht.UCB(ht.LogBeta(0.8, 4.0))


def test_the_uniform_policy_takes_all_points_alike() -> None:
    """Counts of 2500 draws among 25 points: a chi-square of 24, within 5 standard errors."""
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.uniform(), seed=0)
    counts = np.bincount([int(optimizer.ask().index or 0) for _ in range(2500)], minlength=25)
    chi_square = np.sum((counts - 100.0) ** 2 / 100.0)
    assert abs(chi_square - 24.0) < 5.0 * np.sqrt(48.0)


def test_the_uniform_policy_fills_a_box() -> None:
    """Mean 1/2 and variance 1/12 of 2000 draws a coordinate, within 5 standard errors."""
    box = ht.Box([-1.0, 10.0], [1.0, 11.0])
    optimizer = ht.Optimizer(box, ht.uniform(), seed=0)
    unit = box.unit(np.array([optimizer.ask().x for _ in range(2000)]))
    assert np.all((unit >= 0.0) & (unit <= 1.0))
    assert np.all(np.abs(unit.mean(axis=0) - 0.5) < 5.0 * np.sqrt(1 / 12 / 2000))
    assert np.all(np.abs(unit.var(axis=0) - 1 / 12) < 5.0 * np.sqrt(1 / 180 / 2000))


def test_first_is_a_point_or_a_word() -> None:
    with refusal(InputError):
        GPPolicy(PRIOR, ht.UCB(2.0), first="nearby")
