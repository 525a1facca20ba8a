"""Mutual information between a function and measurements of it (eq:MI_TI, eq:MI, eq:MI2).

Symbols
-------
n        measurements, at times (n,) and places (n,) of a Finite domain
K~       (n, n) covariance of f at those times and places; K where the prior stands still
sigma^2  ``prior.noise``
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.arrays import Array, Indices, as_number, as_vector, as_whole
from heliotrope.domains import Finite
from heliotrope.engines.finite import FiniteEngine
from heliotrope.engines.spacetime import SpaceTime
from heliotrope.errors import InputError
from heliotrope.linalg import jittered_cholesky
from heliotrope.priors import Forgetting, Prior, Static


@dataclass(frozen=True)
class Corrected:
    """A quantity of the paper: as it is printed, and as its proof gives it (docs/theory.md)."""

    printed: float
    corrected: float


def standing_still(prior: Prior) -> Prior:
    """The same prior without drift, of which eq:MI_TI and gamma_T speak."""
    return replace(prior, time=Static())


def mutual_information(
    prior: Prior, domain: Finite, places: ArrayLike, times: ArrayLike | None = None
) -> float:
    """I~(f; y) = 1/2 log det(I + sigma^-2 K~) in nats (eq:MI; eq:MI_TI for a Static prior).

    Times are 1, 2, 3, ... unless given.
    """
    where, when = _measurements(domain, places, times)
    noisy = SpaceTime(prior, domain).noisy(when, where) / prior.noise
    return float(np.log(jittered_cholesky(noisy, jitter=0.0).diagonal()).sum())


def sequential_information(
    prior: Prior, domain: Finite, places: ArrayLike, times: ArrayLike | None = None
) -> float:
    """The same as 1/2 sum_t log(1 + sigma^-2 sigma~_{t-1}^2(x_t)) (eq:MI2), in order of time."""
    where, when = _measurements(domain, places, times)
    engine, total = FiniteEngine(prior, domain), 0.0
    for key in np.argsort(when, kind="stable").tolist():
        place, t = where[key : key + 1], float(when[key])
        _, variance = engine.predict(t, place)
        total += float(information(variance, prior.noise)[0])
        engine.open(key, t, place)
        engine.tell(key, 0.0)  # variances do not depend on values
    return total


def information(variance: Array, noise: float) -> Array:
    """What one measurement says about a value of that variance, 1/2 log(1 + variance / sigma^2)."""
    return np.asarray(0.5 * np.log1p(variance / noise))


def drift_information(length: int, epsilon: float, noise: float) -> Corrected:
    """What drift can add within N steps: gamma~_N <= gamma_N + this (eq:weakened2).

    Printed: N^3 epsilon, which is false for small noise. Corrected, by the same argument with
    the noise kept: (N / 2) log(1 + N^{3/2} epsilon / (sqrt(6) sigma^2)). Either may be the
    smaller one.
    """
    N, drift = as_whole(length, "a block's length", least=1), Forgetting(epsilon).epsilon
    shift = N**1.5 * drift / (np.sqrt(6.0) * noise)  # of one eigenvalue, over sigma^2
    return Corrected(float(N) ** 3 * drift, 0.5 * N * float(np.log1p(shift)))


def _measurements(
    domain: Finite, places: ArrayLike, times: ArrayLike | None
) -> tuple[Indices, Array]:
    where = domain.places(places)
    given = np.arange(1.0, len(where) + 1.0) if times is None else times
    when = as_vector(given, "times")
    if when.shape != where.shape:
        raise InputError(f"{len(where)} times, one a place", f"{len(when)}")
    return where, when


def checked_rho(prior: Prior) -> float:
    """Correlation over one step of a prior with the paper's drift, or without any."""
    if not isinstance(prior.time, (Static, Forgetting)):
        raise InputError("a Static or Forgetting time", str(prior.time))
    return as_number(prior.time.rho, "rho")
