"""What the paper says of a figure, against what was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heliotrope.validation import Array

SURE = 3.0  # standard errors that an ordering must be clear by


@dataclass(frozen=True)
class Claim:
    """A sentence, the measured numbers, and whether they bear it out.

    ``source`` is the paper, or this project for what it puts beside.
    """

    sentence: str
    measured: str
    holds: bool
    source: str = "paper"


@dataclass(frozen=True)
class Comparison:
    """Mean difference of paired values, and how many standard errors it is from zero."""

    difference: float
    errors: float

    def __str__(self) -> str:
        return f"{self.difference:+.3g}, {abs(self.errors):.1f} s.e."

    @property
    def clearly_positive(self) -> bool:
        """Whether the difference is above zero by more than chance."""
        return self.errors > SURE


def compare(larger: Array, smaller: Array) -> Comparison:
    """Compare values (trials,) that belong together trial by trial."""
    difference = larger - smaller
    mean = float(difference.mean())
    if len(difference) < 2:
        return Comparison(mean, float("nan"))
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    if error == 0.0:
        return Comparison(mean, 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean)))
    return Comparison(mean, mean / error)
