"""Worlds drawn from a prior: the paper's drifting Gaussian process, or a sum of Markov terms.

Symbols
-------
T  horizon      M  points      r  rank of a kernel matrix K      p  blocks of a term's state
u (p, M)  state      A (p, p)  transition      S (p, p)  prior covariance
Q (p, p)  covariance of the innovation
F (M, r)  root of K, F F^T = K
"""

from collections.abc import Iterator

import numpy as np
from threadpoolctl import ThreadpoolController

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.timed import as_horizon
from heliotrope.linalg import low_rank_root
from heliotrope.priors import Prior
from heliotrope.terms import MarkovTerm, Term
from heliotrope.validation import Array, as_whole

_BLAS = ThreadpoolController()  # the number of threads changes the rounding of sums
_ROOT_TOLERANCE = 1e-10
_MOST_POINTS = 10_000


class GPDrift:
    """The paper's model (eq:tv_model0, eq:tv_model) over a Finite domain, or a sum of terms.

    f_1 = g_1, f_{t+1} = rho f_t + sqrt(1 - rho^2) g_{t+1}, with rho = sqrt(1 - epsilon) and
    independent g_i ~ GP(0, k), around the prior's mean; measured with the prior's noise. The other
    Markov terms of :mod:`heliotrope.terms` follow similar recursions. A sum is drawn term by term.
    Every step has the same cost.

    Examples
    --------
    >>> import heliotrope as ht
    >>> world = GPDrift(ht.grid(20, 20), ht.Prior(time=ht.Forgetting(0.01)))
    >>> world.episode(horizon=30, seed=0).values.shape
    (30, 400)
    """

    def __init__(self, domain: Finite, prior: Prior) -> None:
        if not isinstance(domain, Finite) or len(domain) > _MOST_POINTS:
            raise InputError(f"a Finite domain of at most {_MOST_POINTS} points", _kind(domain))
        if not isinstance(prior, Prior):
            raise InputError("a Prior", repr(prior))
        self._domain, self._prior = domain, prior
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
        steps, rng = self._begin(horizon, seed)
        values = np.zeros((steps, len(self._domain)))
        for process in self._processes:
            values += process.draw(steps, rng)
        values += self._mean
        noise = rng.normal(scale=np.sqrt(self._prior.noise), size=steps)
        return FiniteEpisode(self._domain, values, noise)

    def parts(self, horizon: int, seed: int) -> dict[str, Array]:
        """Return the parts (T, M) of an episode by name; they and the mean sum to its values."""
        steps, rng = self._begin(horizon, seed)
        parts: dict[str, Array] = {}
        for term, process in zip(self._prior.terms, self._processes, strict=True):
            parts[term.name] = parts.get(term.name, 0.0) + process.draw(steps, rng)
        return parts

    def _begin(self, horizon: int, seed: int) -> tuple[int, np.random.Generator]:
        blocks = max(process.order for process in self._processes)
        steps = as_horizon(horizon, len(self._domain) * blocks)
        return steps, np.random.default_rng([as_whole(seed, "seed", least=0), steps])


class _Process:
    """One term over all points: u_1 ~ S(1) k, u_{t+1} = A u_t + N(0, Q k), g_t = h(t) . u_t."""

    def __init__(self, term: Term, K: Array) -> None:
        if not isinstance(term, MarkovTerm):
            raise InputError(
                "Markov terms, such as Drifts",
                f"the term {term.name}, a {type(term).__name__}",
                "Use Smooth for a Matern kernel over time.",
            )
        self._term, self.order = term, term.order
        with _BLAS.limit(limits=1):
            self._F = low_rank_root(K, _ROOT_TOLERANCE * float(K.diagonal().max()))

    def draw(self, steps: int, rng: np.random.Generator) -> Array:
        """Draw g_1 .. g_T, (T, M)."""
        states = self._states(self._independent(steps, rng))
        return np.array([self._term.seen(t) @ u for t, u in enumerate(states, start=1)])

    def _states(self, independent: Array) -> Iterator[Array]:
        """Turn independent draws (T, p, M) of the space kernel into u_1 .. u_T."""
        A, S = self._term.transition(1.0), self._term.spread(1.0, 1.0)
        innovation = _root(self._term.spread(2.0, 1.0) - A @ S @ A.T)
        u = _root(S) @ independent[0]
        yield u
        for drawn in independent[1:]:
            u = A @ u + innovation @ drawn
            yield u

    def _independent(self, steps: int, rng: np.random.Generator) -> Array:
        draws = rng.standard_normal((steps * self.order, self._F.shape[1]))
        with _BLAS.limit(limits=1):
            drawn: Array = draws @ self._F.T
        return drawn.reshape(steps, self.order, -1)


def _root(Q: Array) -> Array:
    """R with R R^T = Q, a small covariance that may be singular."""
    values, vectors = np.linalg.eigh(Q)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _kind(domain: object) -> str:
    return f"{len(domain)} points" if isinstance(domain, Finite) else repr(domain)
