"""W-DBO's memory (Bardou et al. 2024): evaluations that the future posterior would miss.

The distance of two posteriors is the 2-Wasserstein distance at a place and a time, squared and
summed over the places of the domain and all time to come. It is bounded from above by taking
|sigma_1^2 - sigma_2^2| for (sigma_1 - sigma_2)^2, as in the paper. Without evaluation i both
posteriors differ along one vector alone, p_i, so all distances come from one inverse:

    mean:      a_i / P_ii  k~(x, t) . p_i           variance:  (k~(x, t) . p_i)^2 / P_ii

    distance_i^2 = (a_i^2 / P_ii^2 + 1 / P_ii) p_i^T C p_i

Symbols
-------
n  evaluations held        P (n, n)  inverse of the measurements' covariance, p_i its columns
a  (n,) P (y - m)          C (n, n)  sum over places and integral over future times of k~ k~^T
"""

from __future__ import annotations

from math import log1p

import numpy as np
from scipy.stats.qmc import Sobol

from heliotrope.domains import Domain, Finite, Places
from heliotrope.errors import InputError
from heliotrope.linalg import inverse
from heliotrope.memory.regression import Told
from heliotrope.posterior.dense import reach
from heliotrope.posterior.records import Records
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Forgetting, Prior, Static, TimeKernel, correlation
from heliotrope.serialization.state import State
from heliotrope.validation import Array

_FEWEST = 2  # evaluations that are always kept, as in the authors' own code
_MOST_PROBES = 256  # places that the sum over space is taken at
_FASTEST = 1e3  # a function new within a thousandth of a unit of time is new
_MOMENTS = 256  # future times of an integral without a closed form


class Relevant:
    """The evaluations of which none can go within the budget.

    The budget grows by the factor 1 + ``alpha`` in the time in which the function is forgotten,
    and each evaluation that goes takes the factor 1 + its distance, relative to the posterior's
    distance from the prior. There are never more than ``most``.
    """

    def __init__(self, prior: Prior, domain: Domain, alpha: float, most: int) -> None:
        self._model = SpaceTime(prior, domain)
        self._records = Records(self._model.no_places)
        self._probes = _probes(domain)
        self._growth, self._most = log1p(alpha) * _forgetting_rate(prior.time), most
        self._log_budget, self._now = 0.0, np.inf  # the clock starts with the first evaluation

    def add(self, t: float, place: Places, y: float, now: float) -> None:
        """Take an evaluation, and spend the budget that has grown since the latest."""
        self._records.append(t, place, y)
        self._log_budget += self._growth * max(now - self._now, 0.0)
        self._now = now
        self._prune()

    def told(self, t: float) -> Told:
        """Return all that is held."""
        data = self._records
        ones = np.ones(len(data.t))
        return Told(data.t, data.places, data.y, ones, ones)

    def width_weights(self, t: float, times: Array) -> Array:
        """Every open evaluation would count."""
        return np.ones(len(times))

    def state(self) -> State:
        """Everything the store holds, as arrays."""
        return {"budget": np.array([self._log_budget, self._now])} | self._records.state()

    def restore(self, state: State) -> None:
        """Become the store whose :meth:`state` this was."""
        self._log_budget, self._now = state["budget"].tolist()
        self._records.restore(state)

    def _prune(self) -> None:
        data = self._records
        if len(data.t) <= _FEWEST:
            return
        losses = Losses(self._model, data, self._now, self._probes)
        kept = np.arange(len(data.t))
        while len(kept) > _FEWEST:
            missed = losses.distances()
            least = int(missed.argmin())
            price = log1p(float(missed[least]))
            if price >= self._log_budget and len(kept) <= self._most:
                break
            self._log_budget = max(self._log_budget - price, 0.0)
            losses.remove(least)
            kept = np.delete(kept, least)
        if len(kept) < len(data.t):
            data.keep(kept)


class Losses:
    """How far the posterior moves without each of some evaluations."""

    def __init__(self, model: SpaceTime, data: Records, now: float, probes: Places) -> None:
        self._P = inverse(model.noisy(data.t, data.places))
        self._residual = data.y - model.prior.mean_at(data.places)
        at_probes = model.space.block(data.places, probes)
        self._C = (at_probes @ at_probes.T) * _future(model.prior.time, now - data.t)

    def distances(self) -> Array:
        """Distances (n,), relative to the posterior's own from the prior."""
        P, C = self._P, self._C
        a, diagonal = P @ self._residual, P.diagonal()
        overlap = np.einsum("ij,ij->i", P @ C, P)
        squares = (a**2 / diagonal + 1.0) * overlap / diagonal
        from_prior = float(a @ C @ a + np.sum(P * C))
        if from_prior <= 0.0:  # all is forgotten
            return np.zeros(len(a))
        distances: Array = np.sqrt(np.maximum(squares, 0.0) / from_prior)
        return distances

    def remove(self, i: int) -> None:
        """Go on without an evaluation: P loses p_i p_i^T / P_ii, and its row and column."""
        others = np.delete(np.arange(len(self._P)), i)
        inner, p = np.ix_(others, others), self._P[others, i]
        self._P = self._P[inner] - np.outer(p, p) / self._P[i, i]
        self._C, self._residual = self._C[inner], self._residual[others]


def _future(time: TimeKernel, ages: Array) -> Array:
    """Integral over u >= 0 of c(u + age_i) c(u + age_j), (n, n), up to a factor."""
    if isinstance(time, (Static, Forgetting)):
        left = time.rho**ages
        return np.outer(left, left)
    u, weights = _moments(time)
    c = correlation(time, u + ages[:, None])
    return (c * weights) @ c.T


def _forgetting_rate(time: TimeKernel) -> float:
    """1 / the integral of c(u) / c(0) over u >= 0; -log rho where c(u) = rho^u."""
    if isinstance(time, Static):
        return 0.0
    if isinstance(time, Forgetting):
        return -log1p(-time.epsilon) / 2.0 if time.epsilon < 1.0 else _FASTEST
    u, weights = _moments(time)
    c = correlation(time, u)
    return float(min(c[0] / (weights @ c), _FASTEST))


def _moments(time: TimeKernel) -> tuple[Array, Array]:
    """Nodes and weights of the trapezoid rule over the time that a kernel reaches."""
    far = reach(time)
    if np.isinf(far):
        raise InputError("a time kernel that forgets", str(time))
    u = np.append(0.0, np.geomspace(1e-4 * far, far, _MOMENTS))
    gaps = np.diff(u)
    return u, 0.5 * (np.append(gaps, 0.0) + np.append(0.0, gaps))


def _probes(domain: Domain) -> Places:
    """Places that stand for the whole domain."""
    if isinstance(domain, Finite):
        count = min(len(domain), _MOST_PROBES)
        return np.linspace(0, len(domain) - 1, count).astype(np.intp)
    return domain.scaled(Sobol(domain.dimension, scramble=False).random(_MOST_PROBES))
