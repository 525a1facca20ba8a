"""Likelihood of any panel under Markov terms, by the Kalman filter over the blocks of all terms.

The blocks of all terms at the M points form a state u_t = A u_{t-1} + noise, and f_t = H u_t. The
filter gives the likelihood exactly, and a backward pass (the adjoint) gives all derivatives.

Symbols
-------
T, M   times, points            Y (T, M)  values less the prior mean; NaN is a gap
n      length of the state      H (M, n)  observation matrix; only its rows of measured points
m, P   mean and covariance of u_t given the data before t;  a, C: given the data up to t
v, S   the innovation y - H m and its covariance H P H^T + sigma^2 I
r, N   adjoint of the data from t on: dl/dm = r, dl/dP = (r r^T - N) / 2
A, Q   (p, p) of one term: its transition from the previous time (0 at the first) and the
       covariance of its innovation, S(t) - A S A^T. The whole state has A x I and Q x K (Kronecker)
F      (p, p) of one term with A = exp(F dt)
"""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.estimation.data import Panel
from heliotrope.estimation.gradients import (
    TermGradient,
    generator_gradient,
    space_covariance,
    spread_gradient,
)
from heliotrope.estimation.parameters import rate_of
from heliotrope.lazy import lazy_module
from heliotrope.linalg import inverse_of_factored, jittered_cholesky, solve_lower
from heliotrope.priors import Prior
from heliotrope.terms import MarkovTerm, Term
from heliotrope.validation import Array, Indices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

sparse = lazy_module("scipy.sparse")

_LONGEST = 10_000  # state
_MOST = 500_000_000  # largest count of numbers that the backward pass stores
_ADVICE = "Use fewer rows or columns, or observations of the panel: panel.sample(1000)."


class _Block:
    """The rows of one term in the state: p blocks of m points, or of 1 if all points share it."""

    def __init__(self, term: Term, domain: Finite, times: Array, first: int) -> None:
        if not isinstance(term, MarkovTerm):
            raise InputError("Markov terms for a panel", f"the term {term.name}", _ADVICE)
        start, all_times = float(times[0]), times.tolist()
        self.points, self.K = space_covariance(term, domain)
        self.p, self.m, self.has_rate = term.order, len(self.K), rate_of(term) is not None
        self.rows = slice(first, first + self.p * self.m)
        self.h = np.array([term.seen(t) for t in all_times])
        self.A = np.zeros((len(times), self.p, self.p))
        steps, which = np.unique(np.diff(times), return_inverse=True)
        self.A[1:] = np.array([term.transition(dt) for dt in steps.tolist()])[which]
        self.S = np.array([term.spread(t, start) for t in all_times])
        self.Q = self._new(self.S)
        self._F_slope = generator_gradient(term)
        self._Q_slope = self._new(np.array([spread_gradient(term, t, start) for t in all_times]))

    def _new(self, S: Array) -> Array:
        """S(t) - A S A^T at all times; at the first one A is 0."""
        return np.asarray(S - self.A @ np.roll(S, 1, axis=0) @ self.A.transpose(0, 2, 1))

    def columns(self, points: int) -> Indices:
        """The entries (points, p) of the state that each point sees."""
        block = np.arange(self.m) if self.m > 1 else np.zeros(points, dtype=np.intp)
        return self.rows.start + block[:, None] + self.m * np.arange(self.p)

    def by_space(self, t: int, by_P: Array) -> Array:
        """Derivative by K, from that by the term's part of P."""
        by_blocks = by_P.reshape(self.p, self.m, self.p, self.m)
        return np.asarray(np.einsum("ab,aibj->ij", self.Q[t], by_blocks))

    def by_rate(self, t: int, by_F: Array, by_P: Array) -> float:
        """Derivative by the term's rate, from those by F and by its part of P."""
        by_Q = np.einsum("aibj,ij->ab", by_P.reshape(self.p, self.m, self.p, self.m), self.K)
        return float(np.sum(self._F_slope * by_F) + np.sum(self._Q_slope[t] * by_Q))


class FilterLikelihood:
    """The filter over a panel, with or without gaps."""

    def __init__(self, prior: Prior, panel: Panel) -> None:
        domain = panel.domain(prior)
        self._dt, self._noise = np.diff(panel.times, prepend=panel.times[0]), prior.noise
        self._Y = panel.values - prior.mean_at(domain.indices)
        self._seen = [np.flatnonzero(~np.isnan(row)) for row in self._Y]
        self._blocks, self._n = list[_Block](), 0
        for term in prior.terms:
            self._blocks.append(_Block(term, domain, panel.times, self._n))
            self._n = self._blocks[-1].rows.stop
        if self._n > _LONGEST:
            raise InputError(f"a state of at most {_LONGEST:,} numbers", f"{self._n:,}", _ADVICE)
        self._columns = np.hstack([block.columns(len(domain)) for block in self._blocks])
        h = np.hstack([block.h for block in self._blocks])
        self._H = [self._look(*columns) for columns in zip(self._seen, h, strict=True)]
        self._value: float | None = None

    @property
    def value(self) -> float:
        """Log likelihood."""
        if self._value is None:
            self._value = self._filter(None)
        return self._value

    def _filter(self, kept: tuple[Array, Array] | None) -> float:
        """Run the filter; store m and P of every time in ``kept`` if given."""
        total, a, C = 0.0, np.zeros(self._n), np.zeros((self._n, self._n))
        for t, seen in enumerate(self._seen):
            m, P = self._before(t, a, C)
            HP, L, v = self._innovation(t, m, P)
            W, u = solve_lower(L, HP), solve_lower(L, v)
            a, C = m + W.T @ u, P - W.T @ W
            total -= 0.5 * (u @ u + len(seen) * log(2.0 * pi)) + np.log(np.diag(L)).sum()
            if kept is not None:
                kept[0][t], kept[1][t] = m, P
        return float(total)

    def _look(self, seen: Indices, h: Array) -> csr_array:
        """H, from the state to the measured points."""
        columns = self._columns[seen]
        ends = len(h) * np.arange(len(seen) + 1)
        entries = np.tile(h, len(seen)), columns.ravel(), ends
        return sparse.csr_array(entries, shape=(len(seen), self._n))

    def _before(self, t: int, a: Array, C: Array) -> tuple[Array, Array]:
        """The mean m and covariance P, from a and C of the previous time."""
        P = self._moved(t, self._moved(t, C).T)
        for block in self._blocks:
            P[block.rows, block.rows] += _kronecker(block.Q[t], block.K)
        return self._moved(t, a), P

    def _moved(self, t: int, X: Array, transposed: bool = False) -> Array:
        """A X or A^T X."""
        moved = np.empty_like(X)
        for block in self._blocks:
            A, its = block.A[t].T if transposed else block.A[t], X[block.rows]
            moved[block.rows] = (A @ its.reshape(block.p, -1)).reshape(its.shape)
        return moved

    def _innovation(self, t: int, m: Array, P: Array) -> tuple[Array, Array, Array]:
        """H P, the Cholesky factor of S, and v."""
        H, seen = self._H[t], self._seen[t]
        HP = H @ P
        L = jittered_cholesky(H @ HP.T + self._noise * np.eye(len(seen)), jitter=0.0)
        return HP, L, self._Y[t, seen] - H @ m

    def derivatives(self) -> tuple[list[TermGradient], float]:
        """Derivatives by each term, and by the noise."""
        T, n = len(self._Y), self._n
        if T * n * n > _MOST:
            size = f"{T} x {n}^2"
            raise InputError(f"times x state^2 of at most {_MOST:,}", size, _ADVICE)
        m, P = np.empty((T, n)), np.empty((T, n, n))
        self._value = self._filter((m, P))
        by_space = [np.zeros_like(block.K) for block in self._blocks]
        by_rate, by_noise = np.zeros(len(self._blocks)), 0.0
        pull, later = np.zeros(n), np.zeros((n, n))  # from the data after t
        for t in range(T - 1, -1, -1):
            r, N, noise = self._adjoint(t, m[t], P[t], pull, later)
            by_P = 0.5 * (np.outer(r, r) - N)
            by_noise += noise
            for c, block in enumerate(self._blocks):
                own = by_P[block.rows, block.rows]
                by_space[c] += block.by_space(t, own)
                if block.has_rate:
                    by_F = self._by_move(t, block, m[t], P[t], r, by_P)
                    by_rate[c] += block.by_rate(t, by_F, own)
            pull, later = self._moved(t, r, True), self._moved(t, self._moved(t, N, True).T, True)
        by_time = [
            np.array([rate] * block.has_rate)
            for block, rate in zip(self._blocks, by_rate, strict=True)
        ]
        points = [block.points for block in self._blocks]
        return list(map(TermGradient, points, by_space, by_time)), by_noise

    def _by_move(self, t: int, block: _Block, m: Array, P: Array, r: Array, by_P: Array) -> Array:
        """Derivative (p, p) by F, which adds dt F m to m and dt F (P - S x K) to P, symmetrized."""
        old = P[block.rows].copy()
        old[:, block.rows] -= _kronecker(block.S[t], block.K)
        shape = block.p, -1
        through_P = 2.0 * by_P[block.rows].reshape(shape) @ old.reshape(shape).T
        through_m = r[block.rows].reshape(shape) @ m[block.rows].reshape(shape).T
        return np.asarray(self._dt[t] * (through_m + through_P))

    def _adjoint(
        self, t: int, m: Array, P: Array, pull: Array, later: Array
    ) -> tuple[Array, Array, float]:
        """The adjoint r, N at time t, from that of the later data, and dl/dnoise of this time."""
        H = self._H[t]
        HP, L, v = self._innovation(t, m, P)
        inverse = inverse_of_factored(L)
        gain = HP.T @ inverse
        u, back = inverse @ v - gain.T @ pull, gain.T @ later
        cross, own = H.T @ back, back @ gain
        by_noise = 0.5 * float(u @ u - np.trace(inverse) - np.trace(own))
        N = later - cross - cross.T + H.T @ (H.T @ (inverse + own)).T
        return pull + H.T @ u, N, by_noise


def _kronecker(A: Array, K: Array) -> Array:
    """A x K; numpy's kron is several times slower on small matrices."""
    size = len(A) * len(K)
    return (A[:, None, :, None] * K[None, :, None, :]).reshape(size, size)
