"""Pairs (time, place): the covariance of f between them, records of them, surfaces from them."""

import numpy as np

from heliotrope.domains import Domain, Finite, Places
from heliotrope.errors import InputError
from heliotrope.posterior.protocol import Surface
from heliotrope.priors import Prior, Wiener, covariance_in_time
from heliotrope.serialization.codec import State
from heliotrope.validation import Array


class SpaceTime:
    """A prior over a domain: Cov[f_s(x), f_t(x')] = c(s, t) k(x, x').

    ``start`` is the time at which a Wiener process begins: the first time the engine sees.
    """

    def __init__(self, prior: Prior, domain: Domain) -> None:
        self.prior = prior
        self.space = prior.over(domain)
        self.start = np.inf
        self.no_places: Places = (
            np.empty(0, dtype=np.intp)
            if isinstance(domain, Finite)
            else np.empty((0, domain.dimension))
        )

    def begin(self, t: float) -> None:
        self.start = min(self.start, t)

    def in_time(self, s: Array, t: Array | float) -> Array:
        """Return c(s, t) for times that broadcast."""
        return covariance_in_time(self.prior.time, s, np.asarray(t), self.start)

    def block(self, times: Array, places: Places, t: float, at: Places) -> Array:
        """Covariance (n, q) of f at (times, places) with f_t at places (the paper's k~)."""
        return self.space.block(places, at) * self.in_time(times, t)[:, None]

    def noisy(self, times: Array, places: Places) -> Array:
        """Covariance (n, n) of measurements (the paper's K o D + sigma^2 I)."""
        D = self.in_time(times[:, None], times[None, :])
        return self.space.block(places, places) * D + self.prior.noise * np.eye(len(times))

    def same_time(self, places: Places, t: float | None = None) -> Array:
        """Covariance (q, q) of f_t between places; only a Wiener process depends on the time."""
        return self.space.block(places, places) * self.scale(t)

    def variance(self, places: Places, t: float | None = None) -> Array:
        """Prior variances (q,) of f_t."""
        return self.space.diagonal(places) * self.scale(t)

    def scale(self, t: float | None = None) -> float:
        """c(t, t): 1 unless the time kernel has an amplitude or grows."""
        if t is None and isinstance(self.prior.time, Wiener):
            raise InputError("a stationary time kernel for this engine", str(self.prior.time))
        return float(self.in_time(np.array([t or 0.0]), t or 0.0)[0])


class Records:
    """Observations (t, place, y) in the order told, and open evaluations."""

    def __init__(self, no_places: Places) -> None:
        self.t, self.places, self.y = np.empty(0), no_places, np.empty(0)
        self._open: dict[int, tuple[float, Places]] = {}

    def open(self, key: int, t: float, place: Places) -> None:
        self._open[key] = (t, place)

    def close(self, key: int) -> tuple[float, Places]:
        """Remove an open evaluation and return its time and place."""
        return self._open.pop(key)

    def get(self, key: int) -> tuple[float, Places]:
        return self._open[key]

    @property
    def open_keys(self) -> list[int]:
        return list(self._open)

    def append(self, t: float, place: Places, y: float) -> None:
        self.t = np.append(self.t, t)
        self.places = np.concatenate([self.places, place])
        self.y = np.append(self.y, y)

    def keep(self, chosen: Places) -> None:
        self.t, self.places, self.y = self.t[chosen], self.places[chosen], self.y[chosen]

    def open_ones(self) -> tuple[Array, Places]:
        """Times and places of the open evaluations."""
        times = np.array([t for t, _ in self._open.values()])
        places = [place for _, place in self._open.values()]
        return times, np.concatenate([self.places[:0], *places])

    def evaluations(self, count_open: bool) -> tuple[Array, Places]:
        """Times and places of the observations, followed by those of open evaluations."""
        if not count_open:
            return self.t, self.places
        times, places = self.open_ones()
        return np.append(self.t, times), np.concatenate([self.places, places])

    def state(self) -> State:
        times, places = self.open_ones()
        return {
            "t": self.t,
            "places": self.places,
            "y": self.y,
            "open_keys": np.array(self.open_keys, dtype=np.int64),
            "open_t": times,
            "open_places": places,
        }

    def restore(self, state: State) -> None:
        self.t, self.places, self.y = state["t"], state["places"], state["y"]
        columns = state["open_keys"].tolist(), state["open_t"].tolist(), state["open_places"]
        self._open = {key: (t, place[None]) for key, t, place in zip(*columns, strict=True)}


class Expansion:
    """A surface that is an expansion over points B.

    mean(x) = m0 + k(x, B) alpha;  var(x) = scale k(x, x) - k(x, B) Q k(B, x).
    """

    def __init__(self, model: SpaceTime, B: Array, alpha: Array, Q: Array, scale: float) -> None:
        self._prior, self._space = model.prior, model.space
        self._B, self._alpha, self._Q, self._scale = B, alpha, Q, scale

    def value(self, X: Array) -> tuple[Array, Array]:
        k = self._space.block(X, self._B)
        explained = np.einsum("qn,qn->q", k @ self._Q, k)
        variance = np.maximum(self._scale * self._space.diagonal(X) - explained, 0.0)
        return self._prior.mean_at(X) + k @ self._alpha, variance

    def promising_points(self, count: int) -> Array:
        mean = self._space.block(self._B, self._B) @ self._alpha
        best = np.argsort(-mean, kind="stable")[: count // 2]
        return np.concatenate([self._B[best], self._B[-(count - count // 2) :]])

    def gradient(self, X: Array) -> tuple[Array, Array]:
        dk = self._space.gradient(X, self._B)
        weights = self._space.block(X, self._B) @ self._Q
        slope = self._scale * self._space.diagonal_gradient(X)
        return (
            np.einsum("qnd,n->qd", dk, self._alpha),
            slope - 2.0 * np.einsum("qnd,qn->qd", dk, weights),
        )


class RecordingEngine:
    """The shared part of engines that record every evaluation, in any order of times."""

    def __init__(self, prior: Prior, domain: Domain) -> None:
        self._model = SpaceTime(prior, domain)
        self._records = Records(self._model.no_places)

    def open(self, key: int, t: float, place: Places) -> None:
        self._model.begin(t)
        self._records.open(key, t, place)

    def cancel(self, key: int) -> None:
        self._records.close(key)

    def state(self) -> State:
        return {"start": np.array(self._model.start)} | self._records.state()

    def restore(self, state: State) -> None:
        self._records.restore(state)
        self._model.start = float(state.get("start", np.inf))

    def _surface(self, t: float, alpha: Array) -> Surface:
        """Return the surface of f_t, given the coefficients (n,) of the observations."""
        times, at = self._records.evaluations(count_open=True)
        inverse = np.asarray(np.linalg.inv(self._model.noisy(times, at)))
        return expansion(self._model, t, times, at, alpha, inverse)


def expansion(
    model: SpaceTime, t: float, times: Array, places: Places, alpha: Array, inverse: Array
) -> Expansion:
    """Return the surface of f_t from the coefficients alpha of the first of some evaluations.

    ``inverse`` is that of the covariance of all of them.
    """
    d, padded = model.in_time(times, t), np.zeros(len(times))
    padded[: len(alpha)] = alpha
    return Expansion(model, places, d * padded, d[:, None] * inverse * d, model.scale(t))
