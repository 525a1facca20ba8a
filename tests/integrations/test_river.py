"""The river policy: river's own evaluation, arms that come and go, arms that are alike."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from river import bandit, stats
from river.bandit.base import ArmID
from river.bandit.evaluate import History

import heliotrope as ht
from heliotrope.integrations.river import HeliotropePolicy


def test_it_runs_in_rivers_evaluation() -> None:
    policies = [HeliotropePolicy(seed=0), bandit.RandomPolicy(seed=0)]
    env = gym.make("river_bandits/KArmedTestbed-v0", max_episode_steps=60)
    rows = list(bandit.evaluate(policies=policies, env=env, n_episodes=2, seed=1))
    assert len(rows) == 2 * 2 * 60
    ours, random = (
        np.mean([row["reward"] for row in rows if row["policy_idx"] == i]) for i in range(2)
    )
    assert ours > random + 0.6  # the best of ten arms is better by about 1.5


def test_it_runs_in_rivers_offline_evaluation() -> None:
    def history() -> History:
        rng = np.random.default_rng(0)
        for _ in range(60):
            arm = str(rng.choice(["a", "b"]))
            yield ["a", "b"], {}, arm, float(arm == "a")

    reward, used = bandit.evaluate_offline(HeliotropePolicy(seed=0), history(), stats.Mean())
    assert used > 10
    assert float(reward.get() or 0.0) > 0.7


def test_it_follows_the_best_arm() -> None:
    policy, rewards = HeliotropePolicy(seed=0), []
    for step in range(80):
        arm = policy.pull(["a", "b", "c"])
        rewards.append(float(arm == ("a" if step < 40 else "c")))
        policy.update(arm, rewards[-1])
    assert np.mean(rewards[20:40]) > 0.7
    assert np.mean(rewards[60:]) > 0.7
    assert policy.ranking[0] == "c"  # though "a" has the most rewards
    assert "Pulls" in repr(policy)


def test_arms_may_come_and_go() -> None:
    policy = HeliotropePolicy(seed=0)
    for _ in range(6):
        arm = policy.pull(["a", "b"])
        policy.update(arm, 1.0 if arm == "b" else 0.0)
    policy.update("new", 5.0)
    assert len(policy._optimizer.history) == 7  # type: ignore[union-attr]
    assert policy.pull(["a", "b", "new"]) in ("a", "b", "new")
    assert policy.pull(["a"]) == "a"
    assert policy.ranking[0] == "new"


def test_similar_arms_learn_from_each_other() -> None:
    features: dict[ArmID, list[float]] = {i: [i / 20.0] for i in range(21)}
    policy = HeliotropePolicy(features, seed=0)
    for _ in range(25):
        arm = policy.pull(list(features))
        policy.update(arm, -((int(arm) / 20.0 - 0.3) ** 2))
    assert abs(int(policy.ranking[0]) - 6) <= 1  # of 21 arms
    with pytest.raises(ht.HeliotropeError, match="features of every arm"):
        policy.pull([99])
    with pytest.raises(ht.HeliotropeError, match="at least one arm"):
        policy.pull([])


def test_burn_in_and_clones_are_rivers() -> None:
    policy = HeliotropePolicy(seed=3, burn_in=2)
    pulled = []
    for _ in range(4):
        pulled.append(policy.pull(["a", "b"]))
        policy.update(pulled[-1], 0.0)
    assert sorted(pulled) == ["a", "a", "b", "b"]
    fresh = policy.clone()
    assert (fresh.seed, fresh.burn_in, fresh.ranking) == (3, 2, [])
