"""The protocol of engines, which hold the posterior of f exactly or within a tolerance.

An evaluation is opened at its time and place, and told its value (or cancelled) later, so results
may arrive late and in any order. An open evaluation shrinks the variance and keeps the mean, as in
batch GP-UCB.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Places
from heliotrope.linalg import low_rank_root
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import State
from heliotrope.validation import Array

_ROOT = 1e-9  # share of the largest variance that a sample may omit


class Accuracy(NamedTuple):
    """An estimate of how far the posterior is from the exact one, both as shares of its deviation.

    ``std`` is the error of the deviation and ``mean`` that of the mean: root mean squares over
    places that fill the domain, at the latest time. 0.02 stands for 2 % of the deviation.
    """

    std: float
    mean: float


EXACT = Accuracy(0.0, 0.0)


@runtime_checkable
class Posterior(Protocol):
    """The posterior of f_t."""

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t at places, without noise, with or without open evaluations.

        A ``part`` is the sum of some terms of the prior; see :meth:`heliotrope.Prior.selects`.
        """

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        """Posterior covariance of f_t at places with others, without open evaluations.

        By default it is the joint covariance of the places.
        """


@runtime_checkable
class Engine(Posterior, Protocol):
    """The posterior of a time-varying GP, updated with each observation."""

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood: the sum of one-step predictive log densities."""

    def open(self, key: int, t: float, place: Places) -> None:
        """Open an evaluation at one place, an index (1,) or a point (1, d)."""

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Condition on the value of an open evaluation."""

    def cancel(self, key: int) -> None:
        """Drop an open evaluation."""

    def accuracy(self) -> Accuracy:
        """Return the error that the engine has accepted so far to keep its cost bounded."""

    def state(self) -> State:
        """Return the engine's state as arrays."""

    def restore(self, state: State) -> None:
        """Take over a saved :meth:`state`."""


@runtime_checkable
class HasSurface(Protocol):
    """An engine whose posterior over a Box has a gradient."""

    def surface(self, t: float) -> Surface:
        """Return mean and variance of f_t as functions of x, with open evaluations.

        Both leave out the terms that all places share, since no choice depends on them.
        """


@runtime_checkable
class Sampleable(Protocol):
    """An engine over a Finite domain that samples without forming its whole covariance."""

    def sample_path(self, t: float, rng: np.random.Generator) -> Array:
        """Sample f_t jointly at all points, (M,), without open evaluations and shared terms."""


@runtime_checkable
class Surface(Protocol):
    """Posterior mean and variance as functions over a Box."""

    def value(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance at X (q, d)."""

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Derivatives of mean and of variance by x, each (q, d)."""

    def promising_points(self, count: int) -> Array:
        """Return visited points: those of highest mean, and the newest."""


def sample(
    engine: Engine, t: float, places: Places, rng: np.random.Generator, size: int = 1
) -> Array:
    """Sample f_t jointly at places from the posterior, (size, len(places))."""
    mean, _ = engine.predict(t, places, count_open=False)
    covariance = engine.covariance(t, places)
    root = low_rank_root(covariance, _ROOT * float(covariance.diagonal().max(initial=0.0)))
    draws: Array = mean + rng.standard_normal((size, root.shape[1])) @ root.T
    return draws
