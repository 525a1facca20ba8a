"""Log marginal likelihood of priors that are sums of terms, and its gradient.

For one drifting term these are the paper's formulas (appendix sec:OPT_EPS).

Symbols
-------
n      observations, r (n,) = y less the prior mean
m, q   distinct places and distinct times among them
K, D   of each term: (m, m) covariance of the places, (q, q) covariance c(s, t) of the times
C      sum over terms of K o D, repeated for n observations, plus their noise
alpha  C^{-1} r
W      alpha alpha^T - C^{-1}: twice the derivative of the log likelihood by the entries of C
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_solve

from heliotrope.domains import Finite, Places
from heliotrope.errors import InputError, KernelError
from heliotrope.estimation.data import Data, Observations, Panel, episodes, needs_points
from heliotrope.estimation.gradients import TermGradient, in_time_gradient, space_covariance
from heliotrope.estimation.kalman import FilterLikelihood
from heliotrope.estimation.panels import ChainLikelihood, is_chain
from heliotrope.estimation.parameters import parameters, space_theta
from heliotrope.kernels import Tabulated, has_white_noise, native
from heliotrope.lazy import lazy_module
from heliotrope.linalg import inverse_of_factored, jittered_cholesky
from heliotrope.priors import Prior
from heliotrope.terms import Term
from heliotrope.validation import Array, Indices

sparse = lazy_module("scipy.sparse")

_MOST = 10_000  # single observations: their matrix must fit into memory
_ADVICE = "Use a part of them, or a Panel if every point was measured at every time."


class _Part(NamedTuple):
    """One term at the distinct ``points``; ``places`` (n,) is the point of each observation."""

    term: Term
    points: Array
    places: Indices
    K: Array
    D: Array


def checked_episodes(prior: object, data: Data) -> list[Observations | Panel]:
    """Return the episodes of the data, after checking that the prior fits them."""
    if not isinstance(prior, Prior):
        raise InputError("a Prior", repr(prior))
    for term in prior.terms:
        if not isinstance(term.space, Tabulated) and has_white_noise(term.space):
            raise KernelError("a kernel without a WhiteKernel", str(term.space), "Learn the noise.")
    parts = episodes(data)
    for part in parts:
        domain = part.domain(prior) if isinstance(part, Panel) else _placed(prior, part)[0]
        prior.kernels_over(domain)
    return parts


def log_likelihood(prior: Prior, data: Data) -> float:
    """Return the log density of the data under the prior, summed over independent episodes.

    Examples
    --------
    >>> import heliotrope as ht
    >>> data = Observations(t=[1, 2], x=[[0.0], [0.5]], y=[0.3, 0.1])
    >>> round(log_likelihood(ht.Prior(time=ht.Forgetting(0.1), noise=0.1), data), 6)
    -1.976954
    """
    return log_density(prior, checked_episodes(prior, data))


def gradient(prior: Prior, data: Data) -> dict[str, float]:
    """Return the derivative of the log likelihood by each free parameter of the prior.

    Kernel parameters, and variances given as numbers, are on a logarithmic scale.

    Examples
    --------
    >>> import heliotrope as ht
    >>> data = Observations(t=[1, 2], x=[[0.0], [0.5]], y=[0.3, 0.1])
    >>> list(gradient(ht.Prior(time=ht.Forgetting(0.1), noise=0.1), data))
    ['drifts.length_scale', 'drifts.epsilon', 'noise']
    """
    parts = checked_episodes(prior, data)
    if any(getattr(term, "epsilon", 0.0) == 1.0 for term in prior.terms):
        raise InputError("epsilon below 1, where the likelihood is differentiable", "epsilon 1")
    names = [parameter.name for parameter in parameters(prior)]
    return dict(zip(names, value_and_gradient(prior, parts)[1].tolist(), strict=True))


def log_density(prior: Prior, parts: list[Observations | Panel]) -> float:
    """Log likelihood of checked episodes."""
    return float(sum(_likelihood(prior, part).value for part in parts))


def value_and_gradient(prior: Prior, parts: list[Observations | Panel]) -> tuple[float, Array]:
    """Log likelihood of checked episodes, and its gradient by the free parameters."""
    likelihoods = (_likelihood(prior, part) for part in parts)  # one in memory at a time
    pairs = [(_gradient(prior, likelihood), likelihood.value) for likelihood in likelihoods]
    return float(sum(value for _, value in pairs)), np.sum([slope for slope, _ in pairs], axis=0)


class _DenseLikelihood:
    """Single observations. K and D of each term are over the distinct places and times."""

    def __init__(self, prior: Prior, data: Observations) -> None:
        n, self._start = len(data.t), float(data.t.min())
        if n > _MOST:
            raise InputError(f"at most {_MOST:,} single observations", f"{n:,}", _ADVICE)
        domain, index = _placed(prior, data)
        self._times, self._at = np.unique(data.t, return_inverse=True)
        self._parts = [self._part(term, domain, index) for term in prior.terms]
        C = np.diag(data.noise(prior.noise))
        for part in self._parts:
            C += _repeated(part.K, part.places) * _repeated(part.D, self._at)
        self._L = jittered_cholesky(C, jitter=0.0)
        self._by_usual = np.where(np.isnan(data.std), 1.0 / data.n, 0.0)  # derivative of the noise
        residual = data.y - prior.mean_at(_mean_places(prior, domain, index))
        self._alpha: Array = cho_solve((self._L, True), residual)
        log_root = np.log(np.diag(self._L)).sum()
        self.value = float(-0.5 * residual @ self._alpha - log_root - 0.5 * n * np.log(2.0 * np.pi))

    def _part(self, term: Term, domain: Finite, index: Indices) -> _Part:
        points, K = space_covariance(term, domain)
        D = term.in_time(self._times[:, None], self._times[None, :], self._start)
        return _Part(term, points, np.zeros_like(index) if term.shared else index, K, D)

    def derivatives(self) -> tuple[list[TermGradient], float]:
        """Derivatives by each term, and by the noise."""
        W = np.outer(self._alpha, self._alpha) - inverse_of_factored(self._L)
        by_terms = [self._derivatives(W, part) for part in self._parts]
        return by_terms, 0.5 * float(np.diag(W) @ self._by_usual)

    def _derivatives(self, W: Array, part: _Part) -> TermGradient:
        by_K = _summed(W * _repeated(part.D, self._at), part.places, len(part.K))
        by_D = _summed(W * _repeated(part.K, part.places), self._at, len(part.D))
        slopes = in_time_gradient(part.term, self._times, self._start)
        return TermGradient(part.points, 0.5 * by_K, 0.5 * np.einsum("st,stp->p", by_D, slopes))


_Likelihood: TypeAlias = _DenseLikelihood | ChainLikelihood | FilterLikelihood


def _likelihood(prior: Prior, episode: Observations | Panel) -> _Likelihood:
    if isinstance(episode, Observations):
        return _DenseLikelihood(prior, episode)
    return (ChainLikelihood if is_chain(prior, episode) else FilterLikelihood)(prior, episode)


def _gradient(prior: Prior, likelihood: _Likelihood) -> Array:
    """Derivatives by the free parameters, in their order."""
    by_terms, by_noise = likelihood.derivatives()
    slopes: list[Array] = []
    for term, by in zip(prior.terms, by_terms, strict=True):
        if len(space_theta(term)):
            by_theta = native(term.space).by_theta(by.points)
            slopes.append(np.einsum("ij,ijp->p", by.by_space, by_theta))
        slopes.append(by.by_time)
    return np.concatenate([*slopes, [by_noise]])


def _repeated(matrix: Array, index: Indices) -> Array:
    """The matrix between all observations, from that between distinct places or times."""
    return matrix.take(index, axis=0).take(index, axis=1)


def _summed(matrix: Array, index: Indices, size: int) -> Array:
    """The transpose of :func:`_repeated`: sums over the observations of the same index."""
    n = len(index)
    indicator = sparse.csc_array((np.ones(n), index, np.arange(n + 1)), shape=(size, n))
    return np.asarray(indicator @ (indicator @ matrix).T).T


def _placed(prior: Prior, data: Observations) -> tuple[Finite, Indices]:
    """The domain of the observations, and their indices in it."""
    tables = [len(term.space.K) for term in prior.terms if isinstance(term.space, Tabulated)]
    if not tables:
        points = data.x if data.x.ndim == 2 else data.x[:, None].astype(float)
        different, index = np.unique(points, axis=0, return_inverse=True)
        return Finite(different), index.ravel()
    if any(needs_points(term) for term in prior.terms):
        raise InputError(
            "either tables or kernels over points", "both", "Use a Panel with points for both."
        )
    indices = data.x.ravel().astype(np.intp)
    whole = data.x.size == len(data.t) and np.all(indices == data.x.ravel())
    if not whole or indices.max() >= tables[0]:
        raise InputError(f"indices (n,) of the table's {tables[0]} points", f"x like {data.x[-1]}")
    return Finite(np.arange(float(tables[0]))), indices


def _mean_places(prior: Prior, domain: Finite, index: Indices) -> Places:
    """Indices for a table; points otherwise, where a mean vector has no order."""
    is_table = any(isinstance(term.space, Tabulated) for term in prior.terms)
    return index if is_table else domain.at(index)
