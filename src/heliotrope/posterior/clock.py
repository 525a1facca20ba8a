"""The time of an engine whose state moves on: it can only go forward."""

from __future__ import annotations

import numpy as np

from heliotrope.errors import InputError, TimeError
from heliotrope.priors import Markov, Prior, Wiener


class Clock:
    """The latest time seen, and what a later one leaves of what was known then.

    At time t, f has the prior covariance scale(t) k: 1 k, but for a Wiener process, which has
    grown since the first time seen.
    """

    def __init__(self, prior: Prior) -> None:
        if not isinstance(prior.time, Markov):
            raise InputError("a Static, Forgetting or Wiener time for this engine", str(prior.time))
        self._rho = prior.time.rho
        self._rate = prior.time.rate if isinstance(prior.time, Wiener) else 0.0
        self.now = self.start = -np.inf

    def decay(self, t: float) -> float:
        """Return rho^(t - now), 1 before anything was seen."""
        if t < self.now:
            raise TimeError(
                f"a time of at least {self.now:g}, the latest seen",
                f"{t:g}",
                "A belief about the past needs engine='dense'.",
            )
        return 1.0 if np.isinf(self.now) else float(self._rho ** (t - self.now))

    def scale(self, t: float) -> float:
        """Return the prior variance of f_t as a multiple of the space kernel's."""
        return 1.0 if np.isinf(self.start) else 1.0 + self._rate * (t - self.start)

    def move(self, t: float) -> None:
        """Go on to time t."""
        self.now = t
        if np.isinf(self.start):
            self.start = t
