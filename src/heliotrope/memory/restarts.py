"""The protocol of memories, and two without an engine of their own: keep all, and restart."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Domain
from heliotrope.posterior import Engine, EngineOptions, build
from heliotrope.priors import Prior
from heliotrope.serialization.codec import register
from heliotrope.validation import Checked, as_positive, checked

_ROUNDING = 1e-9  # 1 + 3 * 0.1 begins a block, but floating point places it just before


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


@register
@dataclass(frozen=True)
class KeepAll(OneEpoch):
    """Every observation counts forever."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return build(prior, domain, options)


@register
@dataclass(frozen=True)
class Restart(Checked):
    """Discard everything every ``every`` = N units of time: before steps 1, N + 1, 2 N + 1, ...

    Algorithm alg:R says "t mod N = 1", which never holds for N = 1; this rule covers N = 1 too.

    Examples
    --------
    >>> [Restart(2).epoch(t) for t in (1, 2, 3, 4, 5)]
    [0.0, 0.0, 1.0, 1.0, 2.0]
    """

    every: float = field(metadata=checked(as_positive))

    def epoch(self, t: float) -> float:
        return float(np.floor((t - 1.0) / self.every + _ROUNDING))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return build(prior, domain, options)
