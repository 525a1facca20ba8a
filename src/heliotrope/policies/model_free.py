"""Shared by the policies without a model of f: no posterior, and values in a known range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from heliotrope.domains import Choices, Domain, Finite, Places
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.rng import RNGFactory
from heliotrope.validation import as_number, short_repr


class NoPosterior:
    """An agent without a posterior: it refuses to predict. ``policy`` names it in the error."""

    policy: str

    def predict(self, t: float, places: Places, *, count_open: bool) -> NoReturn:
        """Refuse: there is no posterior."""
        self._refuse()

    def best(self, t: float, make_rng: RNGFactory) -> NoReturn:
        """Refuse: there is no posterior."""
        self._refuse()

    def best_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> NoReturn:
        """Refuse: there is no posterior."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NoBeliefError("a policy with a model of f", self.policy, "Use a GP policy.")


@dataclass(frozen=True)
class RangedPolicy:
    """A policy over a Finite domain for values between ``low`` and ``high``.

    It treats points as unrelated, and clips values to the range.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, as_number(getattr(self, name), name))
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
