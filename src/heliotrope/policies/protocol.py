"""What a policy is: a description that starts an agent, which chooses and learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Choices, Domain, Places
from heliotrope.rng import Draw
from heliotrope.serialization.state import State
from heliotrope.validation import Array

TOLD_AT_ONCE = -1
"""Key of an evaluation that is never left open."""


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of f_t: posterior mean and deviation at points.

    The deviation is of f itself, without measurement noise.
    """

    t: float
    points: Array
    mean: Array
    std: Array


@dataclass(frozen=True, eq=False)
class Best:
    """The point believed best at time ``t``: where, how high and how sure."""

    t: float
    x: Array
    index: int | None
    mean: float
    std: float


@runtime_checkable
class Agent(Protocol):
    """The state of a policy at work. Evaluations go by keys; places are the domain's."""

    def choose(self, t: float, draw: Draw) -> Places:
        """Return one place to evaluate at time t; changes nothing."""

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation."""

    def tell(self, key: int, y: float) -> None:
        """Take the value of an open evaluation."""

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        """Mean and variance of f_t; changes nothing."""

    def best(self, t: float, draw: Draw) -> Places:
        """Return the one place of highest posterior mean at time t; changes nothing."""

    def state(self) -> State:
        """Everything the agent knows, as arrays."""

    def restore(self, state: State) -> None:
        """Become the agent whose :meth:`state` this was."""


@runtime_checkable
class Selective(Protocol):
    """An agent that can choose among a part of its domain, as a context asks for."""

    def choose_among(self, choices: Choices, t: float, draw: Draw) -> Places:
        """Return one of the choices to evaluate at time t; changes nothing."""

    def best_among(self, choices: Choices, t: float, draw: Draw) -> Places:
        """Return the choice of highest posterior mean at time t; changes nothing."""


@runtime_checkable
class Drawing(Protocol):
    """An agent with a joint belief of f at several places, to draw from."""

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        """Joint draws of f_t, (size, places), by what was told; changes nothing."""

    @property
    def log_likelihood(self) -> float:
        """Log density of what was told and counts."""


@runtime_checkable
class Policy(Protocol):
    """An immutable description of how to choose.

    One whose agents' state grows with every result says so: ``grows = True``.
    """

    def start(self, domain: Domain) -> Agent:
        """Return a fresh agent over a domain, having checked that policy and domain fit."""
