"""Policies without a model of f: the random choice, and what the bandits share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, NoReturn

import numpy as np

from heliotrope.domains import Box, Choices, Domain, Finite, Places, all_choices
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.rng import RNGFactory
from heliotrope.serialization.codec import State, register
from heliotrope.validation import LARGEST, as_number, as_positive, short_repr

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
    """At all times every point is equally likely."""

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

    def tell(self, key: int, y: float) -> None:
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


def _share(value: object, name: str, least: float = 0.0) -> float:
    share = as_number(value, name)
    if not (least <= share <= 1.0 and share > 0.0):
        raise InputError(f"{name} above 0 and at most 1", f"{share:g}")
    return share


def _share_or_none(value: object, name: str) -> float | None:
    return None if value is None else _share(value, name, least=1.0 / LARGEST)


_CHECKS: Mapping[str, Callable[[object, str], float | None]] = {
    "low": as_number,
    "high": as_number,
    "batch": as_positive,
    "horizon": as_positive,
    "gamma": _share_or_none,
    "discount": _share,
    "window": as_positive,
    "xi": as_positive,
}


@dataclass(frozen=True)
class RangedPolicy:
    """A policy over a Finite domain for values between ``low`` and ``high``.

    It treats points as unrelated, and clips values to the range.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            object.__setattr__(self, name, _CHECKS[name](getattr(self, name), name))
        if not self.low < self.high:
            raise InputError("low below high", f"{self.low:g} and {self.high:g}")

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
