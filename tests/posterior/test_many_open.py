"""Very many open evaluations: exact results at a bounded cost of choices."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.domains import Domain

MANY = 130
PRIOR = ht.Prior(space=RBF(0.3), time=ht.Forgetting(0.02), noise=0.05)


@pytest.mark.parametrize("domain", [ht.grid(9), ht.Box([0.0], [1.0])], ids=["finite", "box"])
def test_results_in_any_order_give_the_posterior_of_results_at_once(domain: Domain) -> None:
    late, at_once = (ht.Optimizer(domain, ht.tv_gp_ucb(PRIOR), seed=0) for _ in range(2))
    rng = np.random.default_rng(3)
    places = [
        int(i) if isinstance(domain, ht.Finite) else [i / 8] for i in rng.integers(9, size=MANY)
    ]
    values = rng.normal(size=MANY)
    opened = [late.begin(place, 1.0 + step) for step, place in enumerate(places)]
    for step, place in enumerate(places):
        at_once.tell(at_once.begin(place, 1.0 + step), values[step])
    for step in rng.permutation(MANY).tolist():
        late.tell(opened[step], values[step])
    X = None if isinstance(domain, ht.Finite) else np.linspace(0.0, 1.0, 7)[:, None]
    found, expected = late.belief(150.0, X), at_once.belief(150.0, X)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-5)
    np.testing.assert_allclose(found.std, expected.std, atol=1e-5)


def test_only_the_latest_open_evaluations_shrink_the_variance() -> None:
    many, latest = (ht.Optimizer(ht.grid(9), ht.tv_gp_ucb(PRIOR), seed=0) for _ in range(2))
    places = np.random.default_rng(4).integers(9, size=MANY).tolist()
    for step, place in enumerate(places):
        many.begin(place, 1.0 + step)
        if step >= MANY - 100:
            latest.begin(place, 1.0 + step)
    np.testing.assert_allclose(many.belief().std, latest.belief().std, atol=1e-9)
    assert (many.belief().std <= many.belief(count_open=False).std + 1e-12).all()
    for suggestion in many.open[:-100]:
        many.cancel(suggestion)
    np.testing.assert_allclose(many.belief().std, latest.belief().std, atol=1e-9)
