"""Weighted observations: an observation counts less the older it is.

Symbols
-------
u  observations held       g  factor by which a weight shrinks in one unit of time
r  sigma^2 / sigma_i^2 of an observation with its own noise
w  (u,) sums of r g^(t - s)     w2 (u,) sums of r g^(2 (t - s))     wy (u,) sums of r g^(t - s) y
"""

from dataclasses import dataclass, field

import numpy as np

from heliotrope.domains import Box, Domain, Places, are_indices
from heliotrope.memory.regression import ObservationStore, RegressionEngine, WeightedObservations
from heliotrope.memory.restarts import OneEpoch
from heliotrope.posterior import Engine, EngineOptions
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State, register
from heliotrope.validation import Array, Checked, as_share, checked

_NEGLIGIBLE = 1e-10  # a negligible weight, even where the noise is a millionth of the variance
_NEGLIGIBLE_IN_A_BOX = (
    1e-4  # few places repeat in a Box, so the dropped share of all weight is larger
)
_LEAST = 1e-200  # smaller weights would make sigma^2 / w overflow


@register
@dataclass(frozen=True)
class Weights(Checked, OneEpoch):
    """An observation at time s has the weight ``rate``^(t - s) at time t (Deng et al. 2022).

    Its noise variance is sigma^2 over the weight for the mean, and sigma^2 over the squared weight
    for the variance. Over a Finite domain and under a Static prior the observations of a point are
    merged, so the cost of a step depends only on the number of points. In a Box observations with
    a weight below 1e-4 are dropped: log(1e-4) / log(rate) remain, or all with a rate of 1.
    """

    rate: float = field(metadata=checked(as_share, one=True))

    @property
    def grows(self) -> bool:
        """Whether the number of observations grows without bound in a Box."""
        return self.rate == 1.0

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return RegressionEngine(prior, domain, options, WeightsStore(prior, domain, self.rate))


class WeightsStore(ObservationStore):
    """Sums over all observations: weights g^(t - s) for the mean, their squares for the variance.

    Under a Static prior the observations of one place are merged into their weighted mean.
    """

    def __init__(self, prior: Prior, domain: Domain, rate: float) -> None:
        super().__init__(prior, domain)
        self._merge, self._rate = prior.is_static, rate
        self._negligible = _NEGLIGIBLE_IN_A_BOX if isinstance(domain, Box) else _NEGLIGIBLE
        self._places, self._t, self._now = self._model.no_places, np.empty(0), -np.inf
        self._sums = np.empty((3, 0))  # w, w2 and wy at the time now

    def add(self, t: float, place: Places, y: float, noise: float, now: float) -> None:
        fading, w = self._rate ** (now - self._now), self._rate ** (now - t)
        r = self._model.prior.noise / noise
        added = r * np.array([w, w**2, w * y])
        self._now = now
        self._sums *= np.array([[fading], [fading**2], [fading]])
        same = self._places == place
        known = np.flatnonzero(same if are_indices(place) else same.all(axis=1))
        if self._merge and len(known):
            self._sums[:, known[0]] += added
        else:
            self._t, self._places = np.append(self._t, t), np.concatenate([self._places, place])
            self._sums = np.column_stack([self._sums, added])
        kept = self._sums[0] > self._negligible
        if not kept.all():
            self._t, self._places = self._t[kept], self._places[kept]
            self._sums = self._sums[:, kept]

    def at(self, t: float) -> WeightedObservations:
        fading, (w, w2, wy) = self._rate ** (t - self._now), self._sums
        weights = np.maximum([fading * w, fading**2 * w2], _LEAST)
        return WeightedObservations(self._t, self._places, wy / w, *weights)

    def width_weights(self, t: float, times: Array) -> Array:
        return np.maximum(self._rate ** (2.0 * (t - times)), _LEAST)

    def state(self) -> State:
        arrays = {"t": self._t, "places": self._places, "sums": self._sums}
        return {"now": np.array(self._now)} | arrays

    def restore(self, state: State) -> None:
        self._now, self._t = float(state["now"]), state["t"]
        self._places, self._sums = state["places"], state["sums"].copy()
