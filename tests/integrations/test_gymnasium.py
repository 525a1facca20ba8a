"""The suite as Gymnasium environments: Gymnasium's own checker, the same world as the suite's."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import heliotrope as ht
from heliotrope.integrations.gymnasium import HeliotropeWorld
from heliotrope.lab.environments.suite import SUITE, select_problems


@pytest.mark.filterwarnings("ignore:.*value is -?infinity")  # a reward has no bounds
@pytest.mark.parametrize(
    "id", ["paper/se/0.01", "jumps/drift", "peaks/steady", "sliced/hartmann-3"]
)
def test_gymnasium_accepts_it(id: str) -> None:
    env = gym.make(f"heliotrope/{id.replace('/', '-')}-v0", horizon=8)
    check_env(env.unwrapped, skip_render_check=True)


def test_every_problem_is_registered() -> None:
    registered = {name for name in gym.registry if name.startswith("heliotrope/")}
    assert len(registered) == len(SUITE) > 20
    assert len(select_problems(measured=False)) < len(SUITE)


def test_an_optimizer_plays_an_episode() -> None:
    env = HeliotropeWorld("paper/se/0.001", horizon=40)
    _, info = env.reset(seed=1)
    domain = env._world.domain
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=0)
    regret, truncated = [], False
    while not truncated:
        asked = optimizer.ask(info["t"])
        seen, reward, terminated, truncated, info = env.step(asked.index)
        optimizer.tell(asked, reward)
        regret.append(info["regret"])
        assert not terminated
        assert seen[-1] == reward
        assert env.observation_space.contains(seen)
    assert len(regret) == 40
    assert np.mean(regret[20:]) < np.mean(regret[:10])
    with pytest.raises(ht.HeliotropeError, match="Call reset"):
        env.step(0)


def test_the_seed_determines_the_world() -> None:
    def rewards(seed: int) -> list[float]:
        env = gym.make("heliotrope/jumps-still-v0", horizon=5)
        env.reset(seed=seed)
        return [float(env.step(7)[1]) for _ in range(5)]

    assert rewards(3) == rewards(3)
    assert rewards(3) != rewards(4)


def test_vectors_of_environments() -> None:
    envs = gym.make_vec("heliotrope/peaks-bursts-v0", num_envs=3, horizon=4)
    seen, _ = envs.reset(seed=0)
    assert seen.shape == (3, 4)
    _, reward, _, truncated, info = envs.step(np.full((3, 2), 0.5))
    assert len(set(reward.tolist())) == 3  # three worlds
    assert not truncated.any()
    assert info["regret"].shape == (3,)


def test_other_actions_are_refused() -> None:
    env = HeliotropeWorld("peaks/steady", horizon=3)
    env.reset(seed=0)
    with pytest.raises(ht.HeliotropeError, match="an action of Box"):
        env.step(np.array([2.0, 0.5]))
    with pytest.raises(ht.HeliotropeError, match="the id of a problem"):
        HeliotropeWorld("nothing/here")
