"""D-UCB, SW-UCB and Exp3: against their formulas; late values, files, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.errors import FormatError, InputError, NoBeliefError
from heliotrope.lab.environments import Table, run
from heliotrope.policies import Policy, d_ucb_discount, sw_ucb_window
from heliotrope.policies.bandits import UCBAgent
from heliotrope.surroundings import RNGStream
from heliotrope.validation import Array
from strategies import refusal, square

ARMS = ht.Finite(np.arange(5.0))
MEANS = np.array([0.2, 0.5, 0.3, 0.45, 0.1])


def counts_of(ages: Array, discount: float | None, window: float | None) -> Array:
    return (
        discount ** (ages - 1.0)
        if discount is not None
        else (ages <= (window or 0.0)).astype(float)
    )


def written_out(
    chosen: list[int], rewards: list[float], discount: float | None, window: float | None, xi: float
) -> Array:
    """S / N + B sqrt(xi log(n) / N) after steps 1, 2, ..., for the next step."""
    ages = np.arange(len(chosen), 0, -1.0)
    weights = counts_of(ages, discount, window)
    N = np.array([weights[np.array(chosen) == arm].sum() for arm in range(5)])
    S = np.array([(weights * rewards)[np.array(chosen) == arm].sum() for arm in range(5)])
    factor = 2.0 if discount is not None else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = S / N + factor * np.sqrt(xi * np.log(N.sum()) / N)
    return np.where(N > 0.0, bounds, np.inf)


@pytest.mark.parametrize(
    ("policy", "discount", "window", "xi"),
    [
        (ht.policies.d_ucb(-1.0, 3.0, 0.9), 0.9, None, 0.6),
        (ht.policies.d_ucb(-1.0, 3.0, 1.0, xi=0.1), 1.0, None, 0.1),
        (ht.policies.sw_ucb(-1.0, 3.0, 12), None, 12.0, 0.6),
        (ht.policies.sw_ucb(-1.0, 3.0, 1000, xi=2.0), None, 1000.0, 2.0),
    ],
    ids=["D-UCB", "no discount", "SW-UCB", "long window"],
)
def test_every_choice_has_the_largest_bound(
    policy: Policy, discount: float | None, window: float | None, xi: float
) -> None:
    optimizer, rng = ht.Optimizer(ARMS, policy, seed=2), np.random.default_rng(0)
    chosen: list[int] = []
    rewards: list[float] = []
    for _ in range(80):
        suggestion = optimizer.ask()
        arm = int(suggestion.index or 0)
        bounds = written_out(chosen, rewards, discount, window, xi)
        assert bounds[arm] >= bounds.max() - 1e-9
        y = float(rng.normal(MEANS[arm], 2.0))
        optimizer.tell(suggestion, y)
        chosen.append(arm)
        rewards.append(float(np.clip((y + 1.0) / 4.0, 0.0, 1.0)))


def test_exp3_is_rexp3_that_never_restarts() -> None:
    values = np.random.default_rng(1).random((60, 5))
    one, other = (
        [step.index for step in run(policy, Table(values), 60, seed=4)]
        for policy in (
            ht.policies.exp3(0.0, 1.0, horizon=60),
            ht.policies.rexp3(0.0, 1.0, batch=60),
        )
    )
    assert one == other
    agent = ht.policies.exp3(0.0, 1.0, horizon=2, gamma=0.3).start(ARMS)
    for key in range(50):  # far beyond the horizon, nothing is forgotten
        agent.open(key, float(key), np.array([3]))
        agent.tell(key, 1.0)
    stream = RNGStream(0)
    chosen = [int(agent.choose(1e6, stream.at(i))[0]) for i in range(40)]
    assert chosen.count(3) > 20


# The papers' choices


def test_the_discount_and_the_window_are_the_papers() -> None:
    assert d_ucb_discount(10_000, 4) == pytest.approx(1.0 - np.sqrt(4 / 10_000) / 4)
    assert sw_ucb_window(10_000, 4) == pytest.approx(2.0 * np.sqrt(10_000 * np.log(10_000) / 4))
    assert d_ucb_discount(1, 10) == 0.75
    assert sw_ucb_window(1, 10) == 1.0


@pytest.mark.parametrize("settings", [(0, 1), (10, 0), (10, -1), (10.5, 1), (10, None)], ids=str)
def test_bad_horizons_and_changes_are_refused(settings: tuple[Any, Any]) -> None:
    for choice in (d_ucb_discount, sw_ucb_window):
        with refusal(InputError):
            choice(*settings)


# Late, open and old choices


def agents() -> list[UCBAgent]:
    return [
        ht.policies.d_ucb(0.0, 1.0, 0.8).start(ARMS),
        ht.policies.sw_ucb(0.0, 1.0, 10).start(ARMS),
    ]


def evaluate(agent: UCBAgent, key: int, t: float, arm: int, y: float) -> None:
    agent.open(key, t, np.array([arm]))
    agent.tell(key, y)


def choose(agent: UCBAgent, t: float) -> int:
    return int(agent.choose(t, lambda: np.random.default_rng(0))[0])


@pytest.mark.parametrize("which", [0, 1], ids=["D-UCB", "SW-UCB"])
def test_the_order_of_telling_does_not_matter(which: int) -> None:
    one, other = agents()[which], agents()[which]
    for agent, order in ((one, (0, 1, 2, 3)), (other, (2, 0, 3, 1))):
        for key, arm in enumerate((0, 1, 0, 2)):
            agent.open(key, 1.0 + key, np.array([arm]))
        for key in order:
            agent.tell(key, 0.2 * key)
    for first, second in zip(one._rewards.sums(6.0), other._rewards.sums(6.0), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.parametrize("which", [0, 1], ids=["D-UCB", "SW-UCB"])
def test_open_choices_keep_suggestions_apart(which: int) -> None:
    agent = agents()[which]
    seen = []
    for key in range(5):
        seen.append(choose(agent, 1.0))
        agent.open(key, 1.0, np.array([seen[-1]]))
    assert sorted(seen) == [0, 1, 2, 3, 4]
    for key in range(5):
        agent.tell(key, 0.9 if seen[key] == 2 else 0.1)
    assert choose(agent, 1.0) == 2
    agent.open(9, 1.0, np.array([2]))
    N, _ = agent._rewards.sums(1.0)
    np.testing.assert_array_equal(N, 1.0)  # an open choice has no value yet


@pytest.mark.parametrize("which", [0, 1], ids=["D-UCB", "SW-UCB"])
def test_what_is_old_is_forgotten(which: int) -> None:
    agent = agents()[which]
    for key in range(5):
        evaluate(agent, key, 1.0, key, 1.0 if key == 4 else 0.0)
    assert choose(agent, 2.0) == 4
    for key in range(8):
        evaluate(agent, key, 10_000.0, key % 4, 0.5)
    assert choose(agent, 10_000.0) == 4  # as if it had never been chosen


def test_the_window_drops_what_it_has_left() -> None:
    agent = ht.policies.sw_ucb(0.0, 1.0, 10).start(ARMS)
    for key in range(200):
        evaluate(agent, key, float(key), key % 5, 0.5)
    assert len(agent.state()["t"]) == 11  # ages 0 to 10


def test_a_part_of_the_points_is_a_separate_bandit() -> None:
    agent = agents()[0]
    for key in range(5):
        evaluate(agent, key, 1.0, key, 1.0 if key == 4 else 0.1 * key)
    among = agent.choose_among(np.array([1, 3]), 2.0, lambda: np.random.default_rng(0))
    assert among.tolist() == [3]


# In a world that changes


@pytest.mark.parametrize(
    "policy",
    [ht.policies.d_ucb(0.0, 1.0, 0.99, xi=0.02), ht.policies.sw_ucb(0.0, 1.0, 60, xi=0.08)],
    ids=str,
)
def test_forgetting_helps_when_the_best_changes(policy: Policy) -> None:
    """A better arm appears at half time; paired differences, five standard errors."""
    gains = []
    for seed in range(6):
        values = np.random.default_rng(seed).normal(0.1, 0.05, (600, 5))
        values[:, 0] += 0.5
        values[300:, 3] += 0.8
        world = Table(values)
        keeps_all = ht.policies.d_ucb(0.0, 1.0, 1.0, xi=0.02)
        forgetting, not_at_all = (
            np.mean([step.y for step in run(each, world, 600, seed)][300:])
            for each in (policy, keeps_all)
        )
        gains.append(forgetting - not_at_all)
    assert np.mean(gains) > 5.0 * np.std(gains, ddof=1) / np.sqrt(6)


# Bad input


@pytest.mark.parametrize(
    "call",
    [
        lambda: ht.policies.d_ucb(1.0, 1.0, 0.9),
        lambda: ht.policies.d_ucb(0.0, np.inf, 0.9),
        lambda: ht.policies.d_ucb(0.0, 1.0, 0.0),
        lambda: ht.policies.d_ucb(0.0, 1.0, 1.1),
        lambda: ht.policies.d_ucb(0.0, 1.0, 0.9, xi=0.0),
        lambda: ht.policies.sw_ucb(2.0, 1.0, 9),
        lambda: ht.policies.sw_ucb(0.0, 1.0, 0),
        lambda: ht.policies.sw_ucb(0.0, 1.0, 9, xi=-1.0),
        lambda: ht.policies.exp3(0.0, 1.0, horizon=0),
        lambda: ht.policies.exp3(0.0, 1.0, horizon=9, gamma=2.0),
        lambda: ht.Optimizer(square(), ht.policies.d_ucb(0.0, 1.0, 0.9)),
        lambda: ht.Optimizer(square(), ht.policies.sw_ucb(0.0, 1.0, 9)),
        lambda: ht.Optimizer(square(), ht.policies.exp3(0.0, 1.0, 9)),
    ],
)
def test_bad_settings_are_refused(call: Callable[[], object]) -> None:
    with refusal(InputError):
        call()


def test_a_state_over_other_points_is_refused() -> None:
    few = ht.grid(3)
    fresh = [
        ht.policies.d_ucb(0.0, 1.0, 0.8).start(few),
        ht.policies.sw_ucb(0.0, 1.0, 10).start(few),
    ]
    for other, agent in zip(fresh, agents(), strict=True):
        evaluate(agent, 0, 1.0, 4, 0.5)
        with refusal(FormatError):
            other.restore(agent.state())


def test_they_have_no_belief() -> None:
    optimizer = ht.Optimizer(ARMS, ht.policies.sw_ucb(0.0, 1.0, 10))
    for call in (optimizer.belief, optimizer.best):
        with refusal(NoBeliefError):
            call()
