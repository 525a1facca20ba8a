"""Any time kernel: a Cholesky factor that gains a row with each observation.

Symbols
-------
n  observations        L (n, n)  factor of K o D + diag(sigma_i^2)
z  (n,) L^{-1} (y - m), the standardized innovations in the order told
"""

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import TimeError
from heliotrope.linalg import PackedCholesky, checked_variance, jittered_cholesky, solve_lower
from heliotrope.posterior.protocol import Surface
from heliotrope.posterior.spacetime import RecordingEngine
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State
from heliotrope.terms import Season, Term, Trend, Walks
from heliotrope.validation import Array

_FORGOTTEN = 1e-12  # correlation below which an observation has no direct effect
_LINKS = 3  # it still acts through newer ones; after this many such spans the effect is negligible
_FEWEST = 64


class DenseEngine(RecordingEngine):
    """Exact for any time kernel and any order of times; the cost grows with the observations kept.

    Observations for which the time kernel has decayed to zero are dropped. For a kernel that never
    decays, ``window`` limits the number kept to the newest ``window``, or up to twice as many
    between prunings.
    """

    _stored = (*RecordingEngine._stored, "log_likelihood", "_forgotten", "_z")

    def __init__(self, prior: Prior, domain: Domain, window: int | None = None) -> None:
        super().__init__(prior, domain)
        self._reach, self._window = _LINKS * reach(prior), window
        self._factor, self._z = PackedCholesky(), np.empty(0)
        self.log_likelihood, self._forgotten = 0.0, -np.inf

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        t, place = self._records.get(key)
        noise = self._noise(precision)
        column = self._model.block(self._records.t, self._records.places, t, place)[:, 0]
        variance = float(self._model.variance(place, t)[0])
        row = self._factor.solve(column)
        left = checked_variance(variance - float(row @ row), variance)
        pivot = float(np.sqrt(left + noise))
        z = (y - float(self._model.prior.mean_at(place)[0]) - float(row @ self._z)) / pivot
        self._factor.append(row, pivot)
        self._z = np.append(self._z, z)
        self.log_likelihood -= 0.5 * (z * z + np.log(2.0 * np.pi)) + np.log(pivot)
        self._records.close(key)
        self._records.append(t, place, y, noise)
        self._forget()

    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        W = self._whitened(t, places, part)
        explained = np.einsum("nq,nq->q", W, W)
        if count_open:
            H = self._as_if_told(t, places, W, part)
            explained += np.einsum("oq,oq->q", H, H)
        variance = np.maximum(self._model.variance(places, t, part) - explained, 0.0)
        return self._model.mean_at(places, part) + W.T @ self._z, variance

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        W, others = self._whitened(t, places, part), places if others is None else others
        there = W if others is places else self._whitened(t, others, part)
        return self._model.same_time(places, others, t, part) - W.T @ there

    def surface(self, t: float) -> Surface:
        self._check_remembered(t)
        return self._surface(t, self._factor.solve(self._z, transposed=True))

    def state(self) -> State:
        return {"factor": self._factor.packed} | super().state()

    def restore(self, state: State) -> None:
        super().restore(state)
        self._factor = PackedCholesky(state["factor"])

    def _whitened(self, t: float, places: Places, part: str | None) -> Array:
        """W = L^{-1} k~ (n, q)."""
        self._check_remembered(t)
        data = self._records
        k = self._model.block(data.t, data.places, t, places, part)
        return solve_lower(self._factor.full(), k)

    def _as_if_told(self, t: float, places: Places, W: Array, part: str | None) -> Array:
        """Rows (o, q) that open evaluations would add to W."""
        data, (times, at) = self._records, self._records.open_ones()
        if not len(times):
            return W[:0]
        between = self._model.between(data.t, data.places, times, at)
        W_open = solve_lower(self._factor.full(), between)
        root = jittered_cholesky(self._model.noisy(times, at) - W_open.T @ W_open, jitter=0.0)
        return solve_lower(root, self._model.block(times, at, t, places, part) - W_open.T @ W)

    def _forget(self) -> None:
        """Drop observations without effect once they are half of those kept."""
        data, (waiting, _) = self._records, self._records.open_ones()
        newest = min(float(data.t.max()), *waiting.tolist(), np.inf)
        kept = data.t >= newest - self._reach
        if self._window is not None:
            kept[np.argsort(data.t, kind="stable")[: -self._window]] = False
        elif len(data.t) < _FEWEST:
            return
        if 2 * kept.sum() > len(data.t):
            return
        self._forgotten = max(self._forgotten, float(data.t[~kept].max()))
        data.keep(kept)
        self._factor = PackedCholesky.of(self._noisy(count_open=False))
        self._z = self._factor.solve(data.y - self._model.prior.mean_at(data.places))

    def _check_remembered(self, t: float) -> None:
        if t <= self._forgotten:
            raise TimeError(
                f"a time after {self._forgotten:g}, up to which observations were dropped", f"{t:g}"
            )


def reach(prior: Prior) -> float:
    """Return the age beyond which every term of the prior is negligible, or infinity."""
    return max(_reach(term) for term in prior.terms)


def _reach(term: Term) -> float:
    if isinstance(term, (Walks, Trend)):
        return np.inf
    ages = np.geomspace(1e-6, 1e12, 2000)
    c = np.abs(term.in_time(np.append(0.0, ages), np.zeros(())))
    if isinstance(term, Season):  # between two returns it may vanish
        c = term.rho ** np.append(0.0, ages)
    alive = np.flatnonzero(c[1:] > _FORGOTTEN * c[0])
    if not len(alive):
        return float(ages[0])
    return float(ages[alive[-1] + 1]) if alive[-1] + 1 < len(ages) else np.inf
