"""What a world is: an environment draws episodes, and an episode answers at its times."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy
from heliotrope.validation import Array

Place: TypeAlias = int | Array
"""An index of a Finite domain, or a point (d,) of a Box."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a policy in an episode: where it measured at time ``t``, and what came.

    ``index`` is None in a Box, ``y`` is the noisy ``value``, and ``regret`` is how far that is
    below ``best``, the highest value of its time.
    """

    t: float
    index: int | None
    x: tuple[float, ...]
    y: float
    value: float
    best: float
    regret: float


@runtime_checkable
class Episode(Protocol):
    """One world drawn. Policies that face the same episode face the same functions and noise.

    A class that inherits from this one has to say what the first five members are.
    """

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """Where one may measure."""

    @property
    @abstractmethod
    def times(self) -> Array:
        """Times of the steps, (T,), rising."""

    @abstractmethod
    def value(self, t: float, place: Place) -> float:
        """Return the true value of a place at one of the times."""

    @abstractmethod
    def best(self, t: float) -> float:
        """Return the highest value of one of the times."""

    @abstractmethod
    def noise(self, t: float) -> float:
        """Return what is added to any value measured at one of the times."""

    @property
    def horizon(self) -> int:
        """Number of steps, T."""
        return len(self.times)

    def measure(self, t: float, place: Place) -> float:
        """Return the noisy value of a place."""
        return self.value(t, place) + self.noise(t)

    def regret(self, t: float, place: Place) -> float:
        """Return how far below the best a place is."""
        return self.best(t) - self.value(t, place)

    def step(self, t: float, place: Place) -> Step:
        """Return the step of one who measures there."""
        value, best = self.value(t, place), self.best(t)
        if isinstance(self.domain, Finite):
            index, point = int(place), self.domain.points[place]
        else:
            index, point = None, np.asarray(place)
        y = value + self.noise(t)
        return Step(float(t), index, tuple(point.tolist()), y, value, best, best - value)


@runtime_checkable
class Environment(Protocol):
    """A kind of world, from which episodes are drawn."""

    @property
    def domain(self) -> Domain:
        """Where one may measure."""

    def episode(self, horizon: int, seed: int) -> Episode:
        """Draw one world of that many steps; the same seed gives the same world."""


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


def average_regret(regret: Array) -> Array:
    """R_t / t of regrets (..., T)."""
    steps: Array = np.arange(1.0, regret.shape[-1] + 1.0)
    return np.asarray(np.cumsum(regret, axis=-1) / steps)
