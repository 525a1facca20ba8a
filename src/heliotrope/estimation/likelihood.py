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

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import cho_solve

from heliotrope.domains import Finite, Places
from heliotrope.errors import InputError, KernelError
from heliotrope.estimation.data import Data, Observations, Panel, episodes
from heliotrope.estimation.panels import CompleteLikelihood, GappyLikelihood
from heliotrope.kernels import Tabulated, has_white_noise
from heliotrope.linalg import jittered_cholesky
from heliotrope.priors import Forgetting, Prior, Static, correlation
from heliotrope.validation import Array

_MOST = 10_000  # single observations: their matrix must fit into memory
_ADVICE = "Use a part of them, or a Panel if every point was measured at every time."


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


def check_learnable(prior: object) -> None:
    """Raise an error unless the prior is one of the paper's model."""
    if not isinstance(prior, Prior):
        raise InputError("a Prior", repr(prior))
    if not isinstance(prior.space, Tabulated) and has_white_noise(prior.space):
        raise KernelError("a kernel without a WhiteKernel", str(prior.space), "Learn it as noise.")
    if not isinstance(prior.time, (Static, Forgetting)):
        raise InputError("a Static or Forgetting time", str(prior.time))


def epsilon(prior: Prior) -> float:
    """The drift rate; 0 for a Static prior."""
    return prior.time.epsilon if isinstance(prior.time, Forgetting) else 0.0


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
    return float(sum(_likelihood(prior, episode).value for episode in episodes(data)))


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
    values, gradients = zip(*((part.value, _gradient(prior, part)) for part in parts), strict=True)
    return float(sum(values)), sum(gradients[1:], start=gradients[0])


class _DenseLikelihood:
    """The paper's formulas for single observations."""

    def __init__(self, prior: Prior, data: Observations) -> None:
        n = len(data.t)
        if n > _MOST:
            raise InputError(f"at most {_MOST:,} single observations", f"{n:,}", _ADVICE)
        domain, self.places = _placed(prior, data)
        self.dt = data.t[:, None] - data.t[None, :]
        self._K = prior.over(domain).block(self.places, self.places)
        self._D = correlation(prior.time, self.dt)
        self._L = jittered_cholesky(self._K * self._D + prior.noise * np.eye(n), jitter=0.0)
        residual = data.y - prior.mean_at(self.places)
        self._alpha: Array = cho_solve((self._L, True), residual)
        log_root = np.log(np.diag(self._L)).sum()
        self.value = float(-0.5 * residual @ self._alpha - log_root - 0.5 * n * np.log(2.0 * np.pi))

    def derivatives(self, slope: Array) -> tuple[float, float, Array]:
        """Derivatives by epsilon, the noise and the entries of K; slope is dD / d epsilon.

        Those by the entries of C are W / 2.
        """
        W = np.outer(self._alpha, self._alpha) - cho_solve((self._L, True), np.eye(len(self._L)))
        by_epsilon = 0.5 * float(np.sum(W * self._K * slope))
        return by_epsilon, 0.5 * float(np.trace(W)), 0.5 * W * self._D


_Likelihood: TypeAlias = _DenseLikelihood | CompleteLikelihood | GappyLikelihood


def _likelihood(prior: Prior, episode: Observations | Panel) -> _Likelihood:
    if isinstance(episode, Observations):
        return _DenseLikelihood(prior, episode)
    return (CompleteLikelihood if episode.complete else GappyLikelihood)(prior, episode)


def _gradient(prior: Prior, likelihood: _Likelihood) -> Gradient:
    slope = _correlation_slope(epsilon(prior), likelihood.dt)
    by_epsilon, by_noise, by_K = likelihood.derivatives(slope)
    if isinstance(prior.space, Tabulated) or not len(prior.space.theta):
        return Gradient(by_epsilon, by_noise, np.empty(0))
    by_theta = prior.space(likelihood.places, eval_gradient=True)[1]
    return Gradient(by_epsilon, by_noise, np.einsum("ij,ijp->p", by_K, by_theta))


def _correlation_slope(rate: float, dt: Array) -> Array:
    """Derivative of (1 - epsilon)^(dt / 2) by epsilon, the paper's D'; NaN at epsilon 1."""
    v = 0.5 * np.abs(dt)
    if rate == 1.0:
        return np.full(np.shape(dt), np.nan)
    return np.asarray(-v * (1.0 - rate) ** (v - 1.0))


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
