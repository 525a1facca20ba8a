"""The policies that replay a log, made from what was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heliotrope.lab.environments import FiniteEpisode, Step, play
from heliotrope.lab.replay.lessons import Lesson
from heliotrope.policies import Policy, rexp3, uniform

POLICIES: Mapping[str, str] = {
    "tv_gp_ucb": "TV-GP-UCB",
    "learning": "TV-GP-UCB, learning",
    "r_gp_ucb": "R-GP-UCB",
    "gp_ucb": "GP-UCB",
    "rexp3": "RExp3",
    "fixed": "best of the past",
    "random": "random",
}
"""Names to ask by, and names to show."""

CHANCY = ("rexp3", "random")
"""Policies that draw lots, so that several seeds are played; the others do the same each time."""


def steps(policy: str, lesson: Lesson, episode: FiniteEpisode, seed: int) -> Iterator[Step]:
    """Let the policy of this name track an episode."""
    if policy == "fixed":
        return (episode.step(t, lesson.fixed) for t in episode.times.tolist())
    return play(_policy(policy, lesson, episode), episode, seed)


def _policy(name: str, lesson: Lesson, episode: FiniteEpisode) -> Policy:
    if name == "random":
        return uniform()
    if name == "rexp3":
        batch = lesson.batch(episode.horizon, len(episode.domain))
        return rexp3(lesson.low, lesson.high, batch)
    return lesson.tuned[name].policy(lesson.prior)
