"""GP policies that do not believe every value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

from heliotrope.domains import Domain
from heliotrope.policies.gp import GPAgent, GPPolicy
from heliotrope.serialization.codec import register


@register
@dataclass(frozen=True, eq=False)
class Tamed(GPPolicy):
    """A GP policy to which a value below ``low`` is one of ``low``, and above ``high`` of that."""

    low: float = -inf
    high: float = inf

    def start(self, domain: Domain) -> GPAgent:
        """Return a fresh agent over a domain."""
        return _TamedAgent(self, domain)


def tamed(policy: GPPolicy, low: float | None, high: float | None) -> GPPolicy:
    """The policy, believing values between bounds alone; None is no bound."""
    if low is None and high is None:
        return policy
    parts = {field.name: getattr(policy, field.name) for field in fields(GPPolicy)}
    return Tamed(**parts, low=-inf if low is None else low, high=inf if high is None else high)


class _TamedAgent(GPAgent):
    def __init__(self, policy: Tamed, domain: Domain) -> None:
        super().__init__(policy, domain)
        self._low, self._high = policy.low, policy.high

    def tell(self, key: int, y: float) -> None:
        """Take a value, or the bound beyond which it lies."""
        super().tell(key, min(max(y, self._low), self._high))
