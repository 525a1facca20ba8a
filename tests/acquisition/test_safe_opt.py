"""SafeOpt: maximizers and expanders by hand, and a run that keeps its threshold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.acquisition.safe_opt import expanders, maximizers
from heliotrope.errors import InputError
from heliotrope.lab.environments import GPDrift
from heliotrope.validation import Array

PRIOR = ht.Prior(RBF(0.3), ht.Forgetting(0.01), noise=1e-4)


def test_maximizers_may_be_the_best_safe_place() -> None:
    mean, width = np.array([0.0, 1.0, 2.0, 9.0]), np.array([0.5, 0.6, 0.5, 0.1])
    safe = np.array([True, True, True, False])
    assert maximizers(mean, width, safe).tolist() == [False, True, True, False]


def test_expanders_are_found_as_by_conditioning_on_the_upper_bound() -> None:
    domain = ht.grid(9)
    told = [(2, 0.5), (3, 0.4)]
    policy = ht.tv_gp_ucb(PRIOR, engine="reference")

    def belief(results: list[tuple[int, float]]) -> tuple[Array, Array, Array]:
        agent = policy.start(domain)
        for key, (index, y) in enumerate(results):
            agent.open(key, 1.0, np.array([index]))
            agent.tell(key, y)
        mean, variance = agent.predict(1.0, domain.indices, count_open=False)
        return mean, 2.0 * np.sqrt(variance), agent.covariance(1.0, domain.indices)

    mean, width, covariance = belief(told)
    safe = mean - width >= 0.0
    found = expanders(mean, width, covariance, safe)
    for x in np.flatnonzero(safe):
        m, w, _ = belief([*told, *[(int(x), float(mean[x] + width[x]))] * 400])
        assert found[x] == bool(np.any((m - w >= 0.0) & ~safe))
    assert found.any()


def test_it_keeps_its_threshold_in_a_drifting_world() -> None:
    domain, threshold = ht.grid(30), 0.0
    values = GPDrift(domain, PRIOR).episode(60, seed=3).values
    start = int(values[0].argmax())
    policy = ht.policies.tv_safe_opt(PRIOR, threshold, first=start)
    opt = ht.Optimizer(domain, policy, seed=0)
    crossed = 0
    for step in range(60):
        ask = opt.ask()
        opt.tell(ask, float(values[step, ask.index]))
        crossed += bool(values[step, ask.index] < threshold)
    assert crossed <= 3
    assert len(set(opt.history.index.tolist())) > 5


def test_a_box_is_refused() -> None:
    opt = ht.Optimizer(ht.Box(0.0, 1.0), ht.policies.tv_safe_opt(PRIOR, 0.0))
    with pytest.raises(InputError):
        opt.ask()
