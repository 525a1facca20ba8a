"""What is remembered: which past evaluations count at time t."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from heliotrope.arrays import as_positive
from heliotrope.codec import register
from heliotrope.domains import Domain
from heliotrope.engines import Engine, EngineOptions, build
from heliotrope.priors import Prior

_ROUNDING = 1e-9  # 1 + 3 * 0.1 is the beginning of a block, though floats put it just before


@runtime_checkable
class Memory(Protocol):
    """What counts: evaluations of one's own epoch of time, as far as the engine remembers them."""

    def epoch(self, t: float) -> float:
        """Return the epoch of time t, never less than an earlier time's."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return an engine without data that remembers so."""


@register
@dataclass(frozen=True)
class KeepAll:
    """Everything counts for ever."""

    def epoch(self, t: float) -> float:
        """Return the only epoch."""
        return 0.0

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the engine that forgets nothing but by the prior."""
        return build(prior, domain, options)


@register
@dataclass(frozen=True)
class Restart:
    """Begin anew every so many units of time: before steps 1, N + 1, 2 N + 1, ...

    Algorithm alg:R's "t mod N = 1" never holds for N = 1; this is what it means.

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
        """Return the engine of one epoch."""
        return build(prior, domain, options)
