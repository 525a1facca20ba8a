"""RExp3: against the formulas of Exp3; restarts, late values, files and bad input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import heliotrope as ht
from heliotrope.errors import FormatError, InputError, NoBeliefError
from heliotrope.lab.environments import Table, run
from heliotrope.policies import rexp3_batch
from heliotrope.policies.exponential_weights import Exp3Agent, RExp3
from strategies import ask_of, fingerprint, fixed, play, refusal, square

ARMS = ht.Finite(np.arange(5))
POLICY = ht.policies.rexp3(-1.0, 3.0, batch=20, gamma=0.3)


class Exp3:
    """Exp3 as Auer et al. print it, weights as they are, told at once."""

    def __init__(self, arms: int, gamma: float) -> None:
        self.weights, self.gamma = [1.0] * arms, gamma

    def probabilities(self) -> list[float]:
        total, arms = sum(self.weights), len(self.weights)
        return [(1 - self.gamma) * w / total + self.gamma / arms for w in self.weights]

    def reward(self, arm: int, reward: float) -> None:
        estimate = reward / self.probabilities()[arm]
        self.weights[arm] *= np.exp(self.gamma * estimate / len(self.weights))


def started(policy: RExp3 = POLICY) -> Exp3Agent:
    return policy.start(ARMS)


def probabilities(agent: Exp3Agent, t: float) -> list[float]:
    """Read them off what is drawn: the generator is asked for a choice with weights p."""
    seen: list[list[float]] = []

    class Spy:
        def choice(self, count: int, p: np.ndarray[Any, Any]) -> int:
            seen.append(p.tolist())
            return 0

    agent.choose(t, Spy)  # type: ignore[arg-type]
    return seen[0]


def evaluate(agent: Exp3Agent, t: float, arm: int, y: float) -> None:
    agent.open(7, t, np.array([arm]))
    agent.tell(7, y)


@given(
    pulls=st.lists(st.tuples(st.integers(0, 4), st.floats(-1.0, 3.0)), max_size=60),
    gamma=st.floats(0.01, 1.0),
    batch=st.integers(1, 25),
)
@fixed(40)
def test_it_is_exp3_restarted(pulls: list[tuple[int, float]], gamma: float, batch: int) -> None:
    agent, plain = started(ht.policies.rexp3(-1.0, 3.0, batch, gamma)), Exp3(5, gamma)
    for t, (arm, y) in enumerate(pulls, start=1):
        if (t - 1) % batch == 0:
            plain = Exp3(5, gamma)
        np.testing.assert_allclose(probabilities(agent, t), plain.probabilities(), rtol=1e-9)
        evaluate(agent, t, arm, y)
        plain.reward(arm, (y + 1.0) / 4.0)


def test_values_out_of_range_are_clipped() -> None:
    for y, limit in ((-50.0, -1.0), (1e9, 3.0)):
        far, near = started(), started()
        evaluate(far, 1.0, 2, y)
        evaluate(near, 1.0, 2, limit)
        assert probabilities(far, 2.0) == probabilities(near, 2.0)


def test_choices_follow_the_probabilities() -> None:
    """Counts of 4000 draws among 5 places: a chi-square of 4, within 5 standard errors."""
    optimizer = ht.Optimizer(ARMS, POLICY)
    for index in (1, 1, 3):
        optimizer.tell_many([1.0], [float(index)], [3.0])
    plain = Exp3(5, 0.3)
    for index in (1, 1, 3):
        plain.reward(index, 1.0)
    expected = 4000 * np.array(plain.probabilities())
    drawn = [optimizer.ask(2.0).index or 0 for _ in range(4000)]
    counts = np.bincount(drawn, minlength=5)
    assert abs(np.sum((counts - expected) ** 2 / expected) - 4.0) < 5.0 * np.sqrt(8.0)


# Evaluations that are late, out of order, cancelled


def test_a_late_value_counts_by_the_probability_of_its_choice() -> None:
    agent = started()
    agent.open(0, 1.0, np.array([2]))
    evaluate(agent, 2.0, 4, 3.0)
    agent.tell(0, 3.0)
    grown = 0.3 / 5 / (1 / 5)  # log weight: gamma / K times the reward 1 over probability 1 / K
    w = np.exp([0.0, 0.0, grown, 0.0, grown])
    np.testing.assert_allclose(probabilities(agent, 3.0), 0.7 * w / w.sum() + 0.06, rtol=1e-12)


def test_the_order_of_telling_does_not_matter() -> None:
    one, other = started(), started()
    for agent, order in ((one, (0, 1, 2)), (other, (2, 0, 1))):
        for key, place in enumerate((3, 1, 3)):
            agent.open(key, 1.0 + key, np.array([place]))
        for key in order:
            agent.tell(key, float(key))
    np.testing.assert_allclose(probabilities(one, 4.0), probabilities(other, 4.0), rtol=1e-12)


def test_a_cancelled_evaluation_leaves_no_trace() -> None:
    agent, twin = started(), started()
    agent.open(0, 1.0, np.array([1]))
    agent.cancel(0)
    for each in (agent, twin):
        evaluate(each, 1.0, 3, 2.0)
    assert probabilities(agent, 2.0) == probabilities(twin, 2.0)
    assert agent.state()["keys"].tolist() == []


def test_a_value_of_an_earlier_batch_does_not_count() -> None:
    agent = started()
    agent.open(0, 20.0, np.array([1]))
    agent.open(1, 21.0, np.array([2]))
    agent.tell(0, 3.0)
    agent.cancel(0)
    assert probabilities(agent, 22.0) == pytest.approx([0.2] * 5)
    agent.tell(1, 3.0)
    assert max(probabilities(agent, 22.0)) > 0.21
    assert probabilities(agent, 41.0) == pytest.approx([0.2] * 5)


# Through the optimizer


def test_asking_is_pure_and_follows_the_seed() -> None:
    def choices(seed: int) -> list[int | None]:
        optimizer = ht.Optimizer(ARMS, POLICY, seed)
        return [play(optimizer).ask().index for _ in range(8)]

    assert choices(4) == choices(4)
    assert choices(4) != choices(5)
    agent = started()
    evaluate(agent, 1.0, 3, 2.0)
    before = {name: array.tobytes() for name, array in agent.state().items()}
    for t in (1.0, 30.0):
        agent.choose(t, np.random.default_rng)
    assert {name: array.tobytes() for name, array in agent.state().items()} == before


@pytest.mark.parametrize("gamma", [None, 0.3])
def test_a_loaded_optimizer_continues_as_the_saved_one(gamma: float | None, tmp_path: Path) -> None:
    saved = play(ht.Optimizer(ARMS, ht.policies.rexp3(-1.0, 3.0, 10, gamma), seed=5), steps=8)
    saved.save(tmp_path / "optimizer")
    loaded = ht.Optimizer.load(tmp_path / "optimizer")
    assert loaded.policy == saved.policy
    for step in range(20):  # over the restart, and the suggestion left open told before it
        one, other = saved.ask(), loaded.ask()
        assert ask_of(one) == ask_of(other)
        for optimizer in (saved, loaded):
            optimizer.tell(8 if step == 0 else step + 9, float(step % 3))
    assert fingerprint(loaded) == fingerprint(saved)


def test_it_has_no_belief() -> None:
    optimizer, twin = (play(ht.Optimizer(ARMS, POLICY, seed=3)) for _ in range(2))
    for call in (optimizer.belief, optimizer.best, optimizer.sample):
        with refusal(NoBeliefError):
            call()
    assert fingerprint(optimizer) == fingerprint(twin)


def test_it_beats_uniform_where_one_of_five_is_best() -> None:
    """Bernoulli values of mean 1/2 and 3/4; paired differences, five standard errors."""
    differences = []
    for seed in range(30):
        coins = np.random.default_rng(seed).random((400, 5)) < [0.5, 0.5, 0.75, 0.5, 0.5]
        world = Table(coins.astype(float))
        policies = ht.policies.rexp3(0.0, 1.0, batch=400), ht.uniform()
        exp3, blind = ([step.y for step in run(policy, world, 400, seed)] for policy in policies)
        differences.append(np.mean(exp3) - np.mean(blind))
    assert np.mean(differences) > 5.0 * np.std(differences, ddof=1) / np.sqrt(30)


def test_restarts_help_when_the_best_changes() -> None:
    """The best of five places moves at half time; restarting then, or not at all."""
    gains = []
    for seed in range(20):
        values = np.zeros((1000, 5))
        values[:500, 0] = values[500:, 3] = 1.0
        policies = ht.policies.rexp3(0.0, 1.0, 500, 0.1), ht.policies.rexp3(0.0, 1.0, 1000, 0.1)
        restarted, not_at_all = (
            np.mean([step.y for step in run(policy, Table(values), 1000, seed)])
            for policy in policies
        )
        gains.append(restarted - not_at_all)
    assert np.mean(gains) > 5.0 * np.std(gains, ddof=1) / np.sqrt(20)


# The paper's settings


def test_gamma_is_the_papers_by_default() -> None:
    assert ht.policies.rexp3(0.0, 1.0, 100).mixing(5) == pytest.approx(
        np.sqrt(5 * np.log(5) / ((math.e - 1) * 100))
    )
    assert ht.policies.rexp3(0.0, 1.0, 1).mixing(5) == 1.0
    assert ht.policies.rexp3(0.0, 1.0, 1, gamma=0.2).mixing(5) == 0.2


def test_the_batch_is_the_papers() -> None:
    exact = (10 * np.log(10)) ** (1 / 3) * (500 / 4.0) ** (2 / 3)  # 71.1
    assert rexp3_batch(10, 500, 4.0) == np.ceil(exact) == 72
    assert rexp3_batch(10, 500, 1e-300) == 500
    assert rexp3_batch(1, 500, 1e-300) == 1


def test_one_point_is_always_chosen() -> None:
    optimizer = play(ht.Optimizer(ht.Finite([0.5]), ht.policies.rexp3(0.0, 1.0, 3)))
    assert [optimizer.ask().index for _ in range(5)] == [0] * 5


@pytest.mark.parametrize(
    "arguments",
    [
        (1.0, 1.0, 5),
        (2.0, 1.0, 5),
        (np.nan, 1.0, 5),
        (0.0, np.inf, 5),
        (0.0, "1", 5),
        (0.0, 1.0, 0),
        (0.0, 1.0, None),
        (0.0, 1.0, 5, 0.0),
        (0.0, 1.0, 5, 5e-324),
        (0.0, 1.0, 5, 1.5),
        (0.0, 1.0, 5, "much"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(arguments: tuple[Any, ...]) -> None:
    with refusal(InputError):
        ht.policies.rexp3(*arguments)


@pytest.mark.parametrize(
    "arguments", [(0, 9, 1.0), (5, 0, 1.0), (5, 9, 0.0), (5, 9, None)], ids=str
)
def test_a_bad_budget_is_refused(arguments: tuple[Any, ...]) -> None:
    with refusal(InputError):
        rexp3_batch(*arguments)


def test_a_box_is_refused() -> None:
    with refusal(InputError):
        ht.Optimizer(square(), POLICY)


def test_a_state_over_other_points_is_refused() -> None:
    with refusal(FormatError):
        ht.policies.rexp3(0.0, 1.0, 5).start(ht.grid(4)).restore(started().state())
