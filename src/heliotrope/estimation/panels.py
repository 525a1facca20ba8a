"""Likelihood of a complete panel under one term, by independent chains.

f_t at the M points is a Markov chain, f_{t+1} = rho f_t + sqrt(1 - rho^2) g. In the basis of
K = U diag(w) U^T it is M independent chains. The Kalman filter gives their likelihood, and a
backward pass (the adjoint) gives all derivatives. All matrices are diagonal and stored as vectors.

Symbols
-------
T, M   times, points          Y (T, M)  values less the prior mean
rho    (T,) correlation with the previous time, 0 at the first
P      variance of f_t given the data before t;  a, C: mean and variance given the data up to t
v, S   the innovation y - rho a and its variance P + sigma^2
r, N   adjoint of the data from t on: dl/dm = r, dl/dP = (r r^T - N) / 2
"""

from math import pi

import numpy as np

from heliotrope.estimation.data import Panel
from heliotrope.estimation.gradients import TermGradient, generator_gradient, space_covariance
from heliotrope.estimation.parameters import rate_of
from heliotrope.priors import Prior
from heliotrope.terms import Drifts, Level, MarkovTerm, Stays
from heliotrope.validation import Array


def is_chain(prior: Prior, panel: Panel) -> bool:
    """Whether a panel is a set of independent chains under a prior."""
    return panel.complete and len(prior.terms) == 1 and isinstance(prior.terms[0], _CHAINS)


_CHAINS = (Stays, Drifts, Level)


class ChainLikelihood:
    """The chains of a complete panel under one term that stays or drifts."""

    def __init__(self, prior: Prior, panel: Panel) -> None:
        domain, (term,) = panel.domain(prior), prior.terms
        assert isinstance(term, MarkovTerm)
        self._term = term
        self._points, self._dt, self._noise = domain.points, np.diff(panel.times), prior.noise
        K = space_covariance(term, domain)[1]
        w, self._U = np.linalg.eigh(np.broadcast_to(K, (len(domain), len(domain))))
        self._w = np.maximum(w, 0.0)
        self._Y = panel.values - prior.mean_at(domain.indices)
        self._rho = np.append(0.0, term.in_time(self._dt, np.zeros(())))
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

    def derivatives(self) -> tuple[list[TermGradient], float]:
        """Derivatives by the term, and by the noise."""
        own = self._v / self._S  # from the innovation of t; the rest of r and N is from later ones
        r, N = self._adjoint(own)
        rho, new = self._rho[1:, None], 1.0 - self._rho[:, None] ** 2
        C, pull, later = self._noise * self._gain[:-1], np.zeros_like(r), np.zeros_like(N)
        pull[:-1], later[:-1] = rho * r[1:], rho**2 * N[1:]
        by_rho = r[1:] * self._a[:-1] + rho * (r[1:] ** 2 - N[1:]) * (C - self._w)
        u = own - self._gain * pull
        by_noise = 0.5 * float(np.sum(u**2 - 1.0 / self._S - self._gain**2 * later))
        rotated = 0.5 * ((new * r).T @ r - np.diag(np.sum(new * N, axis=0)))
        by_time = np.empty(0)
        if rate_of(self._term) is not None:
            slope = generator_gradient(self._term)[0] * self._dt * self._rho[1:]
            by_time = np.array([by_rho.sum(axis=1) @ slope])
        return [TermGradient(self._points, self._U @ rotated @ self._U.T, by_time)], by_noise

    def _adjoint(self, own: Array) -> tuple[Array, Array]:
        r, N, kept, rhos = own.copy(), 1.0 / self._S, 1.0 - self._gain, self._rho.tolist()
        for t in range(len(r) - 2, -1, -1):
            still = rhos[t + 1] * kept[t]
            r[t] += still * r[t + 1]
            N[t] += still**2 * N[t + 1]
        return r, N
