"""Log marginal likelihood of the time-varying model and its gradient (appendix sec:OPT_EPS).

Symbols
-------
n      observations, r (n,) = y less the prior mean
K, D   (n, n) space covariance k(x_i, x_j), and rho^|t_i - t_j| = (1 - epsilon)^(|t_i - t_j| / 2)
C      K o D + sigma^2 I
alpha  C^{-1} r
theta  the space kernel's free parameters as scikit-learn has them (logarithms)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from heliotrope.arrays import Array
from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.kernels import Tabulated
from heliotrope.learning import panels
from heliotrope.learning.data import Data, Observations, Panel, episodes
from heliotrope.learning.parameters import check_learnable, correlation_slope, theta_slope
from heliotrope.linalg import jittered_cholesky
from heliotrope.priors import Prior, correlation


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of the log likelihood by epsilon, by the noise variance, and by theta."""

    epsilon: float
    noise: float
    space: Array

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(
            self.epsilon + other.epsilon, self.noise + other.noise, self.space + other.space
        )


def log_likelihood(prior: Prior, data: Data) -> float:
    """Log density of the data under the prior; independent episodes add up.

    Examples
    --------
    >>> import heliotrope as ht
    >>> data = Observations(t=[1, 2], x=[[0.0], [0.5]], y=[0.3, 0.1])
    >>> round(log_likelihood(ht.Prior(time=ht.Forgetting(0.1), noise=0.1), data), 6)
    -1.976954
    """
    check_learnable(prior)
    return float(sum(_value(prior, episode) for episode in episodes(data)))


def gradient(prior: Prior, data: Data) -> Gradient:
    """Gradient of the log likelihood."""
    return value_and_gradient(prior, data)[1]


def value_and_gradient(prior: Prior, data: Data) -> tuple[float, Gradient]:
    """Log likelihood and its gradient, for the price of the gradient."""
    check_learnable(prior)
    values, gradients = zip(*(_both(prior, part) for part in episodes(data)), strict=True)
    return float(sum(values)), sum(gradients[1:], start=gradients[0])


def _value(prior: Prior, episode: Observations | Panel) -> float:
    if isinstance(episode, Panel):
        return panels.log_likelihood(prior, episode)
    return _Dense(prior, episode).value()


def _both(prior: Prior, episode: Observations | Panel) -> tuple[float, Gradient]:
    if isinstance(episode, Panel):
        value, by_epsilon, by_noise, by_theta = panels.value_and_gradient(prior, episode)
        return value, Gradient(by_epsilon, by_noise, by_theta)
    dense = _Dense(prior, episode)
    return dense.value(), dense.gradient()


class _Dense:
    """The paper's formulas for single observations."""

    def __init__(self, prior: Prior, data: Observations) -> None:
        self._prior, self._data = prior, data
        self._dt = data.t[:, None] - data.t[None, :]
        self._K = prior.over(_domain(prior, data)).block(data.x, data.x)
        self._D = correlation(prior.time, self._dt)
        C = self._K * self._D + prior.noise * np.eye(len(data.t))
        self._L = jittered_cholesky(C, jitter=0.0)
        self._residual = data.y - prior.mean_at(data.x)
        self._alpha: Array = cho_solve((self._L, True), self._residual)

    def value(self) -> float:
        """Log density of the observations."""
        constant = 0.5 * len(self._alpha) * np.log(2.0 * np.pi)
        half = 0.5 * self._residual @ self._alpha
        return float(-half - np.log(np.diag(self._L)).sum() - constant)

    def gradient(self) -> Gradient:
        """Its derivatives: those by the entries of C are W / 2."""
        W = np.outer(self._alpha, self._alpha) - cho_solve((self._L, True), np.eye(len(self._L)))
        slope = correlation_slope(self._prior, self._dt)
        return Gradient(
            0.5 * float(np.sum(W * self._K * slope)),
            0.5 * float(np.trace(W)),
            theta_slope(self._prior, self._data.x, 0.5 * W * self._D),
        )


def _domain(prior: Prior, data: Observations) -> Finite:
    """The domain that the observations' places belong to."""
    if data.x.ndim == 2:
        return Finite(data.x)
    if not isinstance(prior.space, Tabulated):
        raise InputError("points (n, d) under a kernel over points", "indices")
    points = len(prior.space.K)
    if data.x.max() >= points:
        raise InputError(f"indices below the table's {points} points", str(data.x.max()))
    return Finite(np.arange(float(points)))
