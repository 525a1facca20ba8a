"""Sliding window: only the newest observations count."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.memory.regression import ObservationStore, RegressionEngine, WeightedObservations
from heliotrope.memory.restarts import OneEpoch
from heliotrope.posterior import Engine, EngineOptions
from heliotrope.priors import Forgetting, Prior
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, Checked, Indices, as_positive, as_whole, checked


@register
@dataclass(frozen=True)
class Window(Checked, OneEpoch):
    """Only the ``length`` observations with the latest times count."""

    length: int = field(metadata=checked(as_whole, least=1))

    @classmethod
    def of_variation(cls, horizon: int, variation: float, gain: float = 1.0) -> Window:
        """The window of Zhou and Shroff (2021): W = gamma_T^(1/4) sqrt(T / B_T), at most T.

        ``variation`` is the budget B_T: the sum over all steps of the change of f in the RKHS
        norm. ``gain`` is the maximum information gain gamma_T.

        Examples
        --------
        >>> Window.of_variation(horizon=1000, variation=10.0, gain=16.0)
        Window(length=20)
        """
        T = as_whole(horizon, "horizon", least=1)
        B, gamma = as_positive(variation, "variation"), as_positive(gain, "gain")
        return cls(int(np.ceil(min(gamma**0.25 * np.sqrt(T / B), T))))

    @classmethod
    def of_drift(cls, horizon: int, epsilon: float, points: int, gain: float = 1.0) -> Window:
        """The same window for a GP over ``points`` points that forgets.

        Over M points the change of f in one step has the covariance 2 (1 - rho) K, so its squared
        RKHS norm, the change times K^-1 times the change, has mean 2 (1 - rho) M. Hence
        B_T = T sqrt(2 (1 - rho) M), about T sqrt(epsilon M), and the window is about
        (gamma_T / (epsilon M))^(1/4). In a Box the norm is infinite: no window follows.

        Examples
        --------
        >>> Window.of_drift(horizon=1000, epsilon=0.01, points=64, gain=12**4)
        Window(length=14)
        """
        M = as_whole(points, "points", least=1)
        step = float(np.sqrt(2.0 * (1.0 - Forgetting(epsilon).rho) * M))
        T = as_whole(horizon, "horizon", least=1)
        return cls.of_variation(T, T * step, gain) if step else cls(T)

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return RegressionEngine(prior, domain, options, WindowStore(prior, domain, self.length))


class WindowStore(ObservationStore):
    """The ``length`` observations with the latest times.

    Under a Static prior the observations of one place are merged into their weighted mean; the
    posterior is the same.
    """

    def __init__(self, prior: Prior, domain: Domain, length: int) -> None:
        super().__init__(prior, domain)
        self._merge, self._length = prior.is_static, length

    def add(self, t: float, place: Places, y: float, noise: float, now: float) -> None:
        super().add(t, place, y, noise, now)
        order = np.argsort(self._records.t, kind="stable")
        self._records.keep(order[-self._length :])

    def at(self, t: float) -> WeightedObservations:
        if not self._merge:
            return super().at(t)
        data = self._records
        latest, which = _by_place(data.places)
        each = self._model.prior.noise / data.noise
        weights = np.bincount(which, each, minlength=len(latest)).astype(float)
        means = np.bincount(which, each * data.y, minlength=len(latest)) / weights
        return WeightedObservations(data.t[latest], data.places[latest], means, weights, weights)

    def width_weights(self, t: float, times: Array) -> Array:
        full = len(self._records.t) == self._length
        return np.where(times < self._records.t[0], 0.0, 1.0) if full else np.ones(len(times))


def _by_place(places: Places) -> tuple[Indices, Indices]:
    """Return the latest visit of each place, in order, and for each visit the index into those."""
    n = len(places)
    _, from_the_end, which = np.unique(places[::-1], axis=0, return_index=True, return_inverse=True)
    latest = n - 1 - from_the_end
    order = np.argsort(latest)
    return latest[order], np.argsort(order)[which[::-1]]
