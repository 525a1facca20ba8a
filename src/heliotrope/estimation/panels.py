"""Likelihood of panels by one pass over the times, without the dense (T M) x (T M) matrix.

f_t at the M points is a Markov chain, f_{t+1} = rho f_t + sqrt(1 - rho^2) g. The Kalman filter
gives its likelihood, and a backward pass (the adjoint) gives all derivatives. In the basis of
K = U diag(w) U^T a complete panel is M independent chains. Their matrices are diagonal and stored
as vectors.

Symbols
-------
T, M   times, points          Y (T, M)  values less the prior mean; NaN is a gap
rho    (T,) correlation with the previous time, 0 at the first
m, P   mean and covariance of f_t given the data before t;  a, C: given the data up to t
v, S   the innovation y - m and its covariance P + sigma^2 I, at the measured points
r, N   adjoint of the data from t on: dl/dm = r, dl/dP = (r r^T - N) / 2
"""

from math import log, pi

import numpy as np
from scipy.linalg import cho_solve

from heliotrope.errors import InputError
from heliotrope.estimation.data import Panel
from heliotrope.linalg import jittered_cholesky, solve_lower
from heliotrope.priors import Prior, correlation
from heliotrope.validation import Array

_MOST = 500_000_000  # numbers that the backward pass over a panel with gaps may store


class _PanelLikelihood:
    """The shared part of the likelihoods of complete panels and of panels with gaps."""

    def __init__(self, prior: Prior, panel: Panel) -> None:
        domain = panel.domain(prior)
        self.places, self.dt, self._noise = panel.points, np.diff(panel.times), prior.noise
        self._K = prior.over(domain).block(domain.indices, domain.indices)
        self._Y = panel.values - prior.mean_at(domain.indices)
        self._rho = np.concatenate([[0.0], correlation(prior.time, self.dt)])


class CompleteLikelihood(_PanelLikelihood):
    """M independent chains in the basis of K; all matrices are diagonal."""

    def __init__(self, prior: Prior, panel: Panel) -> None:
        super().__init__(prior, panel)
        w, self._U = np.linalg.eigh(self._K)
        self._w = np.maximum(w, 0.0)
        self._v, self._S, self._gain, self._a = (np.empty_like(self._Y) for _ in range(4))
        self._filter(self._Y @ self._U)
        self.value = -0.5 * float(np.sum(self._v**2 / self._S + np.log(2.0 * pi * self._S)))

    def _filter(self, Y: Array) -> None:
        a, C = np.zeros_like(self._w), self._w
        for t, rho in enumerate(self._rho.tolist()):
            P = self._w + rho**2 * (C - self._w)
            S = P + self._noise
            gain = P / S
            v = Y[t] - rho * a
            a = rho * a + gain * v
            C = self._noise * gain
            self._v[t], self._S[t], self._gain[t], self._a[t] = v, S, gain, a

    def derivatives(self, slope: Array) -> tuple[float, float, Array]:
        """Derivatives by epsilon, the noise and the entries of K; slope is d rho / d epsilon."""
        own = self._v / self._S  # from the innovation of t; the rest of r and N is from later ones
        r, N = self._adjoint(own)
        rho, new = self._rho[1:, None], 1.0 - self._rho[:, None] ** 2
        C, pull, later = self._noise * self._gain[:-1], np.zeros_like(r), np.zeros_like(N)
        pull[:-1], later[:-1] = rho * r[1:], rho**2 * N[1:]
        by_rho = r[1:] * self._a[:-1] + rho * (r[1:] ** 2 - N[1:]) * (C - self._w)
        u = own - self._gain * pull
        by_noise = 0.5 * float(np.sum(u**2 - 1.0 / self._S - self._gain**2 * later))
        rotated = 0.5 * ((new * r).T @ r - np.diag(np.sum(new * N, axis=0)))
        return float(by_rho.sum(axis=1) @ slope), by_noise, self._U @ rotated @ self._U.T

    def _adjoint(self, own: Array) -> tuple[Array, Array]:
        r, N, kept, rhos = own.copy(), 1.0 / self._S, 1.0 - self._gain, self._rho.tolist()
        for t in range(len(r) - 2, -1, -1):
            still = rhos[t + 1] * kept[t]
            r[t] += still * r[t + 1]
            N[t] += still**2 * N[t + 1]
        return r, N


class GappyLikelihood(_PanelLikelihood):
    """One chain of M points, of which only some are measured at each time."""

    def __init__(self, prior: Prior, panel: Panel) -> None:
        super().__init__(prior, panel)
        self._seen = [np.flatnonzero(~np.isnan(row)) for row in self._Y]
        self.value = self._filter(None)

    def _filter(self, kept: tuple[Array, Array] | None) -> float:
        """Run the filter; store a and C of every time in ``kept`` if given."""
        total, a, C = 0.0, np.zeros(len(self._K)), self._K
        for t, seen in enumerate(self._seen):
            m, P = self._before(t, a, C)
            L, v = self._innovation(t, m, P)
            W, u = solve_lower(L, P[seen]), solve_lower(L, v)
            a, C = m + W.T @ u, P - W.T @ W
            total -= 0.5 * (u @ u + len(seen) * log(2.0 * pi)) + np.log(np.diag(L)).sum()
            if kept is not None:
                kept[0][t], kept[1][t] = a, C
        return float(total)

    def _before(self, t: int, a: Array, C: Array) -> tuple[Array, Array]:
        """Mean and covariance of f_t, from those of the previous time."""
        return self._rho[t] * a, self._K + self._rho[t] ** 2 * (C - self._K)

    def _innovation(self, t: int, m: Array, P: Array) -> tuple[Array, Array]:
        """The Cholesky factor of S, and v."""
        seen = self._seen[t]
        S = P[np.ix_(seen, seen)] + self._noise * np.eye(len(seen))
        return jittered_cholesky(S, jitter=0.0), self._Y[t, seen] - m[seen]

    def derivatives(self, slope: Array) -> tuple[float, float, Array]:
        """As for a complete panel."""
        T, M = self._Y.shape
        if T * M * M > _MOST:
            raise InputError(
                f"times x points^2 of at most {_MOST:,} in a panel with gaps",
                f"{T} x {M}^2",
                "Remove the rows or the columns that have gaps.",
            )
        kept = np.empty((T, M)), np.empty((T, M, M))
        self._filter(kept)
        by_rho, by_noise, by_space = np.zeros(T), 0.0, np.zeros_like(self._K)
        pull, later = np.zeros(M), np.zeros_like(self._K)  # from the data after t
        for t in range(T - 1, -1, -1):
            a, C = (kept[0][t - 1], kept[1][t - 1]) if t else (np.zeros(M), self._K)
            r, N, noise = self._adjoint(t, *self._before(t, a, C), pull, later)
            by_P, rho = 0.5 * (np.outer(r, r) - N), self._rho[t]
            by_noise += noise
            by_space += (1.0 - rho**2) * by_P
            by_rho[t] = r @ a + 2.0 * rho * np.sum(by_P * (C - self._K))
            pull, later = rho * r, rho**2 * N
        return float(by_rho[1:] @ slope), by_noise, by_space

    def _adjoint(
        self, t: int, m: Array, P: Array, pull: Array, later: Array
    ) -> tuple[Array, Array, float]:
        """The adjoint r, N at time t, from that of the later data, and dl/dnoise of this time."""
        seen, (L, v) = self._seen[t], self._innovation(t, m, P)
        inverse: Array = cho_solve((L, True), np.eye(len(seen)), check_finite=False)
        gain = P[:, seen] @ inverse
        u = inverse @ v - gain.T @ pull
        by_noise = 0.5 * float(u @ u - np.trace(inverse) - np.sum(gain * (later @ gain)))
        r, kept = pull.copy(), np.eye(len(self._K))
        r[seen] += u
        kept[:, seen] -= gain
        N = kept.T @ later @ kept
        N[np.ix_(seen, seen)] += inverse
        return r, N, by_noise
