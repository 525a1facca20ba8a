"""Exact tracking over finitely many points, at a constant cost per step.

The blocks of all terms at all points are one Markov state (see markov.py). Its posterior
covariance is blockdiag(S_c (x) K_c) - V^T V; the rows of V hold what the observations have
explained. An observation appends a row. V is occasionally replaced by its leading directions;
nothing is ever re-factorized.

Symbols
-------
M  points      P  blocks      N  columns: at most M for each block (see columns.py)
n  rows of V (n, N)           a (P,)  observation vector of f_t
mean (P, M)    posterior mean of each block
"""

import numpy as np

from heliotrope.domains import Finite, Places, are_indices
from heliotrope.errors import InputError
from heliotrope.linalg import (
    checked_variance,
    jittered_cholesky,
    pivoted_cholesky,
    pivoted_rows,
    solve_lower,
)
from heliotrope.posterior.columns import Columns, ExplainedPairs, weighted
from heliotrope.posterior.markov import MarkovEngine, View
from heliotrope.posterior.protocol import EXACT, Accuracy
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State
from heliotrope.terms import CHOICE, Trend
from heliotrope.validation import Array, Indices

_LEAST_CAPACITY = 256  # rows; compressing fewer would cost more than it saves
_USELESS = 0.9  # share of rows that a compression keeps, above which the next one waits longer
_SAMPLED, _MOST_PIVOTS = 1e-4, 512  # share of variance that the pivots of a sample may leave out
_SAMPLED_JITTER = 1e-6  # division by the root of that share amplifies rounding errors this far
_OFF_DOMAIN = 1e-10  # share of variance below which a visited point adds nothing


class FiniteEngine(MarkovEngine):
    """The recursion over a Finite domain, for sums of Markov terms.

    ``tolerance`` is the most by which one compression may raise a variance.
    """

    _stored = (
        *MarkovEngine._stored,
        *("_mean", "_explained", "_visited", "_columns"),
        *("_capacity", "_least_noise", "_added", "_compressed"),
    )
    _basis_of: tuple[Array, tuple[Indices, Array, Array]] | None = None

    def __init__(self, prior: Prior, domain: Finite, tolerance: float | None = None) -> None:
        super().__init__(prior, domain)
        self._all, M, owner = domain.indices, len(domain), self._stack.owner
        self._k0 = np.array([kernel.diagonal(self._all) for kernel in self._model.kernels])
        self._m0 = prior.mean_at(self._all)
        self._largest = float(self._k0.sum(axis=0).max()) or prior.noise
        self._tolerance, self._least_noise = tolerance, prior.noise
        self._columns = Columns(self._stack, self._model.kernels, M)
        self._mean, self._explained = np.zeros((len(owner), M)), ExplainedPairs(len(owner), M)
        self._visited = np.zeros(M, dtype=bool)
        self._added, self._compressed = 0.0, -np.inf  # variance by compressions, the latest one
        self._V = np.empty((0, self._columns.count))
        self._take_rows(self._V)

    def open(self, key: int, t: float, place: Places) -> None:
        """Open an evaluation: its covariance with every column is kept until its value is told."""
        i, view = int(place[0]), self._stack.view(t)
        p = self._columns.seen(self.rows(), i, view.a)
        prior_variance = float(view.s @ self._k0[:, i])
        variance = checked_variance(prior_variance - float(p @ p), prior_variance)
        self._stack.advance(t, self._move)
        a = self._stack.view(t).a
        c = -p @ self.rows()
        for block, b in enumerate(self._stack.gain(t).tolist()):
            c[self._columns.of[block]] += b * self._columns.rows_of(block, i)
        mean = float(self._m0[i] + a @ self._mean[:, i])
        with_others = self._pending.covariances(lambda C: self._columns.seen(C, i, a))
        self._pending.add(key, c, mean, variance, with_others)
        self._visited[i] = True

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Append the evaluation's row to V and update the mean along it."""
        noise = self._noise(precision)
        row, z, density = self._pending.condition(key, y, noise)
        blocks = self._columns.blocks(row)
        self._mean += blocks * z
        self._explained.add(blocks)
        self.log_likelihood += density
        self._least_noise = min(self._least_noise, noise)
        self._V[self._n] = row
        self._n += 1
        if self._n == self._capacity:
            self._compress()

    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        view = self._stack.view(t, part)
        if not are_indices(places):
            rows, mean = self._off_domain(view, places, count_open)
            variance = self._prior_variance(view, places)
            variance -= np.einsum("nq,nq->q", rows, rows)
            return self._model.mean_at(places, part) + mean, np.maximum(variance, 0.0)
        variance = weighted(view.s, self._k0)
        variance -= self._explained.of(view.a)
        if count_open and len(self._pending):
            told = self._columns.combined(self._pending.as_if_told(self._model.prior.noise), view.a)
            variance -= np.einsum("om,om->m", told, told)
        np.maximum(variance, 0.0, out=variance)
        mean = weighted(view.a, self._mean)
        if part in (None, CHOICE):
            mean += self._m0
        return (mean, variance) if places is self._all else (mean[places], variance[places])

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        view = self._stack.view(t, part)
        rows = self._rows_at(view, places)
        there = rows if others is None else self._rows_at(view, others)
        others = places if others is None else others
        return self._prior_covariance(view, places, others) - rows.T @ there

    def _rows_at(self, view: View, places: Places) -> Array:
        """Rows (n, q) of f_t at places, without open evaluations."""
        if are_indices(places):
            return self._columns.combined(self.rows(), view.a)[:, places]
        return self._off_domain(view, places, count_open=False)[0]

    def accuracy(self) -> Accuracy:
        """At most this: what compressions may have added, where the deviation is smallest."""
        if not self._added:
            return EXACT
        _, variance = self._predict_part(self._stack.now, self._all, count_open=False, part=None)
        share = self._added / max(float(variance.min()), self._added)
        return Accuracy(std=0.5 * share, mean=share)

    def sample_path(self, t: float, rng: np.random.Generator) -> Array:
        """Sample f_t jointly at all points from the posterior, without open evaluations.

        The prior covariance is F^T F over pivots P. The rows W of f_t have W_P = A^T L^T where
        L L^T = (F^T F)_PP, so the posterior covariance is F^T (I - A A^T) F. The remaining
        variance, at most a share of the largest, is sampled independently.
        """
        view = self._stack.view(t, CHOICE)
        P, F, left = self._basis(view.s)
        A = solve_lower(F[:, P].T, self._columns.combined(self.rows(), view.a)[:, P].T)
        root = jittered_cholesky(np.eye(len(P)) - A @ A.T, _SAMPLED_JITTER)
        mean, variance = self.predict(t, self._all, count_open=False, part=CHOICE)
        apart = np.sqrt(np.minimum(left, variance))
        z, rest = rng.standard_normal(len(P)), rng.standard_normal(len(mean))
        path: Array = mean + (root @ z) @ F + apart * rest
        return path

    def _basis(self, s: Array) -> tuple[Indices, Array, Array]:
        """Pivots P (r,), rows F (r, M) and the remaining prior variances (M,) of sum_c s_c K_c."""
        scale = float(s.sum()) or 1.0  # a trend is 0 at its origin
        if self._basis_of is None or not np.allclose(self._basis_of[0], s / scale, atol=1e-12):
            shares = s / scale
            diagonal = shares @ self._k0

            def row(i: int) -> Array:
                rows = [kernel.row(i) for kernel in self._model.kernels]
                total: Array = shares @ np.array(rows)
                return total

            pivoted = pivoted_rows(row, diagonal, _SAMPLED * float(diagonal.max()), _MOST_PIVOTS)
            self._basis_of = shares, pivoted
        P, F, left = self._basis_of[1]
        return P, np.sqrt(scale) * F, scale * left

    def rows(self) -> Array:
        """Return the stored matrix V (n, N); one product with it dominates the cost of a step."""
        return self._V[: self._n]

    def _move(self, blocks: slice, A: Array) -> None:
        self._columns.move(self.rows(), blocks, A)
        self._pending.transform(lambda C: self._columns.move(C, blocks, A))
        self._mean[blocks] = A @ self._mean[blocks]
        self._explained.move(blocks, A)

    def _compress(self) -> None:
        """Keep the leading directions, and recompute the variances to remove rounding errors.

        Dropped directions raise the variance by at most the tolerance and never lower it.
        """
        self._stack.refresh(self._move)
        tolerance = self._tolerance or min(1e-8 * self._largest, 1e-6 * self._least_noise)
        kept = self._stack.largest_share(self._compressed)
        self._added, self._compressed = kept**2 * self._added + tolerance, self._stack.now
        rows = self._columns.leading(self.rows(), tolerance / self._largest_factor() ** 2)
        self._take_rows(rows, growth=2 if len(rows) < _USELESS * self._n else 4)
        self._explained.take([self._columns.at(rows, p) for p in range(len(self._mean))])

    def _largest_factor(self) -> float:
        """The most by which a term is multiplied in f; a trend may grow tenfold from now on."""
        factors = np.maximum(np.abs(self._stack.view(self._stack.now).a), 1.0)
        is_trend = [isinstance(self._stack.terms[c], Trend) for c in self._stack.owner]
        return float((factors * np.where(is_trend, 10.0, 1.0)).max())

    def _take_rows(self, rows: Array, growth: int = 2) -> None:
        """Store these rows, and compress again when there are ``growth`` times as many."""
        self._n, N = rows.shape
        self._capacity = max(growth * self._n, min(_LEAST_CAPACITY, self._n + 2 * N))
        if len(self._V) < self._capacity or self._V.shape[1] != N:
            room = self._capacity * 5 // 4  # ranks fluctuate: avoid an allocation for each
            self._V = np.empty((room, N))
        self._V[: self._n] = rows

    def _off_domain(self, view: View, points: Places, count_open: bool) -> tuple[Array, Array]:
        """Rows (n, q) of f_t, and its mean less the prior mean (q,), at points outside the domain.

        Each block outside the domain depends on the past only through the block at the visited
        points. The method uses a subset that spans all of them.
        """
        R, visited = self.rows(), np.flatnonzero(self._visited)
        if count_open and len(self._pending):
            R = np.vstack([R, self._pending.as_if_told(self._model.prior.noise)])
        rows, mean = np.zeros((len(R), len(points))), np.zeros(len(points))
        if not len(visited):
            return rows, mean
        for c, kernel in enumerate(self._model.kernels):
            K = kernel.block(visited, visited)
            chosen, L = pivoted_cholesky(K, _OFF_DOMAIN * float(K.diagonal().max()))
            B = visited[chosen]
            weights = solve_lower(L, solve_lower(L, kernel.block(B, points)), transposed=True)
            blocks = self._stack.slices[c]
            for p in range(blocks.start, blocks.stop):
                rows += view.a[p] * self._columns.at(R, p, B) @ weights
                mean += view.a[p] * self._mean[p, B] @ weights
        return rows, mean

    def state(self) -> State:
        return {"rows": self.rows()} | super().state()

    def restore(self, state: State) -> None:
        super().restore(state)
        rows, capacity = state["rows"], self._capacity
        if rows.shape[1:] != (self._columns.count,):
            raise InputError(f"a state of {self._columns.count} columns", f"{rows.shape}")
        self._take_rows(rows)
        self._capacity = capacity
