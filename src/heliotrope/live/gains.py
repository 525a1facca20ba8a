"""The gain over the baseline: now, and summed over the run."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from heliotrope.domains import Places
from heliotrope.live.beliefs import Belief
from heliotrope.validation import Json

_WIDTH = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Gain:
    """How much better one setting is than the baseline, with a 95 % interval.

    ``mean`` is positive if the setting is better. ``baseline`` is the believed value of the
    baseline, to which a percentage refers.
    """

    mean: float
    std: float
    baseline: float

    @property
    def low(self) -> float:
        return self.mean - _WIDTH * self.std

    @property
    def high(self) -> float:
        return self.mean + _WIDTH * self.std

    def as_told(self, sign: float) -> Gain:
        """The same gain beside the baseline's value as it is told: its negative if sign is -1."""
        return Gain(self.mean, self.std, sign * self.baseline)

    def to_json(self) -> Json:
        return {"mean": self.mean, "low": self.low, "high": self.high, "baseline": self.baseline}

    def __str__(self) -> str:
        """In percent if the baseline's value is positive."""
        unit, scale = ("", 1.0) if self.baseline <= 0.0 else (" %", 100.0 / self.baseline)
        mean, low, high = (scale * number for number in (self.mean, self.low, self.high))
        return f"{mean:.3g}{unit} better, 95 % between {low:.3g} and {high:.3g}"


def gain(objective: Belief, t: float, place: Places, baseline: Places, factor: float = 1.0) -> Gain:
    """The gain of a place over the baseline at time t, whose deviation is multiplied by a factor.

    It is the joint posterior of f_t(x) - f_t(baseline), in which what all places share cancels.
    """
    mean, variance = objective.contrast(t, place, baseline)
    base, _ = objective.predict(t, baseline)
    return Gain(float(mean[0]), factor * sqrt(float(variance[0])), float(base[0]))


@dataclass(frozen=True)
class TotalGain:
    """The sum of the gains of all evaluations, each as it was believed when its result came.

    Errors of different steps may have any correlation. So their deviations are added, which is at
    least the deviation of the sum.
    """

    steps: int = 0
    sum: float = 0.0
    stds: float = 0.0
    baselines: float = 0.0

    def after(self, one: Gain) -> TotalGain:
        """Take the gain of one more evaluation."""
        return TotalGain(
            self.steps + 1, self.sum + one.mean, self.stds + one.std, self.baselines + one.baseline
        )

    @property
    def gain(self) -> Gain:
        """The sum, with its interval."""
        return Gain(self.sum, self.stds, self.baselines)
