"""Mutual information between a function and measurements of it (eq:MI_TI, eq:MI, eq:MI2).

Symbols
-------
n        measurements, at times (n,) and places (n,) of a Finite domain
K~       (n, n) covariance of f at those times and places; K where the prior is Static. For a sum of
         terms it is the sum of their covariances.
sigma^2  ``prior.noise``
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.posterior import Engine, FiniteOptions, build
from heliotrope.posterior.options import check_noise
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Forgetting, Prior, Static, TimeKernel
from heliotrope.validation import Array, Indices, as_positive, as_vector, as_whole

Kind = TypeVar("Kind")

_MOST_MEASUREMENTS = 5000  # the eigenvalues of their covariance are computed


@dataclass(frozen=True)
class Corrected:
    """A quantity of the paper, as printed and as its proof gives it (docs/theory.md)."""

    printed: float
    corrected: float


def without_drift(prior: Prior) -> Prior:
    """The same prior without drift, as in eq:MI_TI and gamma_T."""
    time_kernel(prior)
    return prior.with_time(Static())


def mutual_information(
    prior: Prior, domain: Finite, places: ArrayLike, times: ArrayLike | None = None
) -> float:
    """I~(f; y) = 1/2 log det(I + sigma^-2 K~) in nats (eq:MI; eq:MI_TI for a Static prior).

    The prior may be a sum of terms. The default times are 1, 2, 3, ...
    """
    where, when = _measurements(domain, places, times)
    if len(where) > _MOST_MEASUREMENTS:
        raise InputError(
            f"at most {_MOST_MEASUREMENTS} measurements",
            f"{len(where)}",
            "Use sequential_information for more.",
        )
    check_noise(expect(prior, Prior), domain)
    model = SpaceTime(prior, domain)
    model.begin(float(when.min(initial=np.inf)))
    return float(joint_information(model.between(when, where, when, where), prior.noise))


def sequential_information(
    prior: Prior, domain: Finite, places: ArrayLike, times: ArrayLike | None = None
) -> float:
    """I~(f; y) as 1/2 sum_t log(1 + sigma^-2 sigma~_{t-1}^2(x_t)) (eq:MI2), in order of time."""
    where, when = _measurements(domain, places, times)
    engine, total = recursion(prior, domain), 0.0
    for key in np.argsort(when, kind="stable").tolist():
        place, t = where[key : key + 1], float(when[key])
        _, variance = engine.predict(t, place)
        total += float(information(variance, prior.noise)[0])
        engine.open(key, t, place)
        engine.tell(key, 0.0)  # variances do not depend on values
    return total


def recursion(prior: Prior, domain: Finite) -> Engine:
    """Return the engine whose variances give the information of a measurement."""
    return build(expect(prior, Prior), expect(domain, Finite), FiniteOptions())


def information(variance: ArrayLike, noise: float) -> Array:
    """Information of one measurement of a value with this variance: 1/2 log(1 + v / sigma^2)."""
    with np.errstate(divide="ignore"):  # log 0 for zero variance
        return np.asarray(0.5 * np.logaddexp(0.0, np.log(variance) - log(noise)))


def joint_information(K: Array, noise: float) -> Array:
    """1/2 log det(I + sigma^-2 K) of covariances (..., n, n), from their eigenvalues."""
    eigenvalues = np.maximum(np.linalg.eigvalsh(K), 0.0)
    return np.asarray(information(eigenvalues, noise).sum(axis=-1))


def drift_information(length: int, epsilon: float, noise: float) -> Corrected:
    """Information that drift adds within N steps: gamma~_N <= gamma_N + this (eq:weakened2).

    Printed: N^3 epsilon, which is false for small noise. Corrected by the same argument with the
    noise: (N / 2) log(1 + N^{3/2} epsilon / (sqrt(6) sigma^2)). Either can be the smaller one.
    """
    N, drift = as_whole(length, "a block's length", least=1), Forgetting(epsilon).epsilon
    printed, corrected = drift_added(np.array(float(N)), drift, as_positive(noise, "noise"))
    return Corrected(float(printed), float(corrected))


def drift_added(
    N: Array, epsilon: float, noise: float, variance: float = 1.0
) -> tuple[Array, Array]:
    """Its printed and corrected forms for lengths N (n,) and k(x, x) <= variance."""
    shift = variance * N**1.5 * epsilon / sqrt(6.0)  # of one eigenvalue
    return N**3 * epsilon, N * information(shift, noise)


def _measurements(
    domain: Finite, places: ArrayLike, times: ArrayLike | None
) -> tuple[Indices, Array]:
    where = expect(domain, Finite).places(places)
    given = np.arange(1.0, len(where) + 1.0) if times is None else times
    when = as_vector(given, "times")
    if when.shape != where.shape:
        raise InputError(f"{len(where)} times, one per place", f"{len(when)}")
    return where, when


def checked_rho(prior: Prior) -> float:
    """Correlation over one step of a prior with the paper's drift, or without drift."""
    time = time_kernel(prior)
    if not isinstance(time, (Static, Forgetting)):
        raise InputError("a Static or Forgetting time", str(time))
    return time.rho


def time_kernel(prior: Prior) -> TimeKernel:
    """Return the time kernel; for a sum, raise an error that states the limits of the theory."""
    try:
        return expect(prior, Prior).time
    except InputError:
        if not isinstance(prior, Prior):
            raise
        raise InputError(
            "a prior of one space kernel and one time kernel",
            f"the sum {' + '.join(term.name for term in prior.terms)}",
            "The paper's information gains and regret bounds hold for one space kernel with one "
            "drift rate. Nothing is proven for a sum. mutual_information takes sums.",
        ) from None


def expect(value: object, kind: type[Kind]) -> Kind:
    """Return the value if it is of this type; InputError otherwise."""
    if not isinstance(value, kind):
        raise InputError(f"a {kind.__name__}", f"a {type(value).__name__}")
    return value
