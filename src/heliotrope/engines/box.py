"""Tracking over a box: a dictionary of visited points in whitened coordinates.

The kernel is separable, so f_t at the visited points is a Markov state: what any other point adds
to it is independent of the past. In whitened coordinates this is the kernel recursive
least-squares tracker of Van Vaerenbergh et al. (2012), with a budget.

Symbols
-------
n    dictionary points B (n, d)       L (n, n)  factor of k(B, B)
phi  L^{-1} k(B, x), features         u_t (n,)  whitened state, f_t(x) = phi(x).u_t + residual
m    (n,) posterior mean of u_t       A (n, n)  I - P, what is explained of u_t's prior covariance
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky

from heliotrope.arrays import Array
from heliotrope.domains import Box, Places
from heliotrope.engines.pending import Pending
from heliotrope.engines.protocol import State, Surface, check_not_before, checked_variance
from heliotrope.engines.spacetime import SpaceTime
from heliotrope.errors import InputError
from heliotrope.linalg import least_missed, solve_lower
from heliotrope.priors import Forgetting, Prior, Static

_SLACK = 0.9  # share of the budget that a pruning leaves, so that prunings are rare


class BoxEngine:
    """The dictionary tracker over a Box; the time kernel must be Static or Forgetting.

    A point joins the dictionary if the others leave more than ``tolerance`` of its variance
    unexplained. Beyond ``budget`` points, those that the posterior misses least are dropped:
    until then the posterior is exact within the tolerance.
    """

    def __init__(
        self, prior: Prior, domain: Box, tolerance: float = 1e-10, budget: int = 400
    ) -> None:
        if not isinstance(prior.time, (Static, Forgetting)):
            raise InputError("a Static or Forgetting time for the box engine", str(prior.time))
        self._model, self._rho = SpaceTime(prior, domain), prior.time.rho
        self._tolerance, self._budget = tolerance, budget
        self._now, self.log_likelihood = -np.inf, 0.0
        self._B = np.empty((0, domain.dimension))
        self._L, self._A, self._m = np.empty((0, 0)), np.empty((0, 0)), np.empty(0)
        self._pending = Pending()

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation; its point joins the dictionary if it is new to it."""
        decay = self._decay(t)
        prior_variance = float(self._model.variance(place)[0])
        phi = self._features(place)[:, 0]
        residual = checked_variance(prior_variance - float(phi @ phi), prior_variance)
        joins = residual > self._tolerance * prior_variance
        self._advance(t, decay)
        if joins:
            self._join(place, phi, residual)
            phi, residual = self._L[-1], 0.0
        c = phi - self._A @ phi
        mean = float(self._model.prior.mean_at(place)[0] + phi @ self._m)
        variance = max(float(phi @ c), 0.0) + residual
        self._pending.add(key, c, mean, variance, self._pending.covariances(phi))

    def tell(self, key: int, y: float) -> None:
        """One rank-one Kalman update."""
        gain, z, density = self._pending.condition(key, y, self._model.prior.noise)
        self._m += gain * z
        self._A += np.outer(gain, gain)
        self.log_likelihood += density
        if len(self._B) > self._budget:
            self._prune()

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        self._pending.remove(key)

    def predict(
        self, t: float, places: Places, *, count_open: bool = True
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t at points."""
        decay, phi = self._decay(t), self._features(places)
        A = self._explained(count_open)
        explained = decay**2 * np.einsum("nq,nq->q", phi, A @ phi)
        variance = np.maximum(self._model.variance(places) - explained, 0.0)
        return self._model.prior.mean_at(places) + decay * (phi.T @ self._m), variance

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance of f_t at points."""
        decay, phi = self._decay(t), self._features(places)
        return self._model.same_time(places) - decay**2 * (phi.T @ self._A @ phi)

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions of x, for climbing."""
        decay = self._decay(t)
        half = solve_lower(self._L, self._explained(count_open=True), transposed=True)
        Q = solve_lower(self._L, half.T, transposed=True)
        alpha = solve_lower(self._L, self._m, transposed=True)
        return Surface(self._model, self._B, decay * alpha, decay**2 * Q)

    def state(self) -> State:
        """Everything the engine knows, as arrays."""
        return {
            "clock": np.array([self._now, self.log_likelihood]),
            "B": self._B,
            "L": self._L,
            "A": self._A,
            "m": self._m,
            **self._pending.state(),
        }

    def restore(self, state: State) -> None:
        """Become the engine whose :meth:`state` this was."""
        self._now, self.log_likelihood = state["clock"].tolist()
        self._B, self._L = state["B"].copy(), state["L"].copy()
        self._A, self._m = state["A"].copy(), state["m"].copy()
        self._pending.restore(state)

    def _features(self, places: Places) -> Array:
        return solve_lower(self._L, self._model.space.block(self._B, places))

    def _explained(self, count_open: bool) -> Array:
        if not (count_open and len(self._pending)):
            return self._A
        told = self._pending.as_if_told(self._model.prior.noise)
        return self._A + told.T @ told

    def _decay(self, t: float) -> float:
        check_not_before(t, self._now)
        return 1.0 if np.isinf(self._now) else float(self._rho ** (t - self._now))

    def _advance(self, t: float, decay: float) -> None:
        """P = rho^2 P + (1 - rho^2) I, which is A = rho^2 A."""
        self._now = t
        if decay != 1.0:
            self._m *= decay
            self._A *= decay**2
            self._pending.scale(decay)

    def _join(self, place: Places, phi: Array, residual: float) -> None:
        """Add a point: one more row of L and one more coordinate that nothing has explained."""
        n = len(self._B)
        L, A = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        L[:n, :n], A[:n, :n] = self._L, self._A
        L[n, :n], L[n, n] = phi, np.sqrt(residual)
        self._L, self._A, self._m = L, A, np.append(self._m, 0.0)
        self._B = np.vstack([self._B, place])
        self._pending.transform(lambda c: np.append(c, 0.0))

    def _prune(self) -> None:
        """Drop the points that the posterior misses least, and whiten over the rest anew."""
        kept = least_missed(self._L, self._A, self._m, int(_SLACK * self._budget))
        old, mean, explained = self._L, self._L @ self._m, self._L @ self._A @ self._L.T
        self._B = self._B[kept]
        self._L = cholesky(self._model.space.block(self._B, self._B), lower=True)
        self._m = solve_lower(self._L, mean[kept])
        half = solve_lower(self._L, explained[np.ix_(kept, kept)])
        self._A = solve_lower(self._L, half.T)
        self._pending.transform(lambda c: solve_lower(self._L, (old @ c)[kept]))
