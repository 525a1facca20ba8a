"""GP regression on the evaluations that a store holds, each of a weight of its own.

An evaluation of weight w counts as one whose noise variance is sigma^2 / w. The store says which
evaluations count at a time and how much. The factor is made anew when that changes, so rounding
errors cannot add up, and the cost of a step is bounded by what the store holds.

Symbols
-------
n  evaluations that count        L (n, n)  factor of K o D + sigma^2 diag(1 / w)
k~ (n, q)  covariance of f_{t_i}(x_i) with f_t at q places
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi
from typing import Protocol

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import TimeError
from heliotrope.linalg import jittered_cholesky, solve_lower
from heliotrope.posterior.protocol import Expansion, Surface, checked_variance
from heliotrope.posterior.records import Records
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Prior
from heliotrope.serialization.state import State, part, under
from heliotrope.validation import Array


@dataclass(frozen=True)
class Told:
    """What counts at a time, (n,) each: weights for the mean, and others for the width."""

    t: Array
    places: Places
    y: Array
    weights: Array
    width_weights: Array


class Store(Protocol):
    """Which of the told evaluations count, and how much."""

    def add(self, t: float, place: Places, y: float, now: float) -> None:
        """Take a told evaluation; ``now`` is the latest time seen, its own or a later one."""

    def told(self, t: float) -> Told:
        """Return what counts at time t, which is not before the latest seen."""

    def width_weights(self, t: float, times: Array) -> Array:
        """How much open evaluations of these times would count at time t; 0 is not at all."""

    def state(self) -> State:
        """Everything the store holds, as arrays."""

    def restore(self, state: State) -> None:
        """Become the store whose :meth:`state` this was."""


class Regression:
    """Evaluations of some weight, factored; ``noisy`` is their covariance at weights of 1."""

    def __init__(
        self, model: SpaceTime, t: Array, places: Places, noisy: Array, weights: Array
    ) -> None:
        self._model, self.t, self.places = model, t, places
        covariance = noisy.copy()
        covariance[np.diag_indices(len(t))] += model.prior.noise * (1.0 / weights - 1.0)
        self._L = jittered_cholesky(covariance, jitter=0.0)

    def block(self, t: float, at: Places) -> Array:
        """k~ (n, q)."""
        return self._model.block(self.t, self.places, t, at)

    def whitened(self, k: Array) -> Array:
        """L^{-1} k~ (n, q)."""
        return solve_lower(self._L, k)

    def solve(self, b: Array) -> Array:
        """Return the inverse of the measurements' covariance times b."""
        return solve_lower(self._L, solve_lower(self._L, b), transposed=True)


class _Moment:
    """What counts at a time, factored when that is asked for."""

    def __init__(self, model: SpaceTime, t: float, told: Told) -> None:
        self._model, self.t, self._told = model, t, told

    @cached_property
    def alpha(self) -> Array:
        """(K o D + sigma^2 diag(1 / w))^{-1} (y - m), the told values' weights in the mean."""
        told = self._told
        alike = told.weights is told.width_weights
        by = self.width if alike else self._regression(told.weights)
        return by.solve(told.y - self._model.prior.mean_at(told.places))

    @cached_property
    def width(self) -> Regression:
        """The evaluations that narrow the variance."""
        return self._regression(self._told.width_weights)

    def width_with(self, t: Array, places: Places, weights: Array) -> Regression:
        """The same, and open evaluations after them."""
        times = np.append(self._told.t, t)
        at = np.concatenate([self._told.places, places])
        noisy = self._model.noisy(times, at)
        both = np.append(self._told.width_weights, weights)
        return Regression(self._model, times, at, noisy, both)

    @cached_property
    def _noisy(self) -> Array:
        return self._model.noisy(self._told.t, self._told.places)

    def _regression(self, weights: Array) -> Regression:
        return Regression(self._model, self._told.t, self._told.places, self._noisy, weights)


class RegressionEngine:
    """The posterior by what a store holds; values may come late, but time cannot go back."""

    def __init__(self, prior: Prior, domain: Domain, store: Store) -> None:
        self._model, self._store = SpaceTime(prior, domain), store
        self._open = Records(self._model.no_places)
        self._now, self.log_likelihood = -np.inf, 0.0
        self._moment: _Moment | None = None  # of the latest query, while nothing was told
        self._all: Regression | None = None  # open evaluations counted

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation."""
        width = self._width(t, count_open=True)
        W = width.whitened(width.block(t, place))
        prior_variance = float(self._model.variance(place, t)[0])
        checked_variance(prior_variance - float(np.sum(W**2)), prior_variance)
        self._model.begin(t)
        self._open.open(key, t, place)
        self._now, self._all = t, None

    def tell(self, key: int, y: float) -> None:
        """Score the value by what was known before it, and hand it to the store."""
        t, place = self._open.get(key)
        mean, variance = self._posterior(self._now, t, place, count_open=False)
        s2 = float(variance[0]) + self._model.prior.noise
        self._store.add(t, place, y, self._now)
        self._open.close(key)
        self.log_likelihood -= 0.5 * ((y - float(mean[0])) ** 2 / s2 + log(2.0 * pi * s2))
        self._moment = self._all = None

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        self._open.close(key)
        self._all = None

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean and variance of f_t at places."""
        return self._posterior(t, t, places, count_open)

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance of f_t at places."""
        width = self._width(t, count_open=False)
        W = width.whitened(width.block(t, places))
        return self._model.same_time(places, t) - W.T @ W

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions of x."""
        told, width = self._at(t).alpha, self._width(t, count_open=True)
        d, alpha = self._model.decay(width.t, t), np.zeros(len(width.t))
        alpha[: len(told)] = told
        Q = d[:, None] * width.solve(np.eye(len(d))) * d
        return Expansion(self._model, width.places, d * alpha, Q, self._model.scale(t))

    def state(self) -> State:
        """Everything the engine knows, as arrays."""
        return (
            {"scalars": np.array([self._now, self._model.start, self.log_likelihood])}
            | under("open/", self._open.state())
            | under("store/", self._store.state())
        )

    def restore(self, state: State) -> None:
        """Become the engine whose :meth:`state` this was."""
        self._now, self._model.start, self.log_likelihood = state["scalars"].tolist()
        self._open.restore(part(state, "open/"))
        self._store.restore(part(state, "store/"))
        self._moment = self._all = None

    def _posterior(
        self, by: float, t: float, places: Places, count_open: bool
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t by what counts at the time ``by``."""
        alpha, width = self._at(by).alpha, self._width(by, count_open)
        k = width.block(t, places)
        mean = self._model.prior.mean_at(places) + alpha @ k[: len(alpha)]
        W = width.whitened(k)
        explained = np.einsum("nq,nq->q", W, W)
        return mean, np.maximum(self._model.variance(places, t) - explained, 0.0)

    def _at(self, t: float) -> _Moment:
        if t < self._now:
            raise TimeError(f"a time of at least {self._now:g}, the latest seen", f"{t:g}")
        if self._moment is None or self._moment.t != t:
            self._moment, self._all = _Moment(self._model, t, self._store.told(t)), None
        return self._moment

    def _width(self, t: float, count_open: bool) -> Regression:
        """The evaluations that narrow the variance at time t."""
        moment = self._at(t)
        if not (count_open and self._open.open_keys):
            return moment.width
        if self._all is None:
            times, places = self._open.open_ones()
            weights = self._store.width_weights(t, times)
            some = weights > 0.0
            self._all = moment.width_with(times[some], places[some], weights[some])
        return self._all
