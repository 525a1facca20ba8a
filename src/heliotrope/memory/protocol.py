"""Memories decide which past observations count at time t."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from heliotrope.domains import Domain
from heliotrope.posterior import Engine, EngineOptions
from heliotrope.priors import Prior


@runtime_checkable
class Memory(Protocol):
    """Which observations count: those of the current epoch, as far as the engine keeps them."""

    def epoch(self, t: float) -> float:
        """Return the epoch of time t; epochs never decrease with time."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return an engine without data that applies this memory."""


class OneEpoch:
    """A memory whose engine does all the forgetting, so time has a single epoch."""

    def epoch(self, t: float) -> float:
        return 0.0
