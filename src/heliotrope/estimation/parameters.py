"""The parameters of a prior that can be learned: epsilon, the noise, the space kernel's theta."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import Tabulated, has_white_noise
from heliotrope.priors import Forgetting, Prior, Static
from heliotrope.validation import Array


def check_learnable(prior: object) -> None:
    """Refuse a prior whose likelihood is not that of the paper's model."""
    if not isinstance(prior, Prior):
        raise InputError("a Prior", repr(prior))
    if not isinstance(prior.space, Tabulated) and has_white_noise(prior.space):
        raise KernelError("a kernel without a WhiteKernel", str(prior.space), "Learn it as noise.")
    if not isinstance(prior.time, (Static, Forgetting)):
        raise InputError("a Static or Forgetting time", str(prior.time))


def epsilon(prior: Prior) -> float:
    """The drift rate: 0 of a Static prior."""
    return prior.time.epsilon if isinstance(prior.time, Forgetting) else 0.0


def correlation_slope(prior: Prior, dt: Array) -> Array:
    """Derivative of (1 - epsilon)^(dt / 2) by epsilon, the paper's D'; NaN where it has none."""
    rate, v = epsilon(prior), 0.5 * np.abs(dt)
    if rate == 1.0:
        return np.full(np.shape(dt), np.nan)
    return np.asarray(-v * (1.0 - rate) ** (v - 1.0))


def theta(prior: Prior) -> Array:
    """The space kernel's free parameters, logarithms as scikit-learn has them."""
    if isinstance(prior.space, Tabulated):
        return np.empty(0)
    return np.asarray(prior.space.theta, dtype=float)


def theta_bounds(prior: Prior) -> Array:
    """Bounds (p, 2) of theta."""
    if isinstance(prior.space, Tabulated) or not len(prior.space.theta):
        return np.empty((0, 2))
    return np.asarray(prior.space.bounds, dtype=float)


def sized(prior: Prior, points: Array, variance: float) -> Array:
    """Theta with the kernel's constant factors such that its mean variance at points is given."""
    assert isinstance(prior.space, Kernel)
    free = [one for one in prior.space.hyperparameters if not one.fixed]
    factors = [one.name.endswith("constant_value") for one in free for _ in range(one.n_elements)]
    ratio = variance / float(np.mean(prior.space.diag(points)))
    moved = theta(prior) + np.log(ratio) * np.array(factors, dtype=float)
    return np.asarray(np.clip(moved, *theta_bounds(prior).T))


def with_theta(prior: Prior, values: Array) -> Kernel:
    """The space kernel with other free parameters."""
    assert isinstance(prior.space, Kernel)
    return prior.space.clone_with_theta(values)


def theta_slope(prior: Prior, points: Array | None, by_K: Array) -> Array:
    """Derivatives by theta, from those by the entries of K over the points."""
    if not len(theta(prior)):
        return np.empty(0)
    assert isinstance(prior.space, Kernel)
    return np.asarray(np.einsum("ij,ijp->p", by_K, prior.space(points, eval_gradient=True)[1]))
