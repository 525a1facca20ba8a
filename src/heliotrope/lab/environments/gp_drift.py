"""The paper's model: a Gaussian process in space that drifts in time."""

import numpy as np
from threadpoolctl import ThreadpoolController

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.timed import as_horizon
from heliotrope.linalg import low_rank_root
from heliotrope.priors import Forgetting, Prior, Static
from heliotrope.validation import Array, as_whole

_BLAS = ThreadpoolController()  # the number of threads changes the rounding of sums
_ROOT_TOLERANCE = 1e-10
_MOST_POINTS = 10_000


class GPDrift:
    """The paper's model (eq:tv_model0, eq:tv_model) over a Finite domain.

    f_1 = g_1, f_{t+1} = rho f_t + sqrt(1 - rho^2) g_{t+1}, with rho = sqrt(1 - epsilon) and
    independent g_i ~ GP(0, k), around the prior's mean; measured with the prior's noise.

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
        if not isinstance(prior, Prior) or not isinstance(prior.time, (Static, Forgetting)):
            raise InputError("a Prior with a Static or Forgetting time", repr(prior))
        self._domain, self._prior, self._rho = domain, prior, prior.time.rho
        K = prior.over(domain).block(domain.indices, domain.indices)
        self._mean = prior.mean_at(domain.indices)
        with _BLAS.limit(limits=1):
            self._root = low_rank_root(K, _ROOT_TOLERANCE * float(K.diagonal().max()))

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
        steps = as_horizon(horizon, len(self._domain))
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), steps])
        values = self._independent(steps, rng)
        for t in range(1, steps):
            values[t] *= np.sqrt(1.0 - self._rho**2)
            values[t] += self._rho * values[t - 1]
        values += self._mean
        noise = rng.normal(scale=np.sqrt(self._prior.noise), size=steps)
        return FiniteEpisode(self._domain, values, noise)

    def _independent(self, steps: int, rng: np.random.Generator) -> Array:
        """Draw g_1 .. g_T, (T, M)."""
        draws = rng.standard_normal((steps, self._root.shape[1]))
        with _BLAS.limit(limits=1):
            drawn: Array = draws @ self._root.T
        return drawn


def _kind(domain: object) -> str:
    return f"{len(domain)} points" if isinstance(domain, Finite) else repr(domain)
