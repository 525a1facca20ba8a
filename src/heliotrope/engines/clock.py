"""The time of an engine whose state moves on: it can only go forward."""

from __future__ import annotations

import numpy as np

from heliotrope.errors import InputError, TimeError
from heliotrope.priors import Forgetting, Prior, Static


class Clock:
    """The latest time seen, and how much of what was known then is left at a later one."""

    def __init__(self, prior: Prior) -> None:
        if not isinstance(prior.time, (Static, Forgetting)):
            raise InputError("a Static or Forgetting time for this engine", str(prior.time))
        self._rho = prior.time.rho
        self.now = -np.inf

    def decay(self, t: float) -> float:
        """Return rho^(t - now), 1 before anything was seen."""
        if t < self.now:
            raise TimeError(
                f"a time of at least {self.now:g}, the latest seen",
                f"{t:g}",
                "A belief about the past needs engine='dense'.",
            )
        return 1.0 if np.isinf(self.now) else float(self._rho ** (t - self.now))
