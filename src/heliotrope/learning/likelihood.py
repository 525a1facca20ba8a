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
from sklearn.gaussian_process.kernels import Kernel

from heliotrope.arrays import Array
from heliotrope.domains import Finite
from heliotrope.engines.spacetime import SpaceTime
from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import Tabulated, has_white_noise
from heliotrope.learning import panels
from heliotrope.learning.data import Data, Observations, Panel, episodes
from heliotrope.linalg import jittered_cholesky
from heliotrope.priors import Forgetting, Prior, Static


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
    epsilon(prior)
    return float(sum(_value(prior, episode) for episode in episodes(data)))


def gradient(prior: Prior, data: Data) -> Gradient:
    """Gradient of the log likelihood, analytic but for panels with gaps, which are differenced."""
    return value_and_gradient(prior, data)[1]


def value_and_gradient(prior: Prior, data: Data) -> tuple[float, Gradient]:
    """Log likelihood and its gradient, for the price of the gradient."""
    epsilon(prior)
    values, gradients = zip(*(_both(prior, part) for part in episodes(data)), strict=True)
    return float(sum(values)), sum(gradients[1:], start=gradients[0])


def epsilon(prior: Prior) -> float:
    """The drift rate of a prior that is Static or Forgetting."""
    if not isinstance(prior.space, Tabulated) and has_white_noise(prior.space):
        raise KernelError("a kernel without a WhiteKernel", str(prior.space), "Learn it as noise.")
    if isinstance(prior.time, Forgetting):
        return prior.time.epsilon
    if isinstance(prior.time, Static):
        return 0.0
    raise InputError("a Static or Forgetting time", str(prior.time))


def theta(prior: Prior) -> Array:
    """The space kernel's free parameters; a Tabulated one has none."""
    if isinstance(prior.space, Tabulated):
        return np.empty(0)
    return np.asarray(prior.space.theta, dtype=float)


def space_bounds(prior: Prior) -> Array:
    """Bounds (p, 2) of theta."""
    if isinstance(prior.space, Tabulated) or not len(prior.space.theta):
        return np.empty((0, 2))
    return np.asarray(prior.space.bounds, dtype=float)


def with_theta(prior: Prior, values: Array) -> Kernel:
    """The space kernel with other free parameters."""
    if isinstance(prior.space, Tabulated):
        raise InputError("a kernel with parameters", "Tabulated")
    return prior.space.clone_with_theta(values)


def _value(prior: Prior, episode: Observations | Panel) -> float:
    if isinstance(episode, Panel):
        return panels.log_likelihood(prior, episode)
    _, L, residual, alpha, _ = _solved(prior, episode)
    return _density(L, residual, alpha)


def _both(prior: Prior, episode: Observations | Panel) -> tuple[float, Gradient]:
    if isinstance(episode, Panel):
        value, by_epsilon, by_noise, by_theta = panels.value_and_gradient(prior, episode)
        return value, Gradient(by_epsilon, by_noise, by_theta)
    model, L, residual, alpha, D = _solved(prior, episode)
    W = np.outer(alpha, alpha) - cho_solve((L, True), np.eye(len(alpha)))
    K = model.space.block(episode.x, episode.x)
    v = 0.5 * np.abs(episode.t[:, None] - episode.t[None, :])
    dD = -v * (1.0 - epsilon(prior)) ** (v - 1.0)  # the paper's D'
    by_theta = 0.5 * np.einsum("ij,ijp->p", W * D, _space_gradient(prior, episode))
    slopes = Gradient(0.5 * float(np.sum(W * K * dD)), 0.5 * float(np.trace(W)), by_theta)
    return _density(L, residual, alpha), slopes


def _density(L: Array, residual: Array, alpha: Array) -> float:
    """Log density of a residual under N(0, L L^T), alpha = (L L^T)^{-1} residual."""
    constant = 0.5 * len(residual) * np.log(2.0 * np.pi)
    return float(-0.5 * residual @ alpha - np.log(np.diag(L)).sum() - constant)


def _solved(prior: Prior, episode: Observations) -> tuple[SpaceTime, Array, Array, Array, Array]:
    """Return the model, the factor L of C, r, alpha and D."""
    model = SpaceTime(prior, _domain(prior, episode))
    C = model.noisy(episode.t, episode.x)
    D = np.sqrt(1.0 - epsilon(prior)) ** np.abs(episode.t[:, None] - episode.t[None, :])
    L = jittered_cholesky(C, jitter=0.0)
    residual = episode.y - prior.mean_at(episode.x)
    return model, L, residual, np.asarray(cho_solve((L, True), residual)), D


def _domain(prior: Prior, episode: Observations) -> Finite:
    """The domain that the observations' places belong to."""
    if episode.x.ndim == 2:
        return Finite(episode.x)
    if isinstance(prior.space, Tabulated):
        return Finite(np.arange(float(len(prior.space.K))))
    raise InputError("points (n, d) under a kernel over points", "indices")


def _space_gradient(prior: Prior, episode: Observations) -> Array:
    if isinstance(prior.space, Kernel) and len(prior.space.theta):
        return np.asarray(prior.space(episode.x, eval_gradient=True)[1])
    return np.empty((len(episode.t), len(episode.t), 0))
