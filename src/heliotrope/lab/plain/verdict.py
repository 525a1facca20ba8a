"""Whether the regret in a plain world is small enough."""

from __future__ import annotations

from typing import NamedTuple

from heliotrope.lab.plain.drifts import DRIFTS
from heliotrope.lab.plain.player import Record
from heliotrope.lab.plain.reference import play_reference
from heliotrope.lab.plain.truth import Truth
from heliotrope.lab.plain.world import PlainWorld
from heliotrope.spaces import Options

_QUIET = 0.3  # noise, in deviations
_EASY = 0.01  # regret of random choices, as a share of the range
_OF_RANDOM, _OF_REFERENCE = 0.2, 1.5  # most regret, as a share of theirs


class Verdict(NamedTuple):
    """The mean regrets of the second half, and whether the own one is small enough.

    ``reference`` is that of the policy that knows the world, NaN if it was not needed. In a quiet
    world ``holds`` says that the own regret is at most 0.2 times that of random choices. In others
    it may also be 1.5 times that of the reference. It always holds where random choices lose at
    most a hundredth of the range, and where nothing says which options keep a limit.
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
    """Whether the world stands still or moves slowly, and has little noise."""
    world = truth.world
    return DRIFTS[world.drift].slow and truth.noise() <= _QUIET and world.results != "heavy tails"


def _hides_its_limit(world: PlainWorld) -> bool:
    """Whether nothing says which choices keep a limit until they are measured."""
    return world.limited and isinstance(world.space, Options) and world.space.features is None


def judge(truth: Truth, record: Record, steps: int) -> Verdict:
    """Judge a run; the reference plays where more than 0.2 of random's regret may be allowed."""
    own, random = record.later_regret(steps)
    nan = float("nan")
    is_hard = random > _EASY * truth.range(steps) and not _hides_its_limit(truth.world)
    if not is_hard or own <= _OF_RANDOM * random:
        return Verdict(own, random, nan, True)
    if is_quiet(truth):
        return Verdict(own, random, nan, False)
    reference, _ = play_reference(truth.world, steps).later_regret(steps)
    return Verdict(own, random, reference, own <= _OF_REFERENCE * reference)
