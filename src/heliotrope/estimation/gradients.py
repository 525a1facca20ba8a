"""Derivatives with respect to a term: its kernel matrix, and its time parameters.

Symbols
-------
c(s, t)    covariance in time      q  time parameters of the term
A(dt)      exp(F dt), the transition of a Markov term's state of p blocks
S(t)       prior covariance of the blocks
"""

from typing import NamedTuple

import numpy as np

from heliotrope.domains import Finite
from heliotrope.kernels import Tabulated, native
from heliotrope.terms import Drifts, Level, MarkovTerm, Season, Smooth, Stationary, Term, Walks
from heliotrope.validation import Array

_FORGETTING = (Drifts, Level, Season)


class TermGradient(NamedTuple):
    """Derivatives by a term's kernel matrix over ``points`` (m, d), and by its time parameters."""

    points: Array
    by_space: Array
    by_time: Array


def space_covariance(term: Term, domain: Finite) -> tuple[Array, Array]:
    """The points (m, d) of a term and its K (m, m); one point if all places share the term."""
    points = domain.points[:1] if term.shared else domain.points
    return points, term.space.K if isinstance(term.space, Tabulated) else term.space(points)


def in_time_gradient(term: Term, times: Array, start: float) -> Array:
    """Derivatives (n, n, q) of c between all pairs of times."""
    if isinstance(term, Stationary):
        return native(term.time).by_theta(times[:, None])
    s, t = times[:, None], times[None, :]
    dt = np.abs(s - t)
    if isinstance(term, Walks):
        slope = np.maximum(np.minimum(s, t) - start, 0.0)
    elif isinstance(term, Smooth):
        slope = _by_length(term, dt)
    elif isinstance(term, _FORGETTING):
        slope = dt * _log_rho_gradient(term.epsilon) * term.in_time(s, t, start)
    else:
        return np.empty((*dt.shape, 0))
    return np.asarray(slope[:, :, None])


def generator_gradient(term: MarkovTerm) -> Array:
    """Derivative (p, p) of F by the term's rate; zero for a random walk."""
    if isinstance(term, Smooth):
        return -term.generator / term.length
    by_rate = _log_rho_gradient(term.epsilon) if isinstance(term, _FORGETTING) else 0.0
    return by_rate * np.eye(term.order)


def spread_gradient(term: MarkovTerm, t: float, start: float) -> Array:
    """Derivative (p, p) of S(t) by the term's rate; zero except for a random walk."""
    return np.eye(term.order) * (max(t - start, 0.0) if isinstance(term, Walks) else 0.0)


def _log_rho_gradient(epsilon: float) -> float:
    """Derivative of log rho by epsilon; NaN where it is infinite."""
    return -0.5 / (1.0 - epsilon) if epsilon < 1.0 else np.nan


def _by_length(term: Smooth, dt: Array) -> Array:
    r = term.rate * dt
    series = r**2 if term.nu == 1.5 else r**2 * (1.0 + r) / 3.0
    return np.asarray(series * np.exp(-r) / term.length)
