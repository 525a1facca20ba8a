"""The choice among candidates, with canned beliefs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm

from heliotrope.live.choosing import Decision, View, decide, expected_excess, safe
from heliotrope.validation import Array, Indices


def view(score: list[float], margin: list[float], doubt: float = 0.1) -> View:
    """Candidates with independent margins."""
    q = len(score)

    def covariance(_: int, some: Indices, others: Indices) -> Array:
        return np.where(some[:, None] == others[None, :], doubt**2, 0.0)

    return View(
        score=np.array(score),
        mean=np.array(score),
        std=np.zeros(q),
        margin=np.array(margin)[:, None],
        doubt=np.full((q, 1), doubt),
        reachable=np.ones(q, dtype=bool),
        price=np.zeros(q),
        noise=np.array([0.01]),
        covariance=covariance,
    )


def chosen(one: View, *, first: bool = False, control: bool = False) -> Decision:
    return decide(one, 0.05, np.random.default_rng, first=first, control=control)


def test_only_safe_candidates_are_chosen() -> None:
    assert chosen(view([1.0, 3.0, 2.0], [1.0, 0.1, 1.0])) == Decision(2, "best")


def test_without_a_safe_one_the_safest_is_chosen() -> None:
    assert chosen(view([1.0, 3.0, 2.0], [0.0, -0.1, 0.1])) == Decision(2, "fallback")


@pytest.mark.parametrize("seed", [0, 1, 3, 13, 29])  # the last two differ from the safest now
def test_a_fallback_counts_the_chance_of_now_and_of_the_next_step(seed: int) -> None:
    rng, q = np.random.default_rng(seed), 5
    margins, roots = rng.normal(-0.3, 0.1, (q, 2)), rng.normal(size=(2, q, q)) / np.sqrt(q)
    joint, factor = roots @ roots.transpose(0, 2, 1), np.array([3.0, 1.0])
    doubt = factor * np.sqrt(np.diagonal(joint, axis1=1, axis2=2).T)
    one = View(
        score=np.zeros(q),
        mean=np.zeros(q),
        std=np.zeros(q),
        margin=margins,
        doubt=doubt,
        reachable=np.ones(q, dtype=bool),
        price=np.zeros(q),
        noise=np.full(2, 0.1),
        covariance=lambda limit, some, others: joint[limit][np.ix_(some, others)],
        factor=factor,
    )
    chances = [_simulated_chance(margins, joint, 0.1, x, rng) for x in range(q)]
    found = chosen(one)
    assert found.reason == "fallback"
    assert chances[found.index] >= max(chances) - 0.03  # errors of both simulations


def _simulated_chance(
    margins: Array, joint: Array, noise: float, x: int, rng: np.random.Generator
) -> float:
    """The chance that x keeps all limits now, and the safest candidate after a result at x."""
    draws = 20_000
    now, after = 1.0, np.ones((draws, len(margins)))
    for limit, K in enumerate(joint):
        gain = K[x] / (K[x, x] + noise)
        surprise = np.sqrt(K[x, x] + noise) * rng.standard_normal((draws, 1))
        mean, std = margins[:, limit] + surprise * gain, np.sqrt(np.diag(K) - gain * K[x])
        now *= norm.cdf(margins[x, limit] / np.sqrt(K[x, x]))
        after *= norm.cdf(mean / std)
    return float(now + after.max(axis=1).mean())


def test_the_search_starts_from_what_is_known() -> None:
    one = replace(view([1.0, 3.0], [-1.0, 1.0]), called_safe=(0,))
    assert chosen(one, first=True) == Decision(0, "first")


def test_a_control_measures_the_baseline_if_it_is_safe() -> None:
    one = replace(view([1.0, 3.0], [1.0, 1.0]), baseline=0)
    assert chosen(one, control=True) == Decision(0, "baseline")
    assert chosen(one) == Decision(1, "best")
    unsafe = replace(one, margin=np.array([[-1.0], [1.0]]))
    assert chosen(unsafe, control=True) == Decision(1, "best")


def test_a_move_must_be_worth_its_cost() -> None:
    one = view([1.0, 1.5], [1.0, 1.0])
    assert chosen(replace(one, price=np.array([0.0, 0.6]))).index == 0
    assert chosen(replace(one, price=np.array([0.0, 0.4]))).index == 1


def test_an_optimistic_score_is_exploration() -> None:
    one = replace(view([1.0, 2.0], [1.0, 1.0]), mean=np.array([1.0, 0.5]))
    assert chosen(one) == Decision(1, "explore")


def test_a_neighbour_of_a_promising_unsafe_candidate_is_measured() -> None:
    def covariance(_: int, some: Indices, others: Indices) -> Array:
        return np.where((some[:, None] == 1) & (others[None, :] == 2), 0.95, 0.0)

    one = view([1.0, 0.9, 5.0], [3.0, 3.0, 1.5], doubt=1.0)
    one = replace(one, covariance=covariance, noise=np.zeros(1), horizon=5.0)
    assert chosen(one) == Decision(1, "boundary")
    assert chosen(replace(one, horizon=0.0)) == Decision(0, "best")


@given(
    q=st.integers(1, 8),
    limits=st.integers(0, 3),
    risk=st.floats(0.001, 0.5),
    seed=st.integers(0, 10**6),
)
def test_the_choice_is_reachable_and_safe_unless_nothing_is(
    q: int, limits: int, risk: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    margin, doubt = rng.normal(size=(q, limits)), rng.random((q, limits))
    reachable = rng.random(q) < 0.5
    reachable[rng.integers(q)] = True
    root = rng.normal(size=(q, q))
    one = View(
        score=rng.normal(size=q),
        mean=rng.normal(size=q),
        std=rng.random(q),
        margin=margin,
        doubt=doubt,
        reachable=reachable,
        price=rng.random(q),
        noise=rng.random(limits),
        covariance=lambda _, some, others: (root @ root.T)[np.ix_(some, others)],
        baseline=int(rng.integers(q)),
        horizon=float(rng.integers(10)),
    )
    control = bool(rng.random() < 0.3)
    found = decide(one, risk, np.random.default_rng, first=False, control=control)
    assert reachable[found.index]
    kept = norm.sf(0.0, margin, np.maximum(doubt, 1e-12)) >= 1.0 - risk - 1e-9
    allowed = kept.all(axis=1) & reachable
    assert allowed[found.index] or (found.reason == "fallback" and not allowed.any())


def test_safety_is_the_probability_of_each_limit() -> None:
    margin = np.array([[1.0, 2.0], [2.0, 2.0]])
    assert safe(margin, np.ones((2, 2)), 0.05).tolist() == [False, True]


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (1.0, 0.5), (-2.0, 1.5)])
def test_expected_excess_is_the_integral(mean: float, std: float) -> None:
    expected = norm.expect(lambda z: max(mean + std * z, 0.0))
    assert expected_excess(np.array([mean]), np.array([std]))[0] == pytest.approx(
        expected, abs=1e-6
    )
