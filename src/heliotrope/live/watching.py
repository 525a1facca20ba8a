"""The belief of a watched metric: learned like the objective's, and cautious while it is young.

A model that is learned from a few results near one setting is too sure. All values are alike there,
so it expects alike values everywhere. Two things are known better. A limit says by how much a
metric can change: otherwise nobody would have set it. And the errors of earlier predictions say how
far the model can be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from heliotrope.domains import Domain
from heliotrope.estimation import Model, World
from heliotrope.live.description import Live
from heliotrope.live.rules import Limit
from heliotrope.policies import Adaptive, GPPolicy, Policy
from heliotrope.policies.auto import Tracking, before_results, of_world
from heliotrope.serialization.codec import register

_YOUNG = 10.0  # results that a limit stands for, as evidence of how far a metric can change


def watching(limits: Sequence[Limit] = ()) -> Adaptive:
    """The policy that learns a metric with limits."""
    return _cautious(Tracking(), limits)


def cautious(policy: Policy, limits: Sequence[Limit]) -> Policy:
    """A cautious ``auto`` for a metric with limits; any other policy stays as it is."""
    if not (limits and isinstance(policy, Adaptive) and isinstance(policy.recipe, Tracking)):
        return policy
    return replace(_cautious(policy.recipe, limits), deferred=policy.deferred)


def _cautious(recipe: Tracking, limits: Sequence[Limit]) -> Adaptive:
    bounds = tuple(limit.bound for limit in limits if not limit.relative)
    shares = tuple(limit.bound for limit in limits if limit.relative)
    return Adaptive(Watching(recipe.season, recipe.candidates, bounds, shares))


def policy_of(live: Live, metric: str, policy: Policy) -> Policy:
    """The policy of a metric: ``policy``, but a watched metric learns even if that does not."""
    limits = live.limits_of(metric)
    if metric in live.objectives or isinstance(policy, Adaptive):
        return cautious(policy, limits)
    return _cautious(Tracking(), limits)


@register
@dataclass(frozen=True)
class Watching(Tracking):
    """The sum of terms that ``auto`` learns, whose variance is at least what the bounds suggest.

    No value is taken for a fault: it may be the crossing of a limit.
    """

    bounds: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    doubts: ClassVar[bool] = False

    def negated(self) -> Watching:
        return replace(self, bounds=tuple(-bound for bound in self.bounds))

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        if model.is_plain:
            return before_results(model)
        return watching_policy(model.world, bounds=self.bounds, shares=self.shares)


def watching_policy(
    world: World, bounds: Sequence[float] = (), shares: Sequence[float] = ()
) -> GPPolicy:
    """The policy of a watched metric's warped values in a world, like :func:`of_world`.

    ``bounds`` are its limits, and ``shares`` those that are relative to the baseline.
    Implausible values are believed.
    """
    return of_world(cautious_world(world, bounds, shares), doubts=False)


def cautious_world(world: World, bounds: Sequence[float], shares: Sequence[float] = ()) -> World:
    """The world with a larger variance if its values are nearer together than to the limits.

    A limit stands for a few results that would show this distance.
    """
    usual = float(world.warp.outside(world.mean))
    values = [*bounds, *(share * usual for share in shares)]
    distances = [abs(float(world.warp.inside(value)) - world.mean) for value in values]
    if not distances:
        return world
    expected = min(distances) ** 2 / (world.stays + world.drifts)
    share = _YOUNG / (_YOUNG + world.results)
    wider = max(1.0, 1.0 - share + share * expected)
    return replace(world, stays=wider * world.stays, drifts=wider * world.drifts)
