"""Covariance of f between pairs (time, place), as the order-free engines need it."""

from __future__ import annotations

import numpy as np

from heliotrope.arrays import Array
from heliotrope.domains import Domain, Finite, Places
from heliotrope.priors import Prior, correlation


class SpaceTime:
    """A prior over a domain: Cov[f_s(x), f_t(x')] = c(s - t) k(x, x')."""

    def __init__(self, prior: Prior, domain: Domain) -> None:
        self.prior = prior
        self.space = prior.over(domain)
        self.no_places: Places = (
            np.empty(0, dtype=np.intp)
            if isinstance(domain, Finite)
            else np.empty((0, domain.dimension))
        )

    def decay(self, times: Array, t: float) -> Array:
        """Return c(s - t) for each of the times s."""
        return correlation(self.prior.time, times - t)

    def block(self, times: Array, places: Places, t: float, at: Places) -> Array:
        """Covariance (n, q) of f at (times, places) with f_t at places (the paper's k~)."""
        return self.space.block(places, at) * self.decay(times, t)[:, None]

    def noisy(self, times: Array, places: Places) -> Array:
        """Covariance (n, n) of measurements (the paper's K o D + sigma^2 I)."""
        D = correlation(self.prior.time, times[:, None] - times[None, :])
        return self.space.block(places, places) * D + self.prior.noise * np.eye(len(times))

    def same_time(self, places: Places) -> Array:
        """Covariance (q, q) of f_t between places."""
        return self.space.block(places, places) * self.scale

    def variance(self, places: Places) -> Array:
        """Prior variances (q,) of f_t."""
        return self.space.diagonal(places) * self.scale

    @property
    def scale(self) -> float:
        """c(0): 1 unless the time kernel carries an amplitude of its own."""
        return float(self.decay(np.zeros(1), 0.0)[0])
