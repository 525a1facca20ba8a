"""A policy that is made anew, by a recipe, whenever the model of the values is re-estimated."""

from __future__ import annotations

from dataclasses import dataclass

from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.policies.adaptive.agent import AdaptiveAgent
from heliotrope.policies.adaptive.protocol import Recipe
from heliotrope.serialization.codec import register


@register
@dataclass(frozen=True)
class Adaptive:
    """Learn the model from the latest results, and choose as the recipe's policy for it does.

    The first points are spread out over the domain.

    Examples
    --------
    >>> import heliotrope as ht
    >>> from heliotrope.policies.adaptive import Named
    >>> opt = ht.Optimizer(ht.Box(-5, 5), Adaptive(Named("tv_gp_ucb")), seed=0)
    >>> for _ in range(20):
    ...     s = opt.ask()
    ...     opt.tell(s, 1000.0 - float(s.x[0] - 2.0) ** 2)
    >>> abs(opt.best().x[0] - 2.0) < 0.2
    np.True_
    """

    recipe: Recipe

    def __post_init__(self) -> None:
        if isinstance(self.recipe, type) or not isinstance(self.recipe, Recipe):
            raise InputError("a recipe, such as Named('tv_gp_ucb')", repr(self.recipe))

    def start(self, domain: Domain) -> AdaptiveAgent:
        """Return a fresh agent over a domain."""
        return AdaptiveAgent(self.recipe, domain)
