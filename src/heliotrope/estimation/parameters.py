"""The free parameters of a prior: their names, their values, and priors with other values.

A term has the free parameters of its kernel, which are scikit-learn's logarithms (for a number as
kernel: its logarithm), and at most one kind of parameter of its behaviour in time: ``epsilon``,
``length``, ``growth``, or the logarithms of a kernel over time. The prior's noise comes last.
A season's period and a trend's origin and unit are given, not free.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import exp
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from heliotrope.kernels import Tabulated
from heliotrope.priors import Prior
from heliotrope.terms import Level, Stationary, Term
from heliotrope.validation import Array

KINDS = ("space", "epsilon", "length", "growth", "time", "noise")
_RATES = ("epsilon", "length", "growth")


@dataclass(frozen=True)
class FreeParameter:
    """A free parameter: its full name such as ``drifts.epsilon``, its kind, and its term's name."""

    name: str
    kind: str
    term: str = ""
    bounds: tuple[float, float] | None = None  # of a kernel's parameter


def rate_of(term: Term) -> str | None:
    """The name of a term's rate: epsilon, length or growth."""
    return next((name for name in _RATES if hasattr(term, name)), None)


def parameters(prior: Prior) -> list[FreeParameter]:
    """The free parameters of a prior, in the order of :func:`parameter_values`."""
    named = zip(prior.terms, _unique_names(prior), strict=True)
    return [*chain.from_iterable(_of_term(*one) for one in named), FreeParameter("noise", "noise")]


def parameter_values(prior: Prior) -> Array:
    """The values of the free parameters; those of kernels are logarithms."""
    parts = [np.concatenate([space_theta(term), _time_values(term)]) for term in prior.terms]
    return np.concatenate([*parts, [prior.noise]])


def with_parameter_values(prior: Prior, values: Array) -> Prior:
    """Return a prior with other values of its free parameters."""
    terms, rest = [], values
    for term in prior.terms:
        count, own = len(space_theta(term)), len(_time_values(term))
        terms.append(_with(term, rest[:count], rest[count : count + own]))
        rest = rest[count + own :]
    return Prior(terms=terms, noise=float(rest[0]), mean=prior.mean)


def space_theta(term: Term) -> Array:
    """The logarithms of the free parameters of a term's kernel; none for a table."""
    return np.empty(0) if isinstance(term.space, Tabulated) else np.asarray(term.space.theta)


def _of_term(term: Term, name: str) -> Iterator[FreeParameter]:
    if not isinstance(term.kernel, (Kernel, Tabulated)):
        yield FreeParameter(f"{name}.variance", "space", term.name)
    elif isinstance(term.kernel, Kernel):
        yield from _of_kernel(term.kernel, name, "space", term.name)
    if isinstance(term, Stationary):
        yield from _of_kernel(term.time, f"{name}.time", "time", term.name)
    rate = rate_of(term)
    if rate is not None:
        yield FreeParameter(f"{name}.{rate}", rate, term.name)


def _of_kernel(kernel: Kernel, prefix: str, kind: str, term: str) -> Iterator[FreeParameter]:
    limits = iter(np.reshape(kernel.bounds, (-1, 2)).tolist())
    for one in kernel.hyperparameters:
        for i in range(0 if one.fixed else one.n_elements):
            index = f"[{i}]" if one.n_elements > 1 else ""
            yield FreeParameter(f"{prefix}.{one.name}{index}", kind, term, tuple(next(limits)))


def _time_values(term: Term) -> Array:
    if isinstance(term, Stationary):
        return np.asarray(term.time.theta)
    rate = rate_of(term)
    return np.empty(0) if rate is None else np.array([getattr(term, rate)])


def _with(term: Term, theta: Array, time: Array) -> Term:
    """A term with other parameters; what stays equal is kept as it is."""
    changes: dict[str, Any] = {}
    if not np.array_equal(theta, space_theta(term)):
        changes |= _kernel_change(term, theta)
    if not np.array_equal(time, _time_values(term)):
        rate = rate_of(term)
        if isinstance(term, Stationary):
            changes["time"] = term.time.clone_with_theta(time)
        elif rate is not None:
            changes[rate] = float(time[0])
    return replace(term, **changes) if changes else term


def _kernel_change(term: Term, theta: Array) -> dict[str, Any]:
    if isinstance(term, Level):
        return {"variance": exp(theta[0])}
    if isinstance(term.kernel, Kernel):
        return {"kernel": term.kernel.clone_with_theta(theta)}
    return {"kernel": exp(theta[0])}


def _unique_names(prior: Prior) -> list[str]:
    """The terms' names; those that several terms have are numbered."""
    counts, seen = Counter(term.name for term in prior.terms), Counter[str]()
    names = []
    for term in prior.terms:
        repeated = counts[term.name] > 1
        names.append(f"{term.name}[{seen[term.name]}]" if repeated else term.name)
        seen[term.name] += 1
    return names
