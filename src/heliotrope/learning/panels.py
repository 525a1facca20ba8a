"""Likelihood of panels, never a dense (T M) x (T M) matrix.

A complete panel has covariance K (x) R + sigma^2 I, with K = U diag(w) U^T over the points and
R = E diag(r) E^T over the times: in the basis of both, all its T M values are independent with
variances r_i w_j + sigma^2. A panel with gaps goes through the recursion in time.

Symbols
-------
T, M   times, points        Y (T, M)  values less the prior mean
K, R   (M, M), (T, T)       B (T, M)  weights C^{-1} Y
"""

from __future__ import annotations

from dataclasses import replace
from math import log, pi

import numpy as np
from scipy.linalg import cho_solve
from sklearn.gaussian_process.kernels import Kernel

from heliotrope.arrays import Array
from heliotrope.learning.data import Panel
from heliotrope.linalg import jittered_cholesky
from heliotrope.priors import Forgetting, Prior, correlation

_STEP = 1e-5  # relative, of central differences


def log_likelihood(prior: Prior, panel: Panel) -> float:
    """Exact log likelihood of one panel."""
    K, mean = _space(prior, panel)
    if not panel.complete:
        return _filtered(prior, panel, K, mean)
    w, U, r, E = _bases(prior, panel, K)
    return _density(E.T @ (panel.values - mean) @ U, np.outer(r, w) + prior.noise)


def value_and_gradient(prior: Prior, panel: Panel) -> tuple[float, float, float, Array]:
    """Log likelihood, and its derivatives by epsilon, by the noise and by the kernel's theta."""
    if not panel.complete:
        return log_likelihood(prior, panel), *_differenced(prior, panel)
    K, mean = _space(prior, panel)
    w, U, r, E = _bases(prior, panel, K)
    variances, rotated = np.outer(r, w) + prior.noise, E.T @ (panel.values - mean) @ U
    precisions = 1.0 / variances
    B = E @ (rotated * precisions) @ U.T
    dR = _time_derivative(prior, panel)
    in_time = np.einsum("ti,ts,si->i", E, dR, E, optimize=True)  # diagonal of E^T R' E
    by_epsilon = np.sum(B * (dR @ B @ K)) - np.sum(precisions * np.outer(in_time, w))
    by_noise = np.sum(B**2) - precisions.sum()
    R = E @ (r[:, None] * E.T)
    pull, push = B.T @ R @ B, (U * (precisions.T @ r)) @ U.T
    by_theta = np.einsum("ij,ijp->p", pull - push, _space_derivative(prior, panel))
    value = _density(rotated, variances)
    return value, 0.5 * float(by_epsilon), 0.5 * float(by_noise), 0.5 * by_theta


def _density(independent: Array, variances: Array) -> float:
    """Log density of independent values of mean zero."""
    terms = independent**2 / variances + np.log(variances)
    return float(-0.5 * (terms.sum() + terms.size * log(2.0 * pi)))


def _space(prior: Prior, panel: Panel) -> tuple[Array, Array]:
    domain = panel.domain(prior)
    every = domain.indices
    return prior.over(domain).block(every, every), prior.mean_at(every)


def _bases(prior: Prior, panel: Panel, K: Array) -> tuple[Array, Array, Array, Array]:
    w, U = np.linalg.eigh(K)
    t = panel.times
    r, E = np.linalg.eigh(correlation(prior.time, t[:, None] - t[None, :]))
    return np.maximum(w, 0.0), U, np.maximum(r, 0.0), E


def _time_derivative(prior: Prior, panel: Panel) -> Array:
    """Derivative of R by epsilon, the paper's D'."""
    rate = prior.time.epsilon if isinstance(prior.time, Forgetting) else 0.0
    v = 0.5 * np.abs(panel.times[:, None] - panel.times[None, :])
    return np.asarray(-v * (1.0 - rate) ** (v - 1.0))


def _space_derivative(prior: Prior, panel: Panel) -> Array:
    if isinstance(prior.space, Kernel) and len(prior.space.theta):
        return np.asarray(prior.space(panel.points, eval_gradient=True)[1])
    M = panel.values.shape[1]
    return np.empty((M, M, 0))


def _filtered(prior: Prior, panel: Panel, K: Array, mean: Array) -> float:
    """The recursion in time: f_t ~ N(m, K - A), A scaled by rho^2 between times.

    Observing the measured points o: S = (K - A)_oo + sigma^2 I, gain G = (K - A)_:o S^{-1},
    m += G (y - m_o), A += G (K - A)_o:.
    """
    m, A, total, before = np.zeros(len(K)), np.zeros_like(K), 0.0, panel.times[0]
    for t, row in zip(panel.times, panel.values - mean, strict=True):
        decay = float(correlation(prior.time, np.array(t - before)))
        m, A, before = decay * m, decay**2 * A, t
        seen = np.flatnonzero(~np.isnan(row))
        if not len(seen):
            continue
        P = K[seen] - A[seen]
        L = jittered_cholesky(P[:, seen] + prior.noise * np.eye(len(seen)), jitter=0.0)
        surprise = row[seen] - m[seen]
        weights = cho_solve((L, True), surprise)
        total -= 0.5 * (surprise @ weights + len(seen) * log(2.0 * pi)) + np.log(np.diag(L)).sum()
        m = m + P.T @ weights
        A = A + P.T @ cho_solve((L, True), P)
    return float(total)


def _differenced(prior: Prior, panel: Panel) -> tuple[float, float, Array]:
    """Central differences of the recursion's likelihood."""
    rate = prior.time.epsilon if isinstance(prior.time, Forgetting) else 0.0
    step = _STEP * max(rate, 1e-4)
    low, high = max(rate - step, 0.0), min(rate + step, 1.0)
    by_epsilon = (
        log_likelihood(replace(prior, time=Forgetting(high)), panel)
        - log_likelihood(replace(prior, time=Forgetting(low)), panel)
    ) / (high - low)
    up, down = prior.noise * (1.0 + _STEP), prior.noise * (1.0 - _STEP)
    by_noise = (
        log_likelihood(replace(prior, noise=up), panel)
        - log_likelihood(replace(prior, noise=down), panel)
    ) / (up - down)
    return by_epsilon, by_noise, _differenced_space(prior, panel)


def _differenced_space(prior: Prior, panel: Panel) -> Array:
    if not isinstance(prior.space, Kernel):
        return np.empty(0)
    kernel, start = prior.space, np.asarray(prior.space.theta, dtype=float)

    def at(theta: Array) -> float:
        return log_likelihood(replace(prior, space=kernel.clone_with_theta(theta)), panel)

    steps = _STEP * np.eye(len(start))
    return np.array([(at(start + s) - at(start - s)) / (2.0 * _STEP) for s in steps])
