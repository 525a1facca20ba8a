"""The paper's formulas, dense and never optimized: the oracle for every other engine.

Symbols
-------
n  observations at times t_i and places x_i with values y_i and noise variances sigma_i^2
K~ (n, n)   K o D, covariance of f_{t_i}(x_i) with f_{t_j}(x_j)
k~ (n, q)   covariance of f_{t_i}(x_i) with f_t at q places
"""

import numpy as np

from heliotrope.domains import Places
from heliotrope.posterior.protocol import Surface
from heliotrope.posterior.spacetime import RecordingEngine
from heliotrope.precision import USUAL, Precision
from heliotrope.validation import Array


class ReferenceEngine(RecordingEngine):
    """eq:mu_update and eq:sigma_update for any time kernel and any order of times."""

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        self._records.append(*self._records.close(key), y, self._noise(precision))

    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        """Posterior mean (eq:mu_update) and variance (eq:sigma_update) of f_t at places."""
        k = self._model.block(self._records.t, self._records.places, t, places, part)
        mean = self._model.mean_at(places, part) + k.T @ self._weights()
        times, at = self._records.evaluations(count_open)
        k = self._model.block(times, at, t, places, part)
        explained = np.sum(k * np.linalg.solve(self._noisy(count_open), k), axis=0)
        return mean, np.maximum(self._model.variance(places, t, part) - explained, 0.0)

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        others = places if others is None else others
        times, at = self._records.evaluations(count_open=False)
        k, there = (self._model.block(times, at, t, X, part) for X in (places, others))
        explained = k.T @ np.linalg.solve(self._noisy(count_open=False), there)
        return self._model.same_time(places, others, t, part) - explained

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood (appendix sec:OPT_EPS)."""
        data = self._records
        residual = data.y - self._model.prior.mean_at(data.places)
        _, log_determinant = np.linalg.slogdet(self._noisy(count_open=False))
        quadratic = residual @ self._weights()
        return float(-0.5 * (quadratic + log_determinant + len(data.y) * np.log(2 * np.pi)))

    def surface(self, t: float) -> Surface:
        return self._surface(t, self._weights())

    def _weights(self) -> Array:
        """(K~ + diag(sigma_i^2))^{-1} (y - m), the coefficients of the mean."""
        data = self._records
        residual = data.y - self._model.prior.mean_at(data.places)
        return np.asarray(np.linalg.solve(self._noisy(count_open=False), residual))
