"""Covariance of f between pairs (time, place)."""

from __future__ import annotations

import numpy as np

from heliotrope.domains import Domain, Finite, Places
from heliotrope.errors import InputError
from heliotrope.priors import Prior, Wiener, covariance_in_time
from heliotrope.validation import Array


class SpaceTime:
    """A prior over a domain: Cov[f_s(x), f_t(x')] = c(s, t) k(x, x').

    ``start`` is the time at which a Wiener process begins: the first time the engine sees.
    """

    def __init__(self, prior: Prior, domain: Domain) -> None:
        self.prior = prior
        self.space = prior.over(domain)
        self.start = np.inf
        self.no_places: Places = (
            np.empty(0, dtype=np.intp)
            if isinstance(domain, Finite)
            else np.empty((0, domain.dimension))
        )

    def begin(self, t: float) -> None:
        """Register the time of an evaluation."""
        self.start = min(self.start, t)

    def in_time(self, s: Array, t: Array) -> Array:
        """Return c(s, t) for times that broadcast."""
        return covariance_in_time(self.prior.time, s, t, self.start)

    def decay(self, times: Array, t: float) -> Array:
        """Return c(s, t) for each of the times s."""
        return self.in_time(times, np.array(t))

    def block(self, times: Array, places: Places, t: float, at: Places) -> Array:
        """Covariance (n, q) of f at (times, places) with f_t at places (the paper's k~)."""
        return self.space.block(places, at) * self.decay(times, t)[:, None]

    def noisy(self, times: Array, places: Places) -> Array:
        """Covariance (n, n) of measurements (the paper's K o D + sigma^2 I)."""
        D = self.in_time(times[:, None], times[None, :])
        return self.space.block(places, places) * D + self.prior.noise * np.eye(len(times))

    def same_time(self, places: Places, t: float | None = None) -> Array:
        """Covariance (q, q) of f_t between places; only a Wiener process depends on the time."""
        return self.space.block(places, places) * self.scale(t)

    def variance(self, places: Places, t: float | None = None) -> Array:
        """Prior variances (q,) of f_t."""
        return self.space.diagonal(places) * self.scale(t)

    def scale(self, t: float | None = None) -> float:
        """c(t, t): 1 unless the time kernel has an amplitude or grows."""
        if t is None and isinstance(self.prior.time, Wiener):
            raise InputError("a stationary time kernel for this engine", str(self.prior.time))
        return float(self.decay(np.array([t or 0.0]), t or 0.0)[0])
