"""The learnable parameters of a prior: epsilon, the noise, the space kernel's theta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import Tabulated, has_white_noise
from heliotrope.priors import Forgetting, Prior, Static
from heliotrope.validation import Array


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


def correlation_slope(prior: Prior, dt: Array) -> Array:
    """Derivative of (1 - epsilon)^(dt / 2) by epsilon, the paper's D'; NaN at epsilon 1."""
    rate, v = epsilon(prior), 0.5 * np.abs(dt)
    if rate == 1.0:
        return np.full(np.shape(dt), np.nan)
    return np.asarray(-v * (1.0 - rate) ** (v - 1.0))


def theta(prior: Prior) -> Array:
    """The space kernel's free parameters: scikit-learn's logarithms."""
    if isinstance(prior.space, Tabulated):
        return np.empty(0)
    return np.asarray(prior.space.theta, dtype=float)


def theta_bounds(prior: Prior) -> Array:
    """Bounds (p, 2) of theta."""
    if isinstance(prior.space, Tabulated) or not len(prior.space.theta):
        return np.empty((0, 2))
    return np.asarray(prior.space.bounds, dtype=float)


def theta_for_variance(prior: Prior, points: Array, variance: float) -> Array:
    """Theta whose constant factors give the kernel this mean variance at the points."""
    assert isinstance(prior.space, Kernel)
    free = [one for one in prior.space.hyperparameters if not one.fixed]
    factors = [one.name.endswith("constant_value") for one in free for _ in range(one.n_elements)]
    ratio = variance / float(np.mean(prior.space.diag(points)))
    moved = theta(prior) + np.log(ratio) * np.array(factors, dtype=float)
    return np.asarray(np.clip(moved, *theta_bounds(prior).T))


def theta_slope(prior: Prior, points: Array | None, by_K: Array) -> Array:
    """Derivatives by theta, from the derivatives by the entries of K over the points."""
    if not len(theta(prior)):
        return np.empty(0)
    assert isinstance(prior.space, Kernel)
    return np.asarray(np.einsum("ij,ijp->p", by_K, prior.space(points, eval_gradient=True)[1]))
