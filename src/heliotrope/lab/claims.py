"""Claims, and the measurements that support them, refute them or leave them undecided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, isfinite

import numpy as np

from heliotrope.validation import Array

SIGNIFICANT = 3.0  # standard errors by which a difference is significant
OURS = "this project"


class Verdict(StrEnum):
    """Whether measurements support a claim."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """Mean difference over ``trials`` paired trials, and that difference in standard errors."""

    difference: float
    errors: float
    trials: int = 0

    def __str__(self) -> str:
        return f"{self.difference:+.3g}, {abs(self.errors):.1f} s.e."

    @property
    def clearly_positive(self) -> bool:
        """Whether the difference is significantly above zero."""
        return self.errors > SIGNIFICANT

    @property
    def verdict(self) -> Verdict:
        """Yes if the difference is significantly above zero, no if significantly below."""
        if self.clearly_positive:
            return Verdict.YES
        return Verdict.NO if self.errors < -SIGNIFICANT else Verdict.UNDECIDED

    @property
    def trials_needed(self) -> int | None:
        """Trials at which the same difference would be significant; None if none would be."""
        if not isfinite(self.errors) or self.errors == 0.0:
            return None
        return ceil(self.trials * (SIGNIFICANT / self.errors) ** 2)


@dataclass(frozen=True)
class Claim:
    """A claim, the measured numbers, and the verdict.

    ``source`` says who claims it: a part of the paper, or this project. ``trials_needed`` estimates
    how many trials would settle an undecided claim.
    """

    sentence: str
    measured: str
    verdict: Verdict
    source: str
    trials_needed: int | None = None

    @property
    def holds(self) -> bool:
        """Whether the measurements support the claim."""
        return self.verdict is Verdict.YES

    @property
    def answer(self) -> str:
        """The verdict in words, with the number of trials that an undecided claim needs."""
        if self.verdict is not Verdict.UNDECIDED:
            return self.verdict.value
        if self.trials_needed is None:
            return f"{self.verdict.value} (no number of trials would settle it)"
        return f"{self.verdict.value} (about {self.trials_needed:,} trials would settle it)"


def judge(sentence: str, measured: str, source: str, *found: Comparison) -> Claim:
    """Judge a claim that all differences are positive.

    It holds if all are significantly positive, and fails if one is significantly negative.
    """
    verdicts = [one.verdict for one in found]
    if Verdict.NO in verdicts:
        return Claim(sentence, measured, Verdict.NO, source)
    if Verdict.UNDECIDED in verdicts:
        return Claim(sentence, measured, Verdict.UNDECIDED, source, most_needed(*found))
    return Claim(sentence, measured, Verdict.YES, source)


def most_needed(*found: Comparison) -> int | None:
    """Trials that would settle all undecided comparisons; None if none would."""
    needed = [one.trials_needed for one in found if one.verdict is Verdict.UNDECIDED]
    known = [one for one in needed if one is not None]
    return max(known) if known and len(known) == len(needed) else None


def compare(larger: Array, smaller: Array) -> Comparison:
    """Compare values (trials,) that are paired by trial."""
    difference = larger - smaller
    mean, trials = float(difference.mean()), len(difference)
    if trials < 2:
        return Comparison(mean, float("nan"), trials)
    return _in_errors(mean, float(difference.std(ddof=1) / np.sqrt(trials)), trials)


def within(share: float, one: Array, other: Array) -> tuple[Comparison, Comparison]:
    """Compare means of paired values: neither exceeds the other by more than this share."""
    return compare((1.0 + share) * other, one), compare((1.0 + share) * one, other)


def jackknife(statistic: Callable[[Array], float], values: Array) -> Comparison:
    """Compare a statistic of values (trials, ...) with 0, with its jackknife standard error."""
    whole, trials = statistic(values), len(values)
    if trials < 2:
        return Comparison(whole, float("nan"), trials)
    without = np.array([statistic(np.delete(values, i, axis=0)) for i in range(trials)])
    return _in_errors(whole, float(np.sqrt((trials - 1) * without.var())), trials)


def _in_errors(mean: float, error: float, trials: int) -> Comparison:
    if error == 0.0:
        errors = 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
        return Comparison(mean, errors, trials)
    return Comparison(mean, mean / error, trials)
