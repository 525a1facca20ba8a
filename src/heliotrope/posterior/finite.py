"""Exact tracking over finitely many points, at a constant cost per step.

The posterior covariance of f_t over the domain is a_t K - V^T V. The rows of V hold what the
observations have explained. a_t is 1, except for a Wiener process, where it grows. An observation
appends a row, and time scales all rows. V is occasionally replaced by its leading directions;
nothing is ever re-factorized.

Symbols
-------
M  points        n  rows of V (n, M), stored unscaled with one weight w each
mean (M,)        posterior mean minus prior mean
explained (M,)   diagonal of V^T V: prior variance minus posterior variance
"""

from functools import cached_property

import numpy as np

from heliotrope.domains import Finite, Places, are_indices
from heliotrope.errors import InputError
from heliotrope.linalg import (
    jittered_cholesky,
    leading_rows,
    pivoted_cholesky,
    pivoted_rows,
    solve_lower,
)
from heliotrope.posterior.markov import MarkovEngine
from heliotrope.posterior.protocol import checked_variance
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State
from heliotrope.validation import Array, Indices

_LEAST_ROOM = 448  # rows between compressions; fewer would cost more than they save
_SAMPLED, _MOST_PIVOTS = 1e-4, 512  # share of variance that the pivots of a sample may leave out
_SAMPLED_JITTER = 1e-6  # division by the root of that share amplifies rounding errors this far
_OFF_DOMAIN = 1e-10  # share of variance below which a visited point adds nothing


class FiniteEngine(MarkovEngine):
    """The recursion over a Finite domain, for Static, Forgetting and Wiener times.

    ``tolerance`` is the most by which one compression may raise a variance.
    """

    def __init__(self, prior: Prior, domain: Finite, tolerance: float | None = None) -> None:
        self._prior, self._space, self._all = prior, prior.over(domain), domain.indices
        super().__init__(prior)
        self._m0, self._k0 = prior.mean_at(self._all), self._space.diagonal(self._all)
        largest = float(self._k0.max()) or prior.noise
        self._tolerance = tolerance or min(1e-9 * largest, 1e-7 * prior.noise)
        self._mean, self._explained = np.zeros(len(domain)), np.zeros(len(domain))
        self._visited = np.zeros(len(domain), dtype=bool)
        self._V, self._w = np.empty((0, len(domain))), np.empty(0)
        self._take_rows(self._V)

    def open(self, key: int, t: float, place: Places) -> None:
        """Open an evaluation: its covariance with every point is kept until its value is told."""
        decay, i = self._decay(t), int(place[0])
        V, w = self.rows(), self._w[: self._n] * decay
        scale = self._scale(t)
        c = scale * self._space.row(i) - (w**2 * V[:, i]) @ V
        variance = checked_variance(float(c[i]), scale * float(self._k0[i]))
        self._advance(t, decay)
        mean = float(self._m0[i] + self._mean[i])
        self._pending.add(key, c, mean, variance, self._pending.covariances_at(i))
        self._visited[i] = True

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Append the evaluation's row to V and update the mean along it."""
        row, z, density = self._pending.condition(key, y, precision.noise(self._prior.noise))
        self._mean += row * z
        self._explained += row**2
        self.log_likelihood += density
        self._V[self._n], self._w[self._n] = row, 1.0
        self._n += 1
        if self._n == self._capacity:
            self._compress()

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        if not are_indices(places):
            return self._predict_off_domain(t, places, count_open)
        decay, explained = self._decay(t), self._explained
        if count_open and len(self._pending):
            told = self._pending.as_if_told(self._prior.noise)
            explained = explained + np.einsum("om,om->m", told, told)
        variance = explained * -(decay**2)
        variance += self._scale(t) * self._k0
        np.maximum(variance, 0.0, out=variance)
        mean = self._mean * decay
        mean += self._m0
        return (mean, variance) if places is self._all else (mean[places], variance[places])

    def covariance(self, t: float, places: Places, *, part: str | None = None) -> Array:
        prior = self._scale(t) * self._space.block(places, places)
        if not are_indices(places):
            phi, A, _ = self._dictionary(t, places, count_open=False)
            return prior - phi.T @ A @ phi
        V = self._decay(t) * self._scaled_rows()[:, places]
        return prior - V.T @ V

    def sample_path(self, t: float, rng: np.random.Generator) -> Array:
        """Sample f_t jointly at all points from the posterior, without open evaluations.

        With K = F^T F over pivots P, V_P = A^T L^T where L L^T = K_PP, so the covariance is
        F^T (a_t I - A A^T) F. The remaining variance, at most a share of the largest, is sampled
        independently.
        """
        P, F, left = self._basis
        V = self._decay(t) * self._scaled_rows()[:, P]
        A, scale = solve_lower(F[:, P].T, V.T), self._scale(t)
        root = jittered_cholesky(scale * np.eye(len(P)) - A @ A.T, _SAMPLED_JITTER)
        mean, variance = self.predict(t, self._all, count_open=False)
        apart = np.sqrt(np.minimum(scale * left, variance))
        z, rest = rng.standard_normal(len(P)), rng.standard_normal(len(mean))
        path: Array = mean + (root @ z) @ F + apart * rest
        return path

    @cached_property
    def _basis(self) -> tuple[Indices, Array, Array]:
        """Pivots P (r,), rows F (r, M) and the remaining prior variances (M,)."""
        return pivoted_rows(
            self._space.row, self._k0, _SAMPLED * float(self._k0.max()), _MOST_PIVOTS
        )

    def rows(self) -> Array:
        """Return the stored matrix V (n, M); one product with it dominates the cost of a step."""
        return self._V[: self._n]

    def _shrink(self, decay: float) -> None:
        self._mean *= decay
        self._explained *= decay**2
        self._w[: self._n] *= decay

    def _scaled_rows(self) -> Array:
        return self.rows() * self._w[: self._n, None]

    def _compress(self) -> None:
        """Keep the leading directions, and recompute the variances to remove rounding errors.

        Dropped directions raise the variance by at most the tolerance and never lower it.
        """
        self._V[: self._n] *= self._w[: self._n, None]
        rows = leading_rows(self.rows(), self._tolerance)
        self._take_rows(rows)
        self._explained = np.einsum("nm,nm->m", rows, rows)

    def _take_rows(self, rows: Array) -> None:
        """Store these rows, with room for as many more before the next compression."""
        self._n, M = rows.shape
        self._capacity = self._n + max(self._n, min(_LEAST_ROOM, 2 * M))
        if len(self._V) < self._capacity:
            room = self._capacity * 5 // 4  # ranks fluctuate: avoid an allocation for each
            self._V, self._w = np.empty((room, M)), np.empty(room)
        self._V[: self._n], self._w[: self._n] = rows, 1.0

    def _predict_off_domain(
        self, t: float, points: Places, count_open: bool
    ) -> tuple[Array, Array]:
        phi, A, coefficients = self._dictionary(t, points, count_open)
        explained = np.einsum("nq,nq->q", phi, A @ phi)
        prior_variance = self._scale(t) * self._space.diagonal(points)
        variance = np.maximum(prior_variance - explained, 0.0)
        return self._prior.mean_at(points) + phi.T @ coefficients, variance

    def _dictionary(self, t: float, points: Places, count_open: bool) -> tuple[Array, Array, Array]:
        """Whitened features (b, q) of points, and explained matrix and mean in their coordinates.

        The kernel is separable, so f_t outside the domain depends on the past only through f_t at
        the visited points. A subset that spans them all is used.
        """
        visited = np.flatnonzero(self._visited)
        if not len(visited):
            return np.zeros((0, len(points))), np.zeros((0, 0)), np.zeros(0)
        K = self._space.block(visited, visited)
        chosen, L = pivoted_cholesky(K, _OFF_DOMAIN * float(K.diagonal().max()))
        B, decay = visited[chosen], self._decay(t)
        rows = self._scaled_rows()
        if count_open and len(self._pending):
            rows = np.vstack([rows, self._pending.as_if_told(self._prior.noise)])
        R = decay * solve_lower(L, rows[:, B].T)
        return (
            solve_lower(L, self._space.block(B, points)),
            R @ R.T,
            decay * solve_lower(L, self._mean[B]),
        )

    def state(self) -> State:
        return {
            "mean": self._mean,
            "explained": self._explained,
            "visited": self._visited,
            "rows": self.rows(),
            "weights": self._w[: self._n],
            "capacity": np.array(self._capacity),
        } | super().state()

    def restore(self, state: State) -> None:
        if state["rows"].shape[1:] != self._mean.shape:
            raise InputError(f"a state over {len(self._mean)} points", f"{state['rows'].shape}")
        super().restore(state)
        names = ("mean", "explained", "visited")
        self._mean, self._explained, self._visited = (state[name].copy() for name in names)
        self._take_rows(state["rows"])
        self._w[: self._n] = state["weights"]
        self._capacity = int(state["capacity"])
