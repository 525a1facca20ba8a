"""``auto``: the policy to start with, TV-GP-UCB with a learned sum of terms and a constant beta."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from heliotrope.acquisition import UCB, LogBeta
from heliotrope.domains import Box, Contextual, Domain, Finite
from heliotrope.errors import InputError
from heliotrope.estimation import (
    FEWEST_WITH_FAULTS,
    Model,
    Results,
    World,
    estimate_model,
)
from heliotrope.policies.adaptive import Adaptive
from heliotrope.policies.gp import GPPolicy
from heliotrope.policies.parameters import SLOWEST
from heliotrope.policies.protocol import Policy
from heliotrope.posterior import BoxOptions
from heliotrope.serialization.codec import register
from heliotrope.spaces import SpaceLike, is_space_like
from heliotrope.terms import as_duration
from heliotrope.validation import short_repr

__all__ = ["Tracking", "auto", "lasting_beta"]

_BUDGET = 250  # points in the dictionary of a Box
_EARLIEST = 10.0  # step at which the paper's beta is taken, at the least
_SHARE_OF_MEMORY = 0.1  # of the steps that the memory reaches back


def auto(domain: Domain | Contextual | SpaceLike, season: float | None = None) -> Adaptive:
    """The policy to start with: TV-GP-UCB that learns what the world is made of.

    If values repeat with a known period, such as a day, give it as ``season``, in units of t.

    Examples
    --------
    >>> import heliotrope as ht
    >>> opt = ht.Optimizer(domain := ht.grid(20, 20), ht.auto(domain), seed=0)
    >>> opt.tell(opt.ask(), 3.5)
    """
    if not (isinstance(domain, (Finite, Box, Contextual)) or is_space_like(domain)):
        expected = "a Finite domain, a Box, a Contextual one, a SearchSpace or Options"
        raise InputError(expected, short_repr(domain))
    return Adaptive(Tracking(0.0 if season is None else season))


@register
@dataclass(frozen=True)
class Tracking:
    """TV-GP-UCB for a world that never settles: the width of its bound does not grow with time.

    The world has a ``season`` of a period, if that is not 0. Otherwise it has one of the
    ``candidates`` if results make it likely.
    """

    season: float = 0.0
    candidates: tuple[float, ...] = ()
    counts: ClassVar[bool] = True
    doubts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.season != 0.0:
            object.__setattr__(self, "season", as_duration(self.season, "season"))
        periods = tuple(as_duration(period, "candidates") for period in self.candidates)
        object.__setattr__(self, "candidates", periods)

    def estimate(self, results: Results, groups: Sequence[Sequence[int]], before: Model) -> Model:
        return estimate_model(results, groups, before.estimate, self.season, self.candidates)

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        if model.is_plain:
            return before_results(model)
        # fewer points in the engine's dictionary save 40 % of an ask
        engine = BoxOptions(_BUDGET) if isinstance(domain, Box) else None
        return of_world(model.world, engine=engine)


def before_results(model: Model) -> GPPolicy:
    """The policy while there is no result to learn from."""
    return GPPolicy(model.prior(model.epsilon), UCB(lasting_beta(model.rate)))


def of_world(world: World, *, engine: BoxOptions | None = None, doubts: bool = True) -> GPPolicy:
    """The policy for a world; values are warped, and results come one unit of time apart."""
    beta = lasting_beta(world.renewal, world.results)
    knows = world.results >= FEWEST_WITH_FAULTS
    return GPPolicy(world.prior(), UCB(beta), engine=engine, doubts=doubts and knows)


def lasting_beta(rate: float, results: float = inf) -> float:
    """The paper's beta at a tenth of the steps that the memory reaches back, at least at step 10.

    ``rate`` is the drift between two results. There were not more steps than ``results``.

    Examples
    --------
    >>> [round(lasting_beta(rate), 2) for rate in (0.1, 0.01, 0.001, 0.0)]
    [2.95, 2.95, 4.79, 8.48]
    """
    reach = _SHARE_OF_MEMORY / max(rate, SLOWEST)
    return LogBeta()(max(_EARLIEST, min(reach, results)))
