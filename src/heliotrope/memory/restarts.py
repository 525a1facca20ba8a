"""Memories that use the posterior's own engine: keep everything, or restart at fixed times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heliotrope.domains import Domain
from heliotrope.memory.protocol import OneEpoch
from heliotrope.posterior import Engine, EngineOptions, build
from heliotrope.priors import Prior
from heliotrope.serialization.codec import register
from heliotrope.validation import as_positive

_ROUNDING = 1e-9  # 1 + 3 * 0.1 begins a block, but floating point places it just before


@register
@dataclass(frozen=True)
class KeepAll(OneEpoch):
    """Every observation counts forever."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return build(prior, domain, options)


@register
@dataclass(frozen=True)
class Restart:
    """Discard everything every ``every`` = N units of time: before steps 1, N + 1, 2 N + 1, ...

    Algorithm alg:R says "t mod N = 1", which never holds for N = 1; this rule covers N = 1 too.

    Examples
    --------
    >>> [Restart(2).epoch(t) for t in (1, 2, 3, 4, 5)]
    [0.0, 0.0, 1.0, 1.0, 2.0]
    """

    every: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", as_positive(self.every, "every"))

    def epoch(self, t: float) -> float:
        """Return the number of restarts before time t."""
        return float(np.floor((t - 1.0) / self.every + _ROUNDING))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return build(prior, domain, options)
