"""The free parameters of a prior: their names, their values, and priors with other values.

A term has the free parameters of its space kernel, on scikit-learn's logarithmic scale; if the
kernel is a number, its logarithm. It has at most one kind of time parameter: ``epsilon``,
``length``, ``growth``, or the logarithms of a time kernel's parameters. The prior's noise comes
last. A season's period and a trend's origin and unit are not free.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import exp
from typing import Any

import numpy as np

from heliotrope.kernels import Kernel, Tabulated
from heliotrope.priors import Prior
from heliotrope.terms import NOISE_PART, Level, Stationary, Term
from heliotrope.validation import Array

TERM_RATES = ("epsilon", "length", "growth")
KINDS = ("space", *TERM_RATES, "time", NOISE_PART)


@dataclass(frozen=True)
class FreeParameter:
    """A free parameter: its full name such as ``drifts.epsilon``, its kind, and its term's name."""

    name: str
    kind: str
    term: str
    bounds: tuple[float, float] | None = None  # of a kernel's parameter

    @property
    def is_variance(self) -> bool:
        """Whether it is the noise, or a factor of its term's variance."""
        is_factor = self.kind == "space" and self.name.endswith(("constant_value", ".variance"))
        return is_factor or self.kind == "noise"

    @property
    def groups(self) -> set[str]:
        """The names under which the parameter can be learned."""
        return {self.name, self.kind, self.term}


def rate_of(term: Term) -> str | None:
    """The name of a term's rate: epsilon, length or growth."""
    return next((name for name in TERM_RATES if hasattr(term, name)), None)


def parameters(prior: Prior) -> list[FreeParameter]:
    """The free parameters of a prior, in the order of :func:`parameter_values`."""
    named = zip(prior.terms, term_names(prior), strict=True)
    return [
        *chain.from_iterable(_of_term(term, name) for term, name in named),
        FreeParameter(NOISE_PART, NOISE_PART, NOISE_PART),
    ]


def parameter_values(prior: Prior) -> Array:
    """The values of the free parameters; those of kernels are logarithms."""
    parts = [np.concatenate([space_theta(term), _time_values(term)]) for term in prior.terms]
    return np.concatenate([*parts, [prior.noise]])


def with_parameter_values(prior: Prior, values: Array) -> Prior:
    """Return a prior with other values of its free parameters; unchanged terms are reused."""
    terms, rest = [], values
    for term in prior.terms:
        theta, time = space_theta(term), _time_values(term)
        new_theta, new_time, rest = np.split(rest, np.cumsum([len(theta), len(time)]))
        changes: dict[str, Any] = {}
        if not np.array_equal(theta, new_theta):
            changes |= _kernel_change(term, new_theta)
        if not np.array_equal(time, new_time):
            changes |= _time_change(term, new_time)
        terms.append(replace(term, **changes) if changes else term)
    return Prior(terms=terms, noise=float(rest[0]), mean=prior.mean)


def space_theta(term: Term) -> Array:
    """The logarithms of the free parameters of a term's kernel; none for a table."""
    return np.empty(0) if isinstance(term.space, Tabulated) else np.asarray(term.space.theta)


def _of_term(term: Term, name: str) -> Iterator[FreeParameter]:
    if isinstance(term.kernel, float):
        yield FreeParameter(f"{name}.variance", "space", term.name)
    elif not isinstance(term.kernel, Tabulated):
        yield from _of_kernel(term.kernel, name, "space", term.name)
    if isinstance(term, Stationary):
        yield from _of_kernel(term.time, f"{name}.time", "time", term.name)
    rate = rate_of(term)
    if rate is not None:
        yield FreeParameter(f"{name}.{rate}", rate, term.name)


def _of_kernel(kernel: Kernel, prefix: str, kind: str, term: str) -> Iterator[FreeParameter]:
    limits = iter(np.reshape(kernel.bounds, (-1, 2)).tolist())
    for hyperparameter in kernel.hyperparameters:
        for i in range(0 if hyperparameter.fixed else hyperparameter.n_elements):
            index = f"[{i}]" if hyperparameter.n_elements > 1 else ""
            low, high = next(limits)
            yield FreeParameter(f"{prefix}.{hyperparameter.name}{index}", kind, term, (low, high))


def _time_values(term: Term) -> Array:
    if isinstance(term, Stationary):
        return np.asarray(term.time.theta)
    rate = rate_of(term)
    return np.empty(0) if rate is None else np.array([getattr(term, rate)])


def _kernel_change(term: Term, theta: Array) -> dict[str, Any]:
    if isinstance(term, Level):
        return {"variance": exp(theta[0])}
    if isinstance(term.kernel, float):
        return {"kernel": exp(theta[0])}
    assert not isinstance(term.kernel, Tabulated)  # which has no parameters
    return {"kernel": term.kernel.clone_with_theta(theta)}


def _time_change(term: Term, values: Array) -> dict[str, Any]:
    if isinstance(term, Stationary):
        return {"time": term.time.clone_with_theta(values)}
    return {str(rate_of(term)): float(values[0])}


def term_names(prior: Prior) -> list[str]:
    """The names of the terms; repeated names are numbered, such as ``season[0]``."""
    counts, seen = Counter(term.name for term in prior.terms), Counter[str]()
    names = []
    for term in prior.terms:
        repeated = counts[term.name] > 1
        names.append(f"{term.name}[{seen[term.name]}]" if repeated else term.name)
        seen[term.name] += 1
    return names
