"""Log marginal likelihood of the time-varying model and its gradient (appendix sec:OPT_EPS).

Symbols
-------
n      observations, r (n,) = y less the prior mean
K, D   (n, n) space covariance k(x_i, x_j), and rho^|t_i - t_j| = (1 - epsilon)^(|t_i - t_j| / 2)
C      K o D + sigma^2 I
alpha  C^{-1} r
theta  the space kernel's free parameters: scikit-learn's logarithms
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from heliotrope.domains import Finite, Places
from heliotrope.errors import InputError
from heliotrope.estimation.data import Data, Observations, Panel, episodes
from heliotrope.estimation.panels import PanelLikelihood
from heliotrope.estimation.parameters import (
    Gradient,
    check_learnable,
    correlation_slope,
    epsilon,
    theta_slope,
)
from heliotrope.kernels import Tabulated
from heliotrope.linalg import jittered_cholesky
from heliotrope.priors import Prior, correlation
from heliotrope.validation import Array

_MOST = 10_000  # single observations: their matrix must fit into memory
_ADVICE = "Use a part of them, or a Panel if every point was measured at every time."


def log_likelihood(prior: Prior, data: Data) -> float:
    """Log density of the data under the prior; it is the sum over independent episodes.

    Examples
    --------
    >>> import heliotrope as ht
    >>> data = Observations(t=[1, 2], x=[[0.0], [0.5]], y=[0.3, 0.1])
    >>> round(log_likelihood(ht.Prior(time=ht.Forgetting(0.1), noise=0.1), data), 6)
    -1.976954
    """
    check_learnable(prior)
    return float(sum(_likelihood(prior, episode).value() for episode in episodes(data)))


def gradient(prior: Prior, data: Data) -> Gradient:
    """Gradient of the log likelihood."""
    check_learnable(prior)
    if epsilon(prior) == 1.0:
        raise InputError("epsilon below 1, where the likelihood has a slope", "epsilon 1")
    return value_and_gradient(prior, data)[1]


def value_and_gradient(prior: Prior, data: Data) -> tuple[float, Gradient]:
    """Log likelihood and its gradient, at the cost of the gradient alone."""
    check_learnable(prior)
    parts = (_likelihood(prior, episode) for episode in episodes(data))  # one in memory at a time
    values, gradients = zip(*((part.value(), part.gradient()) for part in parts), strict=True)
    return float(sum(values)), sum(gradients[1:], start=gradients[0])


def _likelihood(prior: Prior, episode: Observations | Panel) -> PanelLikelihood | _DenseLikelihood:
    if isinstance(episode, Panel):
        return PanelLikelihood(prior, episode)
    return _DenseLikelihood(prior, episode)


class _DenseLikelihood:
    """The paper's formulas for single observations."""

    def __init__(self, prior: Prior, data: Observations) -> None:
        if len(data.t) > _MOST:
            raise InputError(f"at most {_MOST:,} single observations", f"{len(data.t):,}", _ADVICE)
        domain, places = _placed(prior, data)
        self._prior, self._places = prior, places
        self._dt = data.t[:, None] - data.t[None, :]
        self._K = prior.over(domain).block(places, places)
        self._D = correlation(prior.time, self._dt)
        C = self._K * self._D + prior.noise * np.eye(len(data.t))
        self._L = jittered_cholesky(C, jitter=0.0)
        self._residual = data.y - prior.mean_at(places)
        self._alpha: Array = cho_solve((self._L, True), self._residual)

    def value(self) -> float:
        """Log density of the observations."""
        constant = 0.5 * len(self._alpha) * np.log(2.0 * np.pi)
        half = 0.5 * self._residual @ self._alpha
        return float(-half - np.log(np.diag(self._L)).sum() - constant)

    def gradient(self) -> Gradient:
        """Derivatives of the log density; those by the entries of C are W / 2."""
        W = np.outer(self._alpha, self._alpha) - cho_solve((self._L, True), np.eye(len(self._L)))
        slope = correlation_slope(self._prior, self._dt)
        return Gradient(
            0.5 * float(np.sum(W * self._K * slope)),
            0.5 * float(np.trace(W)),
            theta_slope(self._prior, self._places, 0.5 * W * self._D),
        )


def _placed(prior: Prior, data: Observations) -> tuple[Finite, Places]:
    """The domain of the observations, and their places in it."""
    if not isinstance(prior.space, Tabulated):
        points = data.x if data.x.ndim == 2 else data.x[:, None].astype(float)
        return Finite(points), points
    size = len(prior.space.K)
    indices = data.x.ravel().astype(np.intp)
    if data.x.size != len(data.t) or np.any(indices != data.x.ravel()) or indices.max() >= size:
        raise InputError(f"indices (n,) of the table's {size} points", f"x like {data.x[-1]}")
    return Finite(np.arange(float(size))), indices
