"""Whether the regret in a plain world is small enough."""

from __future__ import annotations

from typing import NamedTuple

from heliotrope.lab.plain.drifts import DRIFTS
from heliotrope.lab.plain.player import Record
from heliotrope.lab.plain.reference import play_reference
from heliotrope.lab.plain.truth import Truth

_QUIET = 0.3  # noise, in deviations
_EASY = 0.01  # regret of random choices, as a share of the range
_OF_RANDOM, _OF_REFERENCE = 0.2, 1.5


class Verdict(NamedTuple):
    """The regret of the second half, of random choices and of the reference (NaN if not needed).

    In a world without limits that stands still or moves slowly, with noise of at most 0.3
    deviations, a regret of at most 0.2 of random's ``holds``. Elsewhere the larger of that and of
    1.5 times the reference's does. Where random choices lose at most a hundredth of the range,
    every regret does.
    """

    own: float
    random: float
    reference: float
    holds: bool

    @property
    def ratio(self) -> float:
        """The regret over that of random choices."""
        return self.own / self.random if self.random > 0.0 else float("nan")


def is_quiet(truth: Truth) -> bool:
    """Whether a world without limits stands still or moves slowly, and has little noise."""
    world = truth.world
    has_noise = truth.noise() > _QUIET or world.results == "heavy tails"
    return DRIFTS[world.drift].slow and not has_noise and not world.limited


def judge(truth: Truth, record: Record, steps: int) -> Verdict:
    """Judge a run; the reference plays where more than 0.2 of random's regret may be allowed."""
    own, random = record.later_regret(steps)
    nan = float("nan")
    if not random > _EASY * truth.range(steps) or own <= _OF_RANDOM * random:
        return Verdict(own, random, nan, True)
    if is_quiet(truth):
        return Verdict(own, random, nan, False)
    reference, _ = play_reference(truth.world, steps).later_regret(steps)
    return Verdict(own, random, reference, own <= _OF_REFERENCE * reference)
