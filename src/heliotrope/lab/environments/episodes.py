"""What a world is: an environment draws episodes, and an episode answers at its times."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from heliotrope.domains import Domain, Finite
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
