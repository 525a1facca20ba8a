"""Policies in worlds: rows, one a step."""

from __future__ import annotations

from collections.abc import Iterator

from heliotrope.errors import InputError
from heliotrope.lab.environments.episodes import Environment, Episode, Step
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy


def run(policy: Policy, environment: Environment, horizon: int, seed: int = 0) -> Iterator[Step]:
    """Draw an episode and let a policy track it; the seed is that of both."""
    if isinstance(environment, type) or not isinstance(environment, Environment):
        raise InputError("an environment, such as GPDrift(domain, prior)", repr(environment))
    return play(policy, environment.episode(horizon, seed), seed)


def play(policy: Policy, episode: Episode, seed: int = 0) -> Iterator[Step]:
    """Let a policy track an episode from its first step to its last.

    Draw one episode and let several policies play it, and they face the same world.
    """
    if isinstance(episode, type) or not isinstance(episode, Episode):
        raise InputError(
            "an episode", repr(episode), "An environment's episode(horizon, seed) draws one."
        )
    return _steps(Optimizer(episode.domain, policy, seed), episode)


def _steps(optimizer: Optimizer, episode: Episode) -> Iterator[Step]:
    for t in episode.times.tolist():
        suggestion = optimizer.ask(t)
        step = episode.step(t, suggestion.x if suggestion.index is None else suggestion.index)
        optimizer.tell(suggestion, step.y)
        yield step
