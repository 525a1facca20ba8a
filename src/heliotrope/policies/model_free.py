"""Policies without a model of f: the random choice, and the shared part of the bandits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NoReturn

import numpy as np

from heliotrope.domains import Box, Choices, Domain, Finite, Places, all_choices
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import State, register
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Checked, as_number, checked, short_repr

__all__ = ["NoPosterior", "Uniform", "uniform"]


class NoPosterior:
    """An agent without a posterior: it refuses to predict. ``policy`` names it in the error."""

    policy: str

    def predict(self, t: float, places: Places, *, count_open: bool) -> NoReturn:
        self._refuse()

    def best(self, t: float, make_rng: RNGFactory) -> NoReturn:
        self._refuse()

    def best_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NoBeliefError("a policy with a model of f", self.policy, "Use a GP policy.")


# ---- the baseline that every other policy must beat


@register
@dataclass(frozen=True)
class Uniform:
    """Choose every point with the same probability."""

    def start(self, domain: Domain) -> UniformAgent:
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
        return random_choice(all_choices(self._domain), make_rng())

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        return random_choice(choices, make_rng())

    def open(self, key: int, t: float, place: Places) -> None:
        pass

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        pass

    def cancel(self, key: int) -> None:
        pass

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


def random_choice(choices: Choices, rng: np.random.Generator) -> Places:
    """Draw one of the choices."""
    if isinstance(choices, Box):
        return choices.snap(choices.scaled(rng.random((1, choices.dimension))))
    return choices[[rng.integers(len(choices))]]


# ---- bandits: values in a known range, at points that are unrelated


@dataclass(frozen=True)
class RangedPolicy(Checked):
    """A policy over a Finite domain for values between ``low`` and ``high``.

    It treats points as unrelated, and clips values to the range.
    """

    low: float = field(metadata=checked(as_number))
    high: float = field(metadata=checked(as_number))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise InputError("low below high", f"{self.low:g} and {self.high:g}")

    def negated(self) -> RangedPolicy:
        return replace(self, low=-self.high, high=-self.low)

    def reward(self, y: float) -> float:
        """Return a value as a share of the range, between 0 and 1."""
        return min(max((y - self.low) / (self.high - self.low), 0.0), 1.0)


def number_of_points(domain: Domain | None) -> int:
    """Number of points of a Finite domain; refuse any other."""
    if not isinstance(domain, Finite):
        raise InputError("a Finite domain", short_repr(domain), "Use a grid of the box.")
    return len(domain)


class BanditAgent(NoPosterior):
    """An agent that keeps the place of each open evaluation, and one number.

    ``columns`` are their names in the state.
    """

    policy = "a bandit policy without a model"
    columns: ClassVar[tuple[str, str]]

    def __init__(self, policy: RangedPolicy) -> None:
        self._reward = policy.reward
        self._open: dict[int, tuple[int, float]] = {}

    def cancel(self, key: int) -> None:
        self._open.pop(key, None)

    def state(self) -> State:
        places, numbers = self.columns
        return {
            "keys": np.array(list(self._open), dtype=np.int64),
            places: np.array([place for place, _ in self._open.values()], dtype=np.int64),
            numbers: np.array([number for _, number in self._open.values()], dtype=float),
        }

    def restore(self, state: State) -> None:
        keys, places, numbers = (state[name].tolist() for name in ("keys", *self.columns))
        self._open = dict(zip(keys, zip(places, numbers, strict=True), strict=True))
