"""GP regression on weighted observations: sliding windows, and weights that shrink with age.

An observation of weight w counts as one with the noise variance sigma^2 / w. A store decides which
observations count at a time, and their weights. The factor is recomputed when those change, so
rounding errors cannot accumulate, and the cost of a step depends on the store's size only.

Symbols
-------
n  observations that count       L (n, n)  factor of K o D + sigma^2 diag(1 / w)
k~ (n, q)  covariance of f_{t_i}(x_i) with f_t at q places
g  factor by which a weight shrinks in one unit of time
r  sigma^2 / sigma_i^2 of an observation with its own noise
u  places with observations, whose results at times s are summed:
w  (u,) sums of r g^(t - s)     w2 (u,) sums of r g^(2 (t - s))     wy (u,) sums of r g^(t - s) y
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, nan, pi

import numpy as np

from heliotrope.domains import Box, Domain, Places, are_indices
from heliotrope.errors import InputError, TimeError
from heliotrope.linalg import checked_variance, jittered_cholesky, solve_lower
from heliotrope.memory.resets import OneEpoch
from heliotrope.posterior import Engine, EngineOptions
from heliotrope.posterior.options import check_noise
from heliotrope.posterior.protocol import Surface
from heliotrope.posterior.spacetime import RecordingEngine, Records, SpaceTime, expansion
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Forgetting, Prior
from heliotrope.serialization.codec import State, Stored, register
from heliotrope.validation import Array, Checked, Indices, as_positive, as_share, as_whole, checked

_NEGLIGIBLE = 1e-10  # a negligible weight, even where the noise is a millionth of the variance
_NEGLIGIBLE_IN_A_BOX = (
    1e-4  # few places repeat in a Box, so the dropped share of all weight is larger
)
_LEAST = 1e-200  # smaller weights would make sigma^2 / w overflow


@dataclass(frozen=True)
class WeightedObservations:
    """Observations that count at a time, with weights for the mean and for the variance, (n,)."""

    t: Array
    places: Places
    y: Array
    weights: Array
    width_weights: Array


class ObservationStore(Stored):
    """Decides which observations count, and their weights: here all of them, with weight 1.

    Its times are at least the latest seen.
    """

    _stored: tuple[str, ...] = ("_records",)

    def __init__(self, prior: Prior, domain: Domain) -> None:
        self._model = SpaceTime(prior, domain)
        self._records = Records(self._model.no_places)

    def add(self, t: float, place: Places, y: float, noise: float, now: float) -> None:
        """Add an observation of time t; ``now`` is the latest time seen."""
        self._records.append(t, place, y, noise)

    def at(self, t: float) -> WeightedObservations:
        """Return the observations that count at time t."""
        data, weights = self._records, self._model.prior.noise / self._records.noise
        return WeightedObservations(data.t, data.places, data.y, weights, weights)

    def width_weights(self, t: float, times: Array) -> Array:
        """Weights at time t of open evaluations of these times; 0 excludes one."""
        return np.ones(len(times))


class Regression:
    """The factored covariance of weighted evaluations; ``exact`` is the one without noise."""

    def __init__(
        self, model: SpaceTime, t: Array, places: Places, weights: Array, exact: Array | None = None
    ) -> None:
        self._model, self.t, self.places = model, t, places
        self.exact = model.between(t, places, t, places) if exact is None else exact
        covariance = self.exact + np.diag(model.prior.noise / weights)
        self._L = jittered_cholesky(covariance, jitter=0.0)

    def block(self, t: float, at: Places, part: str | None = None) -> Array:
        """k~ (n, q)."""
        return self._model.block(self.t, self.places, t, at, part)

    def whitened(self, k: Array) -> Array:
        """L^{-1} k~ (n, q)."""
        return solve_lower(self._L, k)

    def solve(self, b: Array) -> Array:
        """Return the inverse of the measurements' covariance times b."""
        return solve_lower(self._L, solve_lower(self._L, b), transposed=True)


class RegressionEngine(RecordingEngine):
    """The posterior given a store's observations; results may be late, but time only advances.

    It cannot be combined with another engine, so it accepts no options.
    """

    _stored = (*RecordingEngine._stored, "_now", "log_likelihood", "_store")

    def __init__(
        self, prior: Prior, domain: Domain, options: EngineOptions | None, store: ObservationStore
    ) -> None:
        if options is not None:
            raise InputError("no engine option, because this memory has its own", repr(options))
        check_noise(prior, domain)
        super().__init__(prior, domain)  # its records are open evaluations only
        self._store, self._now, self.log_likelihood = store, -np.inf, 0.0
        self._forget()

    def open(self, key: int, t: float, place: Places) -> None:
        width = self._width(t, count_open=True)
        W = width.whitened(width.block(t, place))
        prior_variance = float(self._model.variance(place, t)[0])
        checked_variance(prior_variance - float(np.sum(W**2)), prior_variance)
        super().open(key, t, place)
        self._now = t
        self._factored.pop(True, None)

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        t, place = self._records.get(key)
        mean, variance = self._posterior(self._now, t, place, count_open=False)
        noise = self._noise(precision)
        s2 = float(variance[0]) + noise
        self._store.add(t, place, y, noise, self._now)
        self._records.close(key)
        self.log_likelihood -= 0.5 * ((y - float(mean[0])) ** 2 / s2 + log(2.0 * pi * s2))
        self._forget()

    def cancel(self, key: int) -> None:
        super().cancel(key)
        self._factored.pop(True, None)

    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        return self._posterior(t, t, places, count_open, part)

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        width, others = self._width(t, count_open=False), places if others is None else others
        W = width.whitened(width.block(t, places, part))
        there = W if others is places else width.whitened(width.block(t, others, part))
        return self._model.same_time(places, others, t, part) - W.T @ there

    def surface(self, t: float) -> Surface:
        alpha, width = self._coefficients(t), self._width(t, count_open=True)
        inverse = width.solve(np.eye(len(width.t)))
        return expansion(self._model, t, width.t, width.places, alpha, inverse)

    def restore(self, state: State) -> None:
        super().restore(state)
        self._forget()

    def _posterior(
        self, by: float, t: float, places: Places, count_open: bool, part: str | None = None
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t from the observations that count at the time ``by``."""
        alpha, width = self._coefficients(by), self._width(by, count_open)
        k = width.block(t, places, part)
        mean = self._model.mean_at(places, part) + alpha @ k[: len(alpha)]
        W = width.whitened(k)
        explained = np.einsum("nq,nq->q", W, W)
        return mean, np.maximum(self._model.variance(places, t, part) - explained, 0.0)

    def _forget(self) -> None:
        """Forget what was computed at the time of the latest query."""
        self._queried, self._alpha = nan, np.empty(0)
        self._factored = dict[bool, Regression]()  # without, and with open evaluations

    def _at(self, t: float) -> WeightedObservations:
        """The observations that count at a time, which are kept until the next observation."""
        if t < self._now:
            raise TimeError(f"a time of at least {self._now:g}, the latest seen", f"{t:g}")
        if self._queried != t:
            self._forget()
            self._queried, self._observed = t, self._store.at(t)
        return self._observed

    def _width(self, t: float, count_open: bool) -> Regression:
        """The regression for the variance, with or without open evaluations."""
        data, count_open = self._at(t), count_open and bool(self._records.open_keys)
        if count_open not in self._factored:
            times, places, weights = data.t, data.places, data.width_weights
            if count_open:
                open_times, open_places = self._records.open_ones()
                more = self._store.width_weights(t, open_times)
                times = np.append(times, open_times[more > 0.0])
                places = np.concatenate([places, open_places[more > 0.0]])
                weights = np.append(weights, more[more > 0.0])
            self._factored[count_open] = Regression(self._model, times, places, weights)
        return self._factored[count_open]

    def _coefficients(self, t: float) -> Array:
        """(K o D + sigma^2 diag(1 / w))^{-1} (y - m), the coefficients of the mean."""
        data, by = self._at(t), self._width(t, count_open=False)
        if len(self._alpha) != len(data.y):
            if data.weights is not data.width_weights:
                by = Regression(self._model, data.t, data.places, data.weights, by.exact)
            self._alpha = by.solve(data.y - self._model.prior.mean_at(data.places))
        return self._alpha


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
        weight = self._model.prior.noise / data.noise
        weights = np.bincount(which, weight, minlength=len(latest)).astype(float)
        means = np.bincount(which, weight * data.y, minlength=len(latest)) / weights
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

    _stored = ("_now", "_t", "_places", "_sums")

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
        repeats = np.flatnonzero(same if are_indices(place) else same.all(axis=1))
        if self._merge and len(repeats):
            self._sums[:, repeats[0]] += added
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
