"""Random choice: the baseline that every other policy must beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heliotrope.domains import Box, Choices, Domain, Places, all_choices
from heliotrope.policies.model_free import NoPosterior
from heliotrope.rng import RNGFactory
from heliotrope.serialization.codec import State, register

__all__ = ["Uniform", "uniform"]


@register
@dataclass(frozen=True)
class Uniform:
    """At all times every point is equally likely."""

    def start(self, domain: Domain) -> UniformAgent:
        """Return an agent over a domain."""
        return UniformAgent(domain)


def uniform() -> Uniform:
    """A random choice."""
    return Uniform()


class UniformAgent(NoPosterior):
    """An agent that learns nothing."""

    policy = "a random choice"

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        """Return a random place."""
        return random_place(self._domain, make_rng())

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return a random one of the choices."""
        return random_choice(choices, make_rng())

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation."""

    def tell(self, key: int, y: float) -> None:
        """Take the value of an open evaluation."""

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""

    def state(self) -> State:
        """Return an empty state."""
        return {}

    def restore(self, state: State) -> None:
        """Do nothing: the state is empty."""


def random_place(domain: Domain, rng: np.random.Generator) -> Places:
    """Draw one place of a domain."""
    return random_choice(all_choices(domain), rng)


def random_choice(choices: Choices, rng: np.random.Generator) -> Places:
    """Draw one of the choices."""
    if isinstance(choices, Box):
        return choices.snap(choices.scaled(rng.random((1, choices.dimension))))
    return choices[[rng.integers(len(choices))]]
