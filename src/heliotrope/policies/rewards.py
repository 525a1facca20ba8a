"""What policies without a GP need to know of the values: the range they lie in."""

from __future__ import annotations

from dataclasses import dataclass

from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError
from heliotrope.validation import as_number


@dataclass(frozen=True)
class Ranged:
    """A policy over a Finite domain for values between ``low`` and ``high``.

    It knows nothing of neighbours. Values beyond the range are taken for its ends.
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


def number_of_points(domain: Domain, policy: str) -> int:
    """Number of points of a Finite domain; refuse a Box."""
    if not isinstance(domain, Finite):
        raise InputError(f"a Finite domain for {policy}", repr(domain), "Take a grid of the box.")
    return len(domain)
