"""Environments draw episodes; an episode has a value at each of its times and places."""

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
    """One step of a policy in an episode: the point measured at time ``t``, and the result.

    ``index`` is None in a Box, ``y`` is the measured value, ``best`` is the highest value at time
    ``t``, and ``regret`` is ``best - value``.
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
    """One world. Policies that play the same episode see the same functions and noise.

    A subclass implements the first five members. It overrides ``measure`` if measurements fail or
    if their noise depends on the place.
    """

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """Points that can be measured."""

    @property
    @abstractmethod
    def times(self) -> Array:
        """Increasing times of the steps, (T,)."""

    @abstractmethod
    def value(self, t: float, place: Place) -> float:
        """Return the true value of a place at time t."""

    @abstractmethod
    def best(self, t: float) -> float:
        """Return the highest value at time t."""

    @abstractmethod
    def noise(self, t: float) -> float:
        """Return the usual noise of a measurement at time t."""

    @property
    def horizon(self) -> int:
        """Number of steps, T."""
        return len(self.times)

    def measure(self, t: float, place: Place) -> float:
        """Return the measured value of a place: by default its value plus the usual noise."""
        return self.value(t, place) + self.noise(t)

    def regret(self, t: float, place: Place) -> float:
        """Return the difference between the best value and the place's value."""
        return self.best(t) - self.value(t, place)

    def step(self, t: float, place: Place) -> Step:
        """Return the step of a policy that measures at this place."""
        value, best = self.value(t, place), self.best(t)
        if isinstance(self.domain, Finite):
            index, point = int(place), self.domain.points[place]
        else:
            index, point = None, np.asarray(place)
        y = self.measure(t, place)
        return Step(float(t), index, tuple(point.tolist()), y, value, best, best - value)


@runtime_checkable
class Environment(Protocol):
    """A distribution of worlds, from which episodes are drawn."""

    @property
    def domain(self) -> Domain:
        """Points that can be measured."""

    def episode(self, horizon: int, seed: int) -> Episode:
        """Draw a world of ``horizon`` steps; the same seed gives the same world."""


def run(policy: Policy, environment: Environment, horizon: int, seed: int = 0) -> Iterator[Step]:
    """Draw an episode and run a policy in it, both with the same seed."""
    if isinstance(environment, type) or not isinstance(environment, Environment):
        raise InputError("an environment, such as GPDrift(domain, prior)", repr(environment))
    return play(policy, environment.episode(horizon, seed), seed)


def play(policy: Policy, episode: Episode, seed: int = 0) -> Iterator[Step]:
    """Run a policy through an episode.

    Policies that play the same episode face the same world.
    """
    if isinstance(episode, type) or not isinstance(episode, Episode):
        raise InputError(
            "an episode", repr(episode), "Draw one with environment.episode(horizon, seed)."
        )
    return _steps(Optimizer(episode.domain, policy, seed), episode)


def _steps(optimizer: Optimizer, episode: Episode) -> Iterator[Step]:
    for t in episode.times.tolist():
        suggestion = optimizer.ask(t)
        step = episode.step(t, suggestion.x if suggestion.index is None else suggestion.index)
        optimizer.tell(suggestion, step.y)
        yield step


def average_regret(regret: Array) -> Array:
    """Return R_t / t of regrets (..., T)."""
    steps: Array = np.arange(1.0, regret.shape[-1] + 1.0)
    return np.asarray(np.cumsum(regret, axis=-1) / steps)
