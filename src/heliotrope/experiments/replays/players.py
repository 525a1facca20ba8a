"""The policies that replay a log, made from what was learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from heliotrope.engines import Learn
from heliotrope.environments import FiniteEpisode, Step, play
from heliotrope.experiments.replays.lessons import Lesson, beta
from heliotrope.policies import Policy, gp_ucb, r_gp_ucb, rexp3, tv_gp_ucb, uniform

Player: TypeAlias = Callable[[FiniteEpisode, int], Iterator[Step]]

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


def player(policy: str, lesson: Lesson) -> Player:
    """Return who plays a policy of this name."""
    if policy == "fixed":
        return partial(_stay, lesson.fixed)
    return lambda episode, seed: play(_policies(lesson, episode)[policy](), episode, seed)


def _policies(lesson: Lesson, episode: FiniteEpisode) -> Mapping[str, Callable[[], Policy]]:
    prior, places = lesson.prior, len(episode.domain)
    betas = {policy: beta(c1) for policy, c1 in lesson.c1.items()}
    batch = lesson.batch(episode.horizon, places)
    return {
        "tv_gp_ucb": lambda: tv_gp_ucb(prior, betas["tv_gp_ucb"]),
        "learning": lambda: tv_gp_ucb(prior, betas["tv_gp_ucb"], learn=Learn()),
        "r_gp_ucb": lambda: r_gp_ucb(prior, lesson.every, betas["r_gp_ucb"]),
        "gp_ucb": lambda: gp_ucb(prior, betas["gp_ucb"]),
        "rexp3": lambda: rexp3(lesson.low, lesson.high, batch),
        "random": uniform,
    }


def _stay(index: int, episode: FiniteEpisode, _: int) -> Iterator[Step]:
    """Always measure at one place."""
    for t in episode.times.tolist():
        yield episode.step(t, index)
