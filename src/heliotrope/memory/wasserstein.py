"""W-DBO's memory (Bardou et al. 2024): drop the observations that matter least for the future.

The distance of two posteriors is the 2-Wasserstein distance at a place and a time, squared and
summed over the places of the domain and all future times. The upper bound replaces
(sigma_1 - sigma_2)^2 by |sigma_1^2 - sigma_2^2|, as in the paper. Removing observation i changes
the posterior along a single vector p_i, so all distances come from one inverse:

    mean:      a_i / P_ii  k~(x, t) . p_i           variance:  (k~(x, t) . p_i)^2 / P_ii

    distance_i^2 = (a_i^2 / P_ii^2 + 1 / P_ii) p_i^T C p_i

Symbols
-------
n  observations held       P (n, n)  inverse of the measurements' covariance, p_i its columns
a  (n,) P (y - m)          C (n, n)  sum over places and integral over future times of k~ k~^T
"""

from dataclasses import dataclass, field
from math import log1p

import numpy as np

from heliotrope.domains import Domain, Finite, Places
from heliotrope.errors import InputError
from heliotrope.linalg import inverse
from heliotrope.memory.regression import ObservationStore, RegressionEngine
from heliotrope.memory.resets import OneEpoch
from heliotrope.posterior import Engine, EngineOptions
from heliotrope.posterior.dense import reach
from heliotrope.posterior.spacetime import Records, SpaceTime
from heliotrope.priors import Forgetting, Prior, Static, correlation
from heliotrope.serialization.codec import register
from heliotrope.sobol import sobol
from heliotrope.validation import Array, Checked, as_positive, as_whole, checked

_FEWEST = 2  # observations that are always kept, as in the authors' own code
_MOST_PROBES = 256  # places over which the sum over space is taken
_FASTEST = 1e3  # largest forgetting rate: no faster than within a thousandth of a unit of time
_MOMENTS = 256  # future times of an integral without a closed form


@register
@dataclass(frozen=True)
class Wasserstein(Checked, OneEpoch):
    """Drop the observations whose removal changes the future posterior least (W-DBO).

    Parameters
    ----------
    alpha
        Relative growth of the removal budget within the forgetting time -1 / log(rho).
    most
        Largest number of observations, whatever the budget: a step costs O(most^3).
    """

    alpha: float = field(default=0.25, metadata=checked(as_positive))
    most: int = field(default=200, metadata=checked(as_whole, least=2))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        store = WassersteinStore(prior, domain, self.alpha, self.most)
        return RegressionEngine(prior, domain, options, store)


class WassersteinStore(ObservationStore):
    """The observations that the budget cannot pay to remove, at most ``most``.

    The budget grows by the factor 1 + ``alpha`` within the forgetting time. Removing an
    observation divides it by 1 + the observation's distance, which is relative to the posterior's
    distance from the prior.
    """

    _stored = (*ObservationStore._stored, "_log_budget", "_now")

    def __init__(self, prior: Prior, domain: Domain, alpha: float, most: int) -> None:
        super().__init__(prior, domain)
        self._probes = _probes(domain)
        self._growth, self._most = log1p(alpha) * _forgetting_rate(prior), most
        self._log_budget, self._now = 0.0, np.inf  # the clock starts with the first evaluation

    def add(self, t: float, place: Places, y: float, noise: float, now: float) -> None:
        """Add an observation, let the budget grow, and remove what it can pay for."""
        super().add(t, place, y, noise, now)
        self._log_budget += self._growth * max(now - self._now, 0.0)
        self._now = now
        self._prune()

    def _prune(self) -> None:
        data = self._records
        if len(data.t) <= _FEWEST:
            return
        removals = RemovalDistances(self._model, data, self._now, self._probes)
        kept = np.arange(len(data.t))
        while len(kept) > _FEWEST:
            distances = removals.distances()
            least = int(distances.argmin())
            price = log1p(float(distances[least]))
            if price >= self._log_budget and len(kept) <= self._most:
                break
            self._log_budget = max(self._log_budget - price, 0.0)
            removals.remove(least)
            kept = np.delete(kept, least)
        if len(kept) < len(data.t):
            data.keep(kept)


class RemovalDistances:
    """Distance between the posteriors with and without each observation."""

    def __init__(self, model: SpaceTime, data: Records, now: float, probes: Places) -> None:
        self._P = inverse(model.noisy(data.t, data.places, data.noise))
        self._residual = data.y - model.prior.mean_at(data.places)
        at_probes = model.kernels[0].block(data.places, probes)
        self._C = (at_probes @ at_probes.T) * _future(model.prior, now - data.t)

    def distances(self) -> Array:
        """Distances (n,), relative to the posterior's distance from the prior."""
        P, C = self._P, self._C
        a, diagonal = P @ self._residual, P.diagonal()
        overlap = np.einsum("ij,ij->i", P @ C, P)
        squares = (a**2 / diagonal + 1.0) * overlap / diagonal
        from_prior = float(a @ C @ a + np.sum(P * C))
        if from_prior <= 0.0:  # everything is forgotten
            return np.zeros(len(a))
        return np.asarray(np.sqrt(np.maximum(squares, 0.0) / from_prior))

    def remove(self, i: int) -> None:
        """Remove an observation: P loses p_i p_i^T / P_ii, then row and column i."""
        left = np.delete(np.arange(len(self._P)), i)
        inner, p = np.ix_(left, left), self._P[left, i]
        self._P = self._P[inner] - np.outer(p, p) / self._P[i, i]
        self._C, self._residual = self._C[inner], self._residual[left]


def _future(prior: Prior, ages: Array) -> Array:
    """Integral over u >= 0 of c(u + age_i) c(u + age_j), (n, n), up to a factor."""
    time = prior.time
    if isinstance(time, (Static, Forgetting)):
        left = time.rho**ages
        return np.outer(left, left)
    u, weights = _moments(prior)
    c = correlation(time, u + ages[:, None])
    return (c * weights) @ c.T


def _forgetting_rate(prior: Prior) -> float:
    """1 / the integral of c(u) / c(0) over u >= 0; -log rho where c(u) = rho^u."""
    time = prior.time
    if isinstance(time, Static):
        return 0.0
    if isinstance(time, Forgetting):
        return -log1p(-time.epsilon) / 2.0 if time.epsilon < 1.0 else _FASTEST
    u, weights = _moments(prior)
    c = correlation(time, u)
    return float(min(c[0] / (weights @ c), _FASTEST))


def _moments(prior: Prior) -> tuple[Array, Array]:
    """Nodes and weights of the trapezoid rule over the time span of a kernel."""
    far = reach(prior)
    if np.isinf(far):
        raise InputError("a time kernel that forgets", str(prior.time))
    u = np.append(0.0, np.geomspace(1e-4 * far, far, _MOMENTS))
    gaps = np.diff(u)
    return u, 0.5 * (np.append(gaps, 0.0) + np.append(0.0, gaps))


def _probes(domain: Domain) -> Places:
    """Places that represent the whole domain."""
    if isinstance(domain, Finite):
        count = min(len(domain), _MOST_PROBES)
        return np.linspace(0, len(domain) - 1, count).astype(np.intp)
    return domain.scaled(sobol(domain.dimension, _MOST_PROBES))
