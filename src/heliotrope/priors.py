"""Priors: sums of terms, with noise and mean.

The paper's model (eq:tv_model0, eq:tv_model) is a sum of one term: a space kernel k times a time
kernel, Cov[f_s(x), f_t(x')] = c(|s - t|) k(x, x') with c(dt) = rho^dt and rho = sqrt(1 - epsilon).
A static function has c = 1. Only Wiener is not stationary: c(s, t) = 1 + rate (min(s, t) - t0).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Domain, Finite, Places, are_indices
from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import (
    RBF,
    ConstantKernel,
    DomainKernel,
    PointKernel,
    SpaceKernel,
    is_space_kernel,
)
from heliotrope.serialization.codec import register
from heliotrope.terms import (
    CHOICE,
    NOISE_PART,
    SHARED,
    Drifts,
    MarkovTerm,
    Stationary,
    Stays,
    Term,
    Walks,
)
from heliotrope.validation import (
    Array,
    Checked,
    as_array,
    as_number,
    as_positive,
    as_share,
    checked,
    short_repr,
)

CANDIDATE_EPSILONS = tuple(np.geomspace(1e-4, 0.3, 7))
"""Candidates for an unknown epsilon."""
EXACT_MEASUREMENTS = "For exact measurements use a ten-thousandth of the function's variance."
LEAST_NOISE = 1e-10  # share of the variance of f: below it, repeats at a place are singular
LEAST_NOISE_IN_A_BOX = 1e-5  # weights are as large as 1 / noise, and pruning must stay accurate


def noise_floor(variance: float, share: float = LEAST_NOISE_IN_A_BOX) -> float:
    """The least noise variance for which computations are stable, given the variance of f.

    A user's prior with less noise is refused. The noise of a learned model, and of a single result,
    is raised to it. Learned models have the floor of the box engine over every domain.
    """
    return share * variance


@register
@dataclass(frozen=True)
class Static:
    """The function does not change: c(dt) = 1."""

    rho: ClassVar[float] = 1.0


@register
@dataclass(frozen=True)
class Forgetting(Checked):
    """The paper's drift: in each unit of time a share ``epsilon`` of the function is replaced.

    ``rho`` = sqrt(1 - epsilon) is the correlation over one unit of time.

    Examples
    --------
    >>> Forgetting(0.19).rho
    0.9
    """

    epsilon: float = field(metadata=checked(as_share, zero=True, one=True))

    @property
    def rho(self) -> float:
        return float(np.sqrt(1.0 - self.epsilon))


@register
@dataclass(frozen=True)
class Wiener(Checked):
    """A random walk (Brunzema et al. 2022): f_{t + dt} = f_t + N(0, rate dt k).

    The posterior mean does not revert to the prior mean, unlike under Forgetting. The variance
    grows by ``rate`` times k per unit of time. At t0, the time of the first evaluation, f has the
    space kernel's covariance; before t0 it is constant.

    Examples
    --------
    >>> Wiener(0.02).rate
    0.02
    """

    rate: float = field(metadata=checked(as_positive))
    rho: ClassVar[float] = 1.0


TimeKernel: TypeAlias = "Static | Forgetting | Wiener | PointKernel"


@register
@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """A time-varying Gaussian process with measurement noise: one term, or a sum of terms.

    Parameters
    ----------
    space
        A kernel of :mod:`heliotrope.kernels`, any scikit-learn kernel, or
        :class:`~heliotrope.kernels.Tabulated`.
    time
        :class:`Static`, :class:`Forgetting`, :class:`Wiener`, or any stationary kernel over time.
    noise
        Variance of the measurement noise, sigma^2.
    mean
        A number, or one number per point of a Finite domain.
    terms
        The terms of a sum (see :mod:`heliotrope.terms`), instead of space and time.

    Examples
    --------
    >>> Prior(RBF(0.2), Forgetting(0.01), noise=0.01).noise
    0.01
    >>> Prior(noise=0.01, terms=[Stays(RBF(0.3)), Drifts(RBF(0.2), epsilon=0.02)]).parts()
    ['stays', 'drifts']
    """

    terms: tuple[Term, ...]
    noise: float
    mean: float | Array

    def __init__(
        self,
        space: SpaceKernel | None = None,
        time: TimeKernel | None = None,
        noise: float = 0.01,
        mean: float | ArrayLike = 0.0,
        *,
        terms: Iterable[Term] | None = None,
    ) -> None:
        object.__setattr__(self, "terms", _chosen_terms(space, time, terms))
        object.__setattr__(self, "noise", _as_noise(noise))
        object.__setattr__(self, "mean", _as_mean(mean))

    @property
    def space(self) -> SpaceKernel:
        """The space kernel of a prior with one term."""
        return _only_term(self).space

    @property
    def time(self) -> TimeKernel:
        """The time kernel of a prior with one term."""
        return _time(_only_term(self))

    def with_time(self, time: TimeKernel) -> Prior:
        """Return this prior of one term with another time kernel."""
        return Prior(self.space, time, self.noise, self.mean)

    def with_space(self, space: SpaceKernel) -> Prior:
        """Return this prior of one term with another space kernel."""
        return Prior(space, self.time, self.noise, self.mean)

    def negated(self) -> Prior:
        """Return the prior of values with the opposite sign."""
        return Prior(terms=self.terms, noise=self.noise, mean=-self.mean)

    @property
    def is_markov(self) -> bool:
        """Whether the future depends on the past only through the present state."""
        return all(isinstance(term, MarkovTerm) for term in self.terms)

    @property
    def is_static(self) -> bool:
        """Whether all terms are static."""
        return all(isinstance(term, Stays) for term in self.terms)

    @cached_property
    def is_partly_shared(self) -> bool:
        """Whether all places share some terms, but not all of them."""
        return len({term.shared for term in self.terms}) == 2

    def over(self, domain: Domain) -> DomainKernel:
        """Return the space kernel of a prior with one term, checked against a domain."""
        _only_term(self)
        return self.kernels_over(domain)[0]

    def kernels_over(self, domain: Domain) -> list[DomainKernel]:
        """Return the space kernel of each term, checked against a domain."""
        _check_mean(self.mean, domain)
        return [DomainKernel(term.space, domain) for term in self.terms]

    def mean_at(self, places: Places) -> Array:
        """Prior mean at places."""
        if not isinstance(self.mean, np.ndarray):
            return np.full(len(places), self.mean)
        if not are_indices(places):
            raise InputError(
                "points of the domain, because the prior mean is a vector over it",
                "other points",
                "Use a prior whose mean is a number.",
            )
        return np.asarray(self.mean[places])

    def parts(self) -> list[str]:
        """Return the names of the parts: those of the terms, without repetition."""
        return list(dict.fromkeys(term.name for term in self.terms))

    def shares(self, domain: Domain, t: float = 0.0, start: float = 0.0) -> dict[str, float]:
        """Return the share of each part, and of the noise, in the variance of a result at time t.

        The variances are averages over the domain. Random walks begin at the time ``start``.

        Examples
        --------
        >>> import heliotrope as ht
        >>> prior = Prior(noise=0.1, terms=[Stays(0.6 * RBF(0.3)), ht.terms.Level(0.3)])
        >>> {name: round(share, 3) for name, share in prior.shares(ht.grid(5)).items()}
        {'stays': 0.6, 'level': 0.3, 'noise': 0.1}
        """
        variances, now = dict.fromkeys(self.parts(), 0.0), np.array(t)
        for term, kernel in zip(self.terms, self.kernels_over(domain), strict=True):
            variances[term.name] += kernel.mean_variance * float(term.in_time(now, now, start))
        variances[NOISE_PART] = self.noise
        total = sum(variances.values())
        return {name: variance / total for name, variance in variances.items()}

    def selects(self, part: str | None) -> list[bool]:
        """Return, for each term, whether it belongs to a part; None selects all terms.

        :data:`~heliotrope.terms.CHOICE` selects the terms that differ between places. If all places
        share every term, it selects all of them. :data:`~heliotrope.terms.SHARED` selects the rest.
        """
        if not (part is None or isinstance(part, str)):
            raise InputError("the name of a part", short_repr(part), "", "part")
        if part is None:
            return [True] * len(self.terms)
        if part == CHOICE:
            whole = all(term.shared for term in self.terms)
            return [whole or not term.shared for term in self.terms]
        if part == SHARED:
            return [term.shared and self.is_partly_shared for term in self.terms]
        if part in self.parts():
            return [term.name == part for term in self.terms]
        names = ", ".join((*self.parts(), CHOICE))
        raise InputError(f"a part among {names}", short_repr(part), "", "part")

    def __repr__(self) -> str:
        terms = f"terms={self.terms!r}"
        if _is_separable(self.terms):
            terms = f"space={self.space!r}, time={self.time!r}"
        return f"Prior({terms}, noise={self.noise!r}, mean={self.mean!r})"


_SEPARABLE = (Stays, Drifts, Walks, Stationary)


def _is_separable(terms: Sequence[Term]) -> bool:
    return len(terms) == 1 and isinstance(terms[0], _SEPARABLE)


def _only_term(prior: Prior) -> Term:
    """The term of a prior with one space and one time kernel."""
    if not _is_separable(prior.terms):
        raise InputError(
            "a prior with one space and one time kernel",
            f"the sum {' + '.join(term.name for term in prior.terms)}",
            "A policy that does not change the prior, such as TV-GP-UCB, takes sums.",
        )
    return prior.terms[0]


def _as_noise(noise: object) -> float:
    level = as_number(noise, "noise")
    if level <= 0.0:
        raise InputError("a positive noise variance", repr(noise), EXACT_MEASUREMENTS)
    return level


def _as_mean(mean: float | ArrayLike) -> float | Array:
    """A number, or an array of one number for each point."""
    flat = isinstance(mean, (int, float, np.number)) or np.ndim(mean) == 0
    return as_number(mean, "mean") if flat else as_array(mean, "mean", ndim=1)


def _check_mean(mean: float | Array, domain: Domain) -> None:
    """Refuse a mean vector over another domain than a Finite one of its length."""
    fits = isinstance(domain, Finite) and len(domain) == np.size(mean)
    if isinstance(mean, np.ndarray) and not fits:
        raise InputError(
            "a mean vector over a Finite domain, one value per point",
            f"{len(mean)} values for "
            + (f"{len(domain)} points" if isinstance(domain, Finite) else "a Box"),
        )


def _chosen_terms(
    space: SpaceKernel | None, time: TimeKernel | None, terms: Iterable[Term] | None
) -> tuple[Term, ...]:
    chosen = _as_terms((_term(RBF(0.2), Static()),) if terms is None else terms)
    if terms is not None and space is not None and time is not None:
        raise InputError("either terms, or a space and a time kernel", "all three")
    if space is not None or time is not None:  # dataclasses.replace passes terms as well
        return (_with(chosen, space, time),)
    return chosen


def _with(terms: tuple[Term, ...], space: SpaceKernel | None, time: TimeKernel | None) -> Term:
    """Return the only term with another space or time kernel."""
    if len(terms) > 1 or not isinstance(terms[0], _SEPARABLE):
        raise InputError("either terms, or a space and a time kernel", "both")
    return _term(
        terms[0].space if space is None else space, _time(terms[0]) if time is None else time
    )


def _time(term: Term) -> TimeKernel:
    """Return the time kernel of a term."""
    if isinstance(term, Stationary):
        return term.time
    if isinstance(term, Drifts):
        return Forgetting(term.epsilon)
    return Wiener(term.growth) if isinstance(term, Walks) else Static()


def _term(space: SpaceKernel, time: TimeKernel) -> Term:
    """Return the term of a space and a time kernel."""
    if not is_space_kernel(space):
        raise KernelError("space to be a kernel or Tabulated(K)", repr(space))
    if isinstance(time, Static):
        return Stays(space)
    if isinstance(time, Forgetting):
        return Drifts(space, time.epsilon)
    return Walks(space, time.rate) if isinstance(time, Wiener) else Stationary(space, time=time)


def _as_terms(terms: object) -> tuple[Term, ...]:
    several = tuple(terms) if isinstance(terms, Iterable) else (terms,)
    wrong = [term for term in several if not isinstance(term, Term)]
    if wrong or not several:
        raise InputError(
            "terms such as Stays(kernel) and Drifts(kernel, epsilon)",
            short_repr(wrong[0]) if wrong else "none",
            "See heliotrope.terms.",
            "terms",
        )
    return several


def correlation(time: TimeKernel, dt: Array) -> Array:
    """c(dt) of a stationary time kernel; c(0) scales the variance."""
    if isinstance(time, Wiener):
        raise InputError("a stationary time kernel", str(time), "Use Static or Forgetting.")
    return _term(ConstantKernel(), time).in_time(np.asarray(dt), np.zeros(()))
