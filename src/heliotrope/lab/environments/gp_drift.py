"""Worlds drawn from a prior: the paper's drifting Gaussian process, or any sum of terms.

Symbols
-------
T  horizon      M  points      r  rank of a kernel matrix K      p  blocks of a term's state
u (p, M)  state      A (p, p)  transition      S (p, p)  prior covariance
Q (p, p)  covariance of the innovation
F (M, r)  root of K, F F^T = K      C (T, T)  covariance in time of a term that is not Markov
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.timed import as_horizon, as_times
from heliotrope.linalg import low_rank_root
from heliotrope.priors import Prior
from heliotrope.terms import MarkovTerm, Term
from heliotrope.validation import Array, as_whole

_BLAS = ThreadpoolController()  # the number of threads changes the rounding of sums
_ROOT_TOLERANCE = 1e-10
_MOST_POINTS = 10_000
_MOST_DENSE_STEPS = 3_000  # their covariance in time is decomposed


class GPDrift:
    """The paper's model (eq:tv_model0, eq:tv_model) over a Finite domain, or any sum of terms.

    f_1 = g_1, f_{t+1} = rho f_t + sqrt(1 - rho^2) g_{t+1}, with rho = sqrt(1 - epsilon) and
    independent g_i ~ GP(0, k), around the prior's mean; measured with the prior's noise. The other
    Markov terms of :mod:`heliotrope.terms` follow similar recursions, at the same cost for every
    step. A term with another stationary time kernel is drawn from its covariance over all times. A
    sum is drawn term by term.

    ``times`` are the increasing real-valued times of the steps, by default 1, 2, 3, ... An episode
    has the first of them.

    Examples
    --------
    >>> import heliotrope as ht
    >>> world = GPDrift(ht.grid(20, 20), ht.Prior(time=ht.Forgetting(0.01)))
    >>> world.episode(horizon=30, seed=0).values.shape
    (30, 400)
    >>> uneven = GPDrift(ht.grid(5), ht.Prior(time=ht.Forgetting(0.01)), times=[0.5, 2.0, 2.1])
    >>> uneven.episode(horizon=2, seed=0).times
    array([0.5, 2. ])
    """

    def __init__(self, domain: Finite, prior: Prior, times: ArrayLike | None = None) -> None:
        if not isinstance(domain, Finite) or len(domain) > _MOST_POINTS:
            raise InputError(f"a Finite domain of at most {_MOST_POINTS} points", _kind(domain))
        if not isinstance(prior, Prior):
            raise InputError("a Prior", repr(prior))
        self._domain, self._prior = domain, prior
        self._times = None if times is None else as_times(times, np.size(times))
        kernels = prior.kernels_over(domain)
        self._mean = prior.mean_at(domain.indices)
        self._processes = [
            _Process(term, kernel.block(domain.indices, domain.indices))
            for term, kernel in zip(prior.terms, kernels, strict=True)
        ]

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._domain

    @property
    def noise(self) -> float:
        """Variance of the measurement noise."""
        return self._prior.noise

    def episode(self, horizon: int, seed: int) -> FiniteEpisode:
        """Draw a world of ``horizon`` steps; another horizon gives another world."""
        times, rng = self._begin(horizon, seed)
        values = np.zeros((len(times), len(self._domain)))
        for process in self._processes:
            values += process.draw(times, rng)
        values += self._mean
        noise = rng.normal(scale=np.sqrt(self._prior.noise), size=len(times))
        return FiniteEpisode(self._domain, values, noise, times)

    def parts(self, horizon: int, seed: int) -> dict[str, Array]:
        """Return the parts (T, M) of an episode by name; they and the mean sum to its values."""
        times, rng = self._begin(horizon, seed)
        parts: dict[str, Array] = {}
        for term, process in zip(self._prior.terms, self._processes, strict=True):
            parts[term.name] = parts.get(term.name, 0.0) + process.draw(times, rng)
        return parts

    def _begin(self, horizon: int, seed: int) -> tuple[Array, np.random.Generator]:
        blocks = max(process.order for process in self._processes)
        steps = as_horizon(horizon, len(self._domain) * blocks)
        if not self._prior.is_markov and steps > _MOST_DENSE_STEPS:
            raise InputError(
                f"a horizon of at most {_MOST_DENSE_STEPS} steps for terms that are not Markov",
                str(steps),
            )
        if self._times is not None and steps > len(self._times):
            raise InputError(f"a horizon of at most the {len(self._times)} times", str(steps))
        times = as_times(None, steps) if self._times is None else self._times[:steps]
        return times, np.random.default_rng([as_whole(seed, "seed", least=0), steps])


class _Process:
    """One term over all points: u ~ S k, u_{t+dt} = A(dt) u_t + N(0, Q(dt) k), g_t = h(t) . u_t."""

    def __init__(self, term: Term, K: Array) -> None:
        self._term = term
        self.order = term.order if isinstance(term, MarkovTerm) else 1
        with _BLAS.limit(limits=1):
            self._F = low_rank_root(K, _ROOT_TOLERANCE * float(K.diagonal().max()))

    def draw(self, times: Array, rng: np.random.Generator) -> Array:
        """Draw g at times (T,), (T, M)."""
        independent = self._independent(len(times), rng)
        if not isinstance(self._term, MarkovTerm):
            return self._correlated(times, independent[:, 0])
        states = _states(self._term, times.tolist(), independent)
        return np.array([self._term.seen(t) @ u for t, u in zip(times, states, strict=True)])

    def _correlated(self, times: Array, independent: Array) -> Array:
        """Turn independent draws (T, M) of the space kernel into draws of the term."""
        root = _root(self._term.in_time(times[:, None], times[None, :], float(times[0])))
        with _BLAS.limit(limits=1):
            return np.asarray(root @ independent)

    def _independent(self, steps: int, rng: np.random.Generator) -> Array:
        draws = rng.standard_normal((steps * self.order, self._F.shape[1]))
        with _BLAS.limit(limits=1):
            drawn: Array = draws @ self._F.T
        return drawn.reshape(steps, self.order, -1)


def _states(term: MarkovTerm, times: list[float], independent: Array) -> Iterator[Array]:
    """Turn independent draws (T, p, M) of the space kernel into the states at the times."""
    start = times[0]

    @cache
    def step(dt: float) -> tuple[Array, Array]:
        A, S = term.transition(dt), term.spread(start, start)
        return A, _root(term.spread(start + dt, start) - A @ S @ A.T)

    u = _root(term.spread(start, start)) @ independent[0]
    yield u
    for dt, drawn in zip(np.diff(times).tolist(), independent[1:], strict=True):
        A, innovation = step(dt)
        u = A @ u + innovation @ drawn
        yield u


def _root(Q: Array) -> Array:
    """R with R R^T = Q, a small covariance that may be singular."""
    values, vectors = np.linalg.eigh(Q)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _kind(domain: object) -> str:
    return f"{len(domain)} points" if isinstance(domain, Finite) else repr(domain)
