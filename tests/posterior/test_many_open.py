"""Very many open evaluations: exact results at a bounded cost of choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.domains import Domain
from heliotrope.posterior.markov import PendingEvaluations
from heliotrope.validation import Array

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


def test_rows_of_open_evaluations_follow_a_change_of_coordinates_and_a_restore() -> None:
    pending, other = PendingEvaluations(), PendingEvaluations()
    pending.add(0, np.array([0.5, 0.1]), 0.0, 1.0, np.empty(0))
    other.add(1, np.array([0.2, 0.3]), 0.0, 2.0, np.empty(0))
    rows = pending.as_if_told(0.1)
    pending.transform(lambda C: 2.0 * C)
    np.testing.assert_allclose(pending.as_if_told(0.1), 2.0 * rows)
    assert (np.abs(pending.as_if_told(0.2)) < 2.0 * np.abs(rows)).all()
    pending.restore(other.state())
    np.testing.assert_allclose(pending.as_if_told(0.2), other.as_if_told(0.2))


STEPS = st.lists(
    st.tuples(st.sampled_from(["begin", "begin", "tell", "cancel", "load"]), st.integers(0, 8)),
    min_size=1,
    max_size=30,
)


@pytest.mark.parametrize("name", ["finite", "box", "learned"])
@given(steps=STEPS)
def test_a_belief_is_the_same_whenever_open_evaluations_were_counted(
    name: str, steps: Sequence[tuple[str, int]]
) -> None:
    """It is asked after every step, and compared with a copy that was never asked before."""
    domain = ht.Box([0.0], [1.0]) if name == "box" else ht.grid(9)
    policy = ht.auto(domain) if name == "learned" else ht.tv_gp_ucb(PRIOR)
    asked = ht.Optimizer(domain, policy, seed=0)
    for step, (kind, number) in enumerate(steps):
        asked = _after(asked, kind, number, 1.0 + step)
        found, expected = (_belief(one, 1.0 + step) for one in (asked, _copy(asked)))
        np.testing.assert_allclose(found, expected, rtol=1e-12)  # loading may round the last bit


def _after(optimizer: ht.Optimizer, kind: str, number: int, t: float) -> ht.Optimizer:
    opened = optimizer.open
    if kind == "load":
        return _copy(optimizer)
    if kind == "begin" or not opened:
        optimizer.begin(number if isinstance(optimizer.domain, ht.Finite) else [number / 8], t)
    elif kind == "tell":
        optimizer.tell(opened[number % len(opened)], np.cos(number + t))
    else:
        optimizer.cancel(opened[number % len(opened)])
    return optimizer


def _copy(optimizer: ht.Optimizer) -> ht.Optimizer:
    return ht.Optimizer.from_parts(*optimizer.parts())


def _belief(optimizer: ht.Optimizer, t: float) -> Array:
    X = None if isinstance(optimizer.domain, ht.Finite) else np.linspace(0.0, 1.0, 7)[:, None]
    beliefs = (optimizer.belief(t, X, count_open=count) for count in (True, False, True))
    return np.array([(belief.mean, belief.std) for belief in beliefs])
