"""Tracking over a box: functions that are expansions over a dictionary of visited points.

The kernel is separable, so f_t at the visited points is a Markov state: any other point adds only
a part that is independent of the past. Mean and explained covariance are expansions over those
points, and time scales their weights. This is the kernel recursive least-squares tracker of
Van Vaerenbergh et al. (2012). It stores weights, which the noise bounds, rather than function
values, which would need the inverse of an ill-conditioned kernel matrix.

Symbols
-------
n      dictionary points B (n, d)
alpha  (n,) weights of the mean, m_t(x) = m0 + k(x, B) alpha
Q      (n, n) weights of what is explained, Cov_t(x, x') = a_t k(x, x') - k(x, B) Q k(B, x'),
       where a_t is 1, except for a Wiener process, where it grows
gamma  (n,) weights of an open evaluation's covariance with f_t(x), k(x, B) gamma
"""

import numpy as np

from heliotrope.domains import Box, Places
from heliotrope.linalg import most_relevant, projection
from heliotrope.posterior.markov import MarkovEngine
from heliotrope.posterior.protocol import Surface, checked_variance
from heliotrope.posterior.spacetime import Expansion, SpaceTime
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State
from heliotrope.validation import Array

_NEGLIGIBLE = 1e-8  # loss of a point, relative to the variance, that is negligible
_CANCELS = 1e-2  # k Q k may cancel to this share of the variance if the noise is very small
_SLACK = 0.9  # share of the budget that a pruning keeps, so that prunings are rare


class BoxEngine(MarkovEngine):
    """The dictionary tracker over a Box, for Static, Forgetting and Wiener times.

    It is exact until more than ``budget`` distinct points have been visited. Then the points with
    the least effect on the posterior are projected onto the others.
    """

    def __init__(self, prior: Prior, domain: Box, budget: int = 400) -> None:
        self._model = SpaceTime(prior, domain)
        super().__init__(prior)
        self._budget = self._limit = budget
        self._B = np.empty((0, domain.dimension))
        self._alpha, self._Q = np.empty(0), np.empty((0, 0))

    def open(self, key: int, t: float, place: Places) -> None:
        """Open an evaluation, and add its point to the dictionary if it is new.

        Cov(f_t(x), f_t(b_j)) = a_t k(x, b_j) - k(x, B) Q k(B, b_j), so
        gamma = a_t e_j - Q k(B, b_j).
        """
        decay, scale = self._decay(t), self._scale(t)
        prior_variance = scale * float(self._model.kernels[0].diagonal(place)[0])
        k = self._model.kernels[0].block(self._B, place)[:, 0]
        gamma = -(decay**2) * (self._Q @ k)
        variance = checked_variance(prior_variance + float(k @ gamma), prior_variance, _CANCELS)
        self._advance(t, decay)
        mean = float(self._model.prior.mean_at(place)[0] + k @ self._alpha)
        with_others = self._pending.covariances(k)
        j = self._find(place)
        if j is None:
            j, gamma = self._join(place), np.append(gamma, 0.0)
        gamma[j] += scale
        self._pending.add(key, gamma, mean, variance, with_others)
        if len(self._B) > self._limit:
            self._prune()

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        gain, z, density = self._pending.condition(key, y, precision.noise(self._model.prior.noise))
        self._alpha += gain * z
        self._Q += np.outer(gain, gain)
        self.log_likelihood += density

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        decay, k = self._decay(t), self._model.kernels[0].block(self._B, places)
        explained = decay**2 * np.einsum("nq,nq->q", k, self._explained(count_open) @ k)
        prior_variance = self._scale(t) * self._model.kernels[0].diagonal(places)
        variance = np.maximum(prior_variance - explained, 0.0)
        return self._model.prior.mean_at(places) + decay * (self._alpha @ k), variance

    def covariance(self, t: float, places: Places, *, part: str | None = None) -> Array:
        decay, k = self._decay(t), self._model.kernels[0].block(self._B, places)
        prior = self._scale(t) * self._model.kernels[0].block(places, places)
        return prior - decay**2 * (k.T @ self._Q @ k)

    def surface(self, t: float) -> Surface:
        decay, Q = self._decay(t), self._explained(count_open=True)
        alpha, scale = decay * self._alpha, self._scale(t)
        weights = (decay**2 * Q)[None, :, None, :]
        return Expansion(
            self._model.prior, self._model.kernels, self._B, alpha[None], weights, np.array([scale])
        )

    def state(self) -> State:
        own = {"limit": np.array(self._limit), "B": self._B, "alpha": self._alpha, "Q": self._Q}
        return own | super().state()

    def restore(self, state: State) -> None:
        super().restore(state)
        self._limit = int(state["limit"])
        self._B, self._alpha, self._Q = (state[name].copy() for name in ("B", "alpha", "Q"))

    def _explained(self, count_open: bool) -> Array:
        if not (count_open and len(self._pending)):
            return self._Q
        told = self._pending.as_if_told(self._model.prior.noise)
        return self._Q + told.T @ told

    def _shrink(self, decay: float) -> None:
        self._alpha *= decay
        self._Q *= decay**2

    def _find(self, place: Places) -> int | None:
        same = np.flatnonzero((place == self._B).all(axis=1))
        return int(same[0]) if len(same) else None

    def _join(self, place: Places) -> int:
        """Add a point with weight 0."""
        n = len(self._B)
        Q = np.zeros((n + 1, n + 1))
        Q[:n, :n] = self._Q
        self._Q, self._alpha = Q, np.append(self._alpha, 0.0)
        self._B = np.concatenate([self._B, place])
        self._pending.transform(lambda gammas: np.pad(gammas, [(0, 0), (0, 1)]))
        return n

    def _prune(self) -> None:
        """Project the points with the least effect on the posterior onto the others.

        Open evaluations count as observed; otherwise their points would be removed first.
        """
        K = self._model.kernels[0].block(self._B, self._B)
        most = int(_SLACK * self._budget)
        kept = most_relevant(K, self._alpha, self._explained(count_open=True), most, _NEGLIGIBLE)
        self._limit = min(self._budget, 2 * len(kept))
        T = projection(K, kept)
        self._B, self._alpha, self._Q = self._B[kept], T @ self._alpha, T @ self._Q @ T.T
        self._pending.transform(lambda gammas: gammas @ T.T)
