"""What every engine can do: hold the posterior of f under a prior, exactly or within a tolerance.

An evaluation is first opened at its time and place and later told its value (or cancelled), so
that results may come late and in any order. While open it shrinks the variance and leaves the
mean alone, as in batch GP-UCB.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Places
from heliotrope.errors import KernelError
from heliotrope.linalg import low_rank_root
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.serialization.state import State
from heliotrope.validation import Array

_ROOT = 1e-9  # share of the largest variance that a draw may leave out
_ROUNDING = 1e-6  # a variance this share below zero is no rounding error


@runtime_checkable
class Posterior(Protocol):
    """What is believed of f_t."""

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean and variance of f_t at places, without noise; open evaluations counted or not."""

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance of f_t at places, by what was told alone."""


@runtime_checkable
class Engine(Posterior, Protocol):
    """The posterior of a time-varying GP, given what has been told."""

    @property
    def log_likelihood(self) -> float:
        """Log density of what was told: the sum of the one-step predictive ones."""

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation at one place, (1,) indices or (1, d) points."""

    def tell(self, key: int, y: float) -> None:
        """Condition on the value of an open evaluation."""

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""

    def state(self) -> State:
        """Everything the engine knows, as arrays."""

    def restore(self, state: State) -> None:
        """Become the engine whose :meth:`state` this was."""


@runtime_checkable
class HasSurface(Protocol):
    """An engine whose posterior over a Box can be climbed along its gradient."""

    def surface(self, t: float) -> Surface:
        """Return mean and variance of f_t as functions of x, open evaluations counted."""


@runtime_checkable
class Sampleable(Protocol):
    """An engine over a Finite domain that draws without forming its whole covariance."""

    def sample_path(self, t: float, rng: np.random.Generator) -> Array:
        """Draw f_t jointly at all points from the posterior of what was told, (M,)."""


@runtime_checkable
class Surface(Protocol):
    """Posterior mean and variance as functions over a Box."""

    def value(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance at X (q, d)."""

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Derivatives of mean and of variance by x, each (q, d)."""

    def promising_points(self, count: int) -> Array:
        """Some of the points behind the posterior: the best by its mean, and the newest."""


class Expansion:
    """A surface that is an expansion over points B.

    mean(x) = m0 + k(x, B) alpha;  var(x) = scale k(x, x) - k(x, B) Q k(B, x), where the scale is
    c(0) unless it is given.
    """

    def __init__(
        self, model: SpaceTime, B: Array, alpha: Array, Q: Array, scale: float | None = None
    ) -> None:
        self._prior, self._space = model.prior, model.space
        self._B, self._alpha, self._Q = B, alpha, Q
        self._scale = model.scale() if scale is None else scale

    def value(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance at X (q, d)."""
        k = self._space.block(X, self._B)
        explained = np.einsum("qn,qn->q", k @ self._Q, k)
        variance = np.maximum(self._scale * self._space.diagonal(X) - explained, 0.0)
        return self._prior.mean_at(X) + k @ self._alpha, variance

    def promising_points(self, count: int) -> Array:
        """Some of the points behind the posterior: the best by its mean, and the newest."""
        mean = self._space.block(self._B, self._B) @ self._alpha
        best = np.argsort(-mean, kind="stable")[: count // 2]
        return np.concatenate([self._B[best], self._B[-(count - count // 2) :]])

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Derivatives of mean and of variance by x, each (q, d)."""
        dk = self._space.gradient(X, self._B)
        weights = self._space.block(X, self._B) @ self._Q
        slope = self._scale * self._space.diagonal_gradient(X)
        return (
            np.einsum("qnd,n->qd", dk, self._alpha),
            slope - 2.0 * np.einsum("qnd,qn->qd", dk, weights),
        )


def sample(
    engine: Engine, t: float, places: Places, rng: np.random.Generator, size: int = 1
) -> Array:
    """Draw f_t jointly at places from the posterior, (size, len(places))."""
    mean, _ = engine.predict(t, places, count_open=False)
    covariance = engine.covariance(t, places)
    root = low_rank_root(covariance, _ROOT * float(covariance.diagonal().max(initial=0.0)))
    draws: Array = mean + rng.standard_normal((size, root.shape[1])) @ root.T
    return draws


def checked_variance(variance: float, prior_variance: float, rounding: float = _ROUNDING) -> float:
    """Clip what rounding took below zero; a truly negative variance is the kernel's fault."""
    if variance < -rounding * max(prior_variance, 1e-300):
        raise KernelError(
            "a positive definite kernel",
            f"a posterior variance of {variance:.3g} where the prior's is {prior_variance:.3g}",
            "Check the kernel over the whole domain.",
        )
    return max(variance, 0.0)
