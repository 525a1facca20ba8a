"""What an adaptive policy is made by."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from heliotrope.domains import Domain
from heliotrope.estimation import Model
from heliotrope.policies.protocol import Policy


@runtime_checkable
class Recipe(Protocol):
    """How a policy follows from what was learned."""

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        """The policy of a model with a drift in a unit of time, over a domain in the unit cube."""
