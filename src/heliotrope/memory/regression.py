"""GP regression on weighted observations.

An observation of weight w counts as one with the noise variance sigma^2 / w. A store decides which
observations count at a time, and their weights. The factor is recomputed when those change, so
rounding errors cannot accumulate, and the cost of a step depends on the store's size only.

Symbols
-------
n  observations that count       L (n, n)  factor of K o D + sigma^2 diag(1 / w)
k~ (n, q)  covariance of f_{t_i}(x_i) with f_t at q places
"""

from dataclasses import dataclass
from functools import cached_property
from math import log, pi

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import InputError, TimeError
from heliotrope.linalg import jittered_cholesky, solve_lower
from heliotrope.posterior.options import EngineOptions, check_noise
from heliotrope.posterior.protocol import EXACT, Accuracy, Surface, checked_variance
from heliotrope.posterior.spacetime import (
    PredictsParts,
    Records,
    SpaceTime,
    expansion,
)
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import LEAST_NOISE, Prior
from heliotrope.serialization.codec import State, part, under
from heliotrope.validation import Array


@dataclass(frozen=True)
class WeightedObservations:
    """Observations that count at a time, with weights for the mean and for the variance, (n,)."""

    t: Array
    places: Places
    y: Array
    weights: Array
    width_weights: Array


class ObservationStore:
    """Decides which observations count, and their weights: here all of them, with weight 1.

    Its times are at least the latest seen.
    """

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

    def state(self) -> State:
        return self._records.state()

    def restore(self, state: State) -> None:
        self._records.restore(state, self._model.prior.noise)


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


class _Moment:
    """The regressions at one time, for the mean and for the variance, factored on first use."""

    def __init__(self, model: SpaceTime, t: float, observed: WeightedObservations) -> None:
        self._model, self.t, self._observed = model, t, observed

    @cached_property
    def alpha(self) -> Array:
        """(K o D + sigma^2 diag(1 / w))^{-1} (y - m), the coefficients of the mean."""
        by, data = self.width, self._observed
        if data.weights is not data.width_weights:
            by = Regression(self._model, data.t, data.places, data.weights, by.exact)
        return by.solve(data.y - self._model.prior.mean_at(data.places))

    @cached_property
    def width(self) -> Regression:
        data = self._observed
        return Regression(self._model, data.t, data.places, data.width_weights)

    def width_with(self, t: Array, places: Places, weights: Array) -> Regression:
        """The regression for the variance, with open evaluations appended."""
        data = self._observed
        times, at = np.append(data.t, t), np.concatenate([data.places, places])
        return Regression(self._model, times, at, np.append(data.width_weights, weights))


class RegressionEngine(PredictsParts):
    """The posterior given a store's observations; results may be late, but time only advances.

    It cannot be combined with another engine, so it accepts no options.
    """

    def __init__(
        self, prior: Prior, domain: Domain, options: EngineOptions | None, store: ObservationStore
    ) -> None:
        if options is not None:
            raise InputError("no engine option, because this memory has its own", repr(options))
        check_noise(prior, domain)
        self._model, self._store = SpaceTime(prior, domain), store
        self._least = self._model.least_noise(LEAST_NOISE)
        self._open = Records(self._model.no_places)
        self._now, self.log_likelihood = -np.inf, 0.0
        self._moment: _Moment | None = None  # of the latest query, until the next observation
        self._all: Regression | None = None  # the same with open evaluations

    def open(self, key: int, t: float, place: Places) -> None:
        width = self._width(t, count_open=True)
        W = width.whitened(width.block(t, place))
        prior_variance = float(self._model.variance(place, t)[0])
        checked_variance(prior_variance - float(np.sum(W**2)), prior_variance)
        self._model.begin(t)
        self._open.open(key, t, place)
        self._now, self._all = t, None

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        t, place = self._open.get(key)
        mean, variance = self._posterior(self._now, t, place, count_open=False)
        noise = max(precision.noise(self._model.prior.noise), self._least)
        s2 = float(variance[0]) + noise
        self._store.add(t, place, y, noise, self._now)
        self._open.close(key)
        self.log_likelihood -= 0.5 * ((y - float(mean[0])) ** 2 / s2 + log(2.0 * pi * s2))
        self._moment = self._all = None

    def cancel(self, key: int) -> None:
        self._open.close(key)
        self._all = None

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
        alpha, width = self._at(t).alpha, self._width(t, count_open=True)
        inverse = width.solve(np.eye(len(width.t)))
        return expansion(self._model, t, width.t, width.places, alpha, inverse)

    def accuracy(self) -> Accuracy:
        return EXACT

    def state(self) -> State:
        own = {"scalars": np.array([self._now, self._model.start, self.log_likelihood])}
        parts = under("open/", self._open.state()) | under("store/", self._store.state())
        return own | parts

    def restore(self, state: State) -> None:
        self._now, self._model.start, self.log_likelihood = state["scalars"].tolist()
        self._open.restore(part(state, "open/"), self._model.prior.noise)
        self._store.restore(part(state, "store/"))
        self._moment = self._all = None

    def _posterior(
        self, by: float, t: float, places: Places, count_open: bool, part: str | None = None
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t from the observations that count at the time ``by``."""
        alpha, width = self._at(by).alpha, self._width(by, count_open)
        k = width.block(t, places, part)
        mean = self._model.mean_at(places, part) + alpha @ k[: len(alpha)]
        W = width.whitened(k)
        explained = np.einsum("nq,nq->q", W, W)
        return mean, np.maximum(self._model.variance(places, t, part) - explained, 0.0)

    def _at(self, t: float) -> _Moment:
        if t < self._now:
            raise TimeError(f"a time of at least {self._now:g}, the latest seen", f"{t:g}")
        if self._moment is None or self._moment.t != t:
            self._moment, self._all = _Moment(self._model, t, self._store.at(t)), None
        return self._moment

    def _width(self, t: float, count_open: bool) -> Regression:
        moment = self._at(t)
        if not (count_open and self._open.open_keys):
            return moment.width
        if self._all is None:
            times, places = self._open.open_ones()
            weights = self._store.width_weights(t, times)
            some = weights > 0.0
            self._all = moment.width_with(times[some], places[some], weights[some])
        return self._all
