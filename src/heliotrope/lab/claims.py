"""Claims and the measurements that support or refute them."""

from dataclasses import dataclass

import numpy as np

from heliotrope.validation import Array

SIGNIFICANT = 3.0  # standard errors by which a difference is significant


@dataclass(frozen=True)
class Claim:
    """A claim, the measured numbers, and whether they support it.

    ``source`` says who claims it: the paper or this project.
    """

    sentence: str
    measured: str
    holds: bool
    source: str = "paper"


@dataclass(frozen=True)
class Comparison:
    """Mean difference of paired values, and that difference in standard errors."""

    difference: float
    errors: float

    def __str__(self) -> str:
        return f"{self.difference:+.3g}, {abs(self.errors):.1f} s.e."

    @property
    def clearly_positive(self) -> bool:
        """Whether the difference is significantly above zero."""
        return self.errors > SIGNIFICANT


def compare(larger: Array, smaller: Array) -> Comparison:
    """Compare values (trials,) that are paired by trial."""
    difference = larger - smaller
    mean = float(difference.mean())
    if len(difference) < 2:
        return Comparison(mean, float("nan"))
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    if error == 0.0:
        return Comparison(mean, 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean)))
    return Comparison(mean, mean / error)
