"""Mutual information between a function and measurements of it (eq:MI_TI, eq:MI, eq:MI2).

Symbols
-------
n        measurements, at times (n,) and places (n,) of a Finite domain
K~       (n, n) covariance of f at those times and places; K where the prior is Static. For a sum of
         terms it is the sum of their covariances.
sigma^2  ``prior.noise``
"""

from dataclasses import dataclass
from math import log, log1p
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.kernels import SpaceKernel, Tabulated
from heliotrope.posterior import Engine, FiniteOptions, build
from heliotrope.posterior.options import check_noise
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Forgetting, Prior
from heliotrope.terms import Drifts, Level, Stays, Term, Trend, Walks
from heliotrope.validation import Array, Indices, as_positive, as_vector, as_whole

Kind = TypeVar("Kind")

_MOST_MEASUREMENTS = 5000  # the eigenvalues of their covariance are computed
LONGEST = 100_000  # steps of a block or a greedy run


@dataclass(frozen=True)
class Corrected:
    """A quantity of the paper, as printed and as its proof gives it (theory.md)."""

    printed: float
    corrected: float


@dataclass(frozen=True)
class DriftInformation:
    """Information that drift adds to gamma_N: as printed, as corrected, and our tight bound."""

    printed: float
    corrected: float
    tight: float


def without_drift(prior: Prior) -> Prior:
    """The same prior without change in time, as in eq:MI_TI and gamma_T."""
    terms = [static_term(term) for term in stationary_terms(prior)]
    return Prior(terms=terms, noise=prior.noise, mean=prior.mean)


def static_term(term: Term) -> Stays:
    """A static term with the variance of a stationary one."""
    return Stays(_scaled(term.space, variance_in_time(term)))


def variance_in_time(term: Term) -> float:
    """c(0) of a stationary term."""
    return float(term.in_time(np.zeros(()), np.zeros(())))


def _scaled(space: SpaceKernel, factor: float) -> SpaceKernel:
    if factor == 1.0:
        return space
    return Tabulated(factor * space.K) if isinstance(space, Tabulated) else factor * space


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
    options = FiniteOptions() if expect(prior, Prior).is_markov else None
    return build(prior, expect(domain, Finite), options)


def information(variance: ArrayLike, noise: float) -> Array:
    """Information of one measurement of a value with this variance: 1/2 log(1 + v / sigma^2)."""
    with np.errstate(divide="ignore"):  # log 0 for zero variance
        return np.asarray(0.5 * np.logaddexp(0.0, np.log(variance) - log(noise)))


def joint_information(K: Array, noise: float) -> Array:
    """1/2 log det(I + sigma^-2 K) of covariances (..., n, n), from their eigenvalues."""
    eigenvalues = np.maximum(np.linalg.eigvalsh(K), 0.0)
    return np.asarray(information(eigenvalues, noise).sum(axis=-1))


def drift_information(length: int, epsilon: float, noise: float) -> DriftInformation:
    """Information that drift adds within N steps: gamma~_N <= gamma_N + this (eq:weakened2).

    Printed: N^3 epsilon, which is false for small noise. Corrected by the same argument with the
    noise: (N / 2) log(1 + sqrt(N (N^2 - 1) / 6) epsilon / sigma^2). Either can be the smaller one.
    Tight: 1/2 sum_i log(1 + (1 - (1 - epsilon)^|i - m|) / sigma^2) around the middle m of the
    block, never above the corrected one.

    Examples
    --------
    >>> found = drift_information(38, epsilon=0.01, noise=0.01)
    >>> round(found.printed, 1), round(found.corrected, 1), round(found.tight, 1)
    (548.7, 86.8, 40.1)
    """
    N, drift = as_whole(length, "a block's length", least=1), Forgetting(epsilon).epsilon
    if N > LONGEST:
        raise InputError(f"a block of at most {LONGEST} steps", f"{N:g}")
    forms = drift_added(N, drift, as_positive(noise, "noise"))
    return DriftInformation(*(float(form[-1]) for form in forms))


def drift_added(longest: int, epsilon: float, noise: float) -> tuple[Array, Array, Array]:
    """Its three forms for blocks of N = 1 .. ``longest`` steps, (longest,) each; k(x, x) <= 1."""
    N = np.arange(1.0, longest + 1.0)
    shift = np.sqrt(N * (N**2 - 1.0) / 6.0) * epsilon  # of one eigenvalue
    rate = log1p(-min(epsilon, 1.0 - 2.0**-53))
    unexplained = -np.expm1(rate * middle_lags(longest))  # 1 - (1 - epsilon)^|i - m|
    return N**3 * epsilon, N * information(shift, noise), added_by_change(unexplained, noise)


def middle_lags(longest: int) -> Array:
    """Distances |i - m| of steps from the middle of their block: 0, 1, 1, 2, 2, ...

    The first N of them are those of a block of N steps.
    """
    return np.asarray((np.arange(longest) + 1) // 2, dtype=float)


def added_by_change(unexplained: Array, noise: float) -> Array:
    """1/2 sum_i log(1 + v_i / sigma^2) over the first N steps, for N = 1 .. n.

    v_i (n,), in the order of :func:`middle_lags`, bounds the variance of f_i given f_m.
    """
    return np.cumsum(information(unexplained, noise))


def _measurements(
    domain: Finite, places: ArrayLike, times: ArrayLike | None
) -> tuple[Indices, Array]:
    where = expect(domain, Finite).places(places)
    given = np.arange(1.0, len(where) + 1.0) if times is None else times
    when = as_vector(given, "times")
    if when.shape != where.shape:
        raise InputError(f"{len(where)} times, one per place", f"{len(when)}")
    return where, when


def is_still(prior: Prior) -> bool:
    """Whether no term of a stationary prior changes with time."""
    return all(
        isinstance(term, Stays) or (isinstance(term, (Drifts, Level)) and term.epsilon == 0.0)
        for term in stationary_terms(prior)
    )


def stationary_terms(prior: Prior) -> tuple[Term, ...]:
    """The terms of a prior whose covariance depends only on differences of time."""
    for term in expect(prior, Prior).terms:
        if isinstance(term, (Walks, Trend)):
            raise InputError(
                "terms whose variance does not change with time",
                f"the term {term.name}, a {type(term).__name__}",
                "The argument for blocks needs stationary terms. mutual_information takes any.",
            )
    return prior.terms


def expect(value: object, kind: type[Kind]) -> Kind:
    """Return the value if it is of this type; InputError otherwise."""
    if not isinstance(value, kind):
        raise InputError(f"a {kind.__name__}", f"a {type(value).__name__}")
    return value
