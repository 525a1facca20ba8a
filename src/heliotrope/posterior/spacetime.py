"""Pairs (time, place): the covariance of f between them, records of them, surfaces from them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from heliotrope.domains import Domain, Finite, Places
from heliotrope.kernels import DomainKernel
from heliotrope.posterior.protocol import EXACT, Accuracy, HasSurface, Posterior, Surface
from heliotrope.precision import Precision
from heliotrope.priors import LEAST_NOISE, Prior, noise_floor
from heliotrope.serialization.codec import Stored
from heliotrope.terms import CHOICE, SHARED, Term
from heliotrope.validation import Array

_LEAST_SHARED = 1e-300  # variance of what all places share: a trend is 0 at its origin


class SpaceTime(Stored):
    """A prior over a domain: Cov[f_s(x), f_t(x')] = sum_c c_c(s, t) k_c(x, x').

    ``start`` is the time at which a random walk begins: the first time the engine sees. A ``part``
    of f is the sum of some terms only.
    """

    _stored = ("start",)

    def __init__(self, prior: Prior, domain: Domain) -> None:
        self.prior = prior
        self.kernels = prior.kernels_over(domain)
        self.start, self._domain = np.inf, domain
        self.variances = same_variances(self.kernels)
        self.no_places: Places = (
            np.empty(0, dtype=np.intp)
            if isinstance(domain, Finite)
            else np.empty((0, domain.dimension))
        )

    def least_noise(self, share: float) -> float:
        """The noise floor of an engine with a share, for the largest variance of f."""
        domain = self._domain
        anywhere = domain.indices if isinstance(domain, Finite) else domain.lower[None, :]
        variances = [kernel.diagonal(anywhere) for kernel in self.kernels]
        return noise_floor(float(np.sum(variances, axis=0).max()), share)

    @property
    def one_place(self) -> Places:
        """Any place, for what all places share."""
        domain = self._domain
        return domain.indices[:1] if isinstance(domain, Finite) else domain.lower[None, :]

    def begin(self, t: float) -> None:
        self.start = min(self.start, t)

    def selected(self, part: str | None) -> list[tuple[Term, DomainKernel]]:
        """The terms of a part, each with its kernel."""
        chosen = zip(self.prior.terms, self.kernels, self.prior.selects(part), strict=True)
        return [(term, kernel) for term, kernel, is_selected in chosen if is_selected]

    def between(
        self, s: Array, places: Places, t: Array, at: Places, part: str | None = None
    ) -> Array:
        """Covariance (n, q) of f at (s, places) with a part of f at (t, at)."""
        total = np.zeros((len(places), len(at)))
        for term, kernel in self.selected(part):
            total += kernel.block(places, at) * term.in_time(s[:, None], t[None, :], self.start)
        return total

    def block(
        self, times: Array, places: Places, t: float, at: Places, part: str | None = None
    ) -> Array:
        """Covariance (n, q) of f at (times, places) with f_t at places (the paper's k~)."""
        return self.between(times, places, np.array([t]), at, part)

    def noisy(self, times: Array, places: Places, noise: Array | None = None) -> Array:
        """Covariance (n, n) of measurements (the paper's K o D + sigma^2 I).

        ``noise`` (n,) are their noise variances, by default the prior's.
        """
        covariance = self.between(times, places, times, places)
        covariance[np.diag_indices(len(times))] += self.prior.noise if noise is None else noise
        return covariance

    def same_time(self, places: Places, others: Places, t: float, part: str | None = None) -> Array:
        """Covariance of f_t between places (q,) and others."""
        return self.block(np.full(len(places), t), places, t, others, part)

    def variance(self, places: Places, t: float, part: str | None = None) -> Array:
        """Prior variances (q,) of f_t."""
        total = np.zeros(len(places))
        for term, kernel in self.selected(part):
            total += kernel.diagonal(places) * self.scale(term, t)
        return total

    def scale(self, term: Term, t: float) -> float:
        """c(t, t) of a term."""
        return float(term.in_time(np.array(t), np.array(t), self.start))

    def mean_at(self, places: Places, part: str | None = None) -> Array:
        """The prior mean at places; only the whole and the part "choice" include it."""
        return self.prior.mean_at(places) if part in (None, CHOICE) else np.zeros(len(places))


class Records(Stored):
    """Observations (t, place, y, noise variance) in the order told, and open evaluations."""

    _stored = ("t", "places", "y", "noise", "_open_t", "_open_places")

    def __init__(self, no_places: Places) -> None:
        self.t, self.places, self.y, self.noise = np.empty(0), no_places, np.empty(0), np.empty(0)
        self._open_t: dict[int, float] = {}
        self._open_places: dict[int, Places] = {}

    def open(self, key: int, t: float, place: Places) -> None:
        self._open_t[key], self._open_places[key] = t, place

    def close(self, key: int) -> tuple[float, Places]:
        """Remove an open evaluation and return its time and place."""
        return self._open_t.pop(key), self._open_places.pop(key)

    def get(self, key: int) -> tuple[float, Places]:
        return self._open_t[key], self._open_places[key]

    @property
    def open_keys(self) -> list[int]:
        return list(self._open_t)

    def append(self, t: float, place: Places, y: float, noise: float) -> None:
        self.t = np.append(self.t, t)
        self.places = np.concatenate([self.places, place])
        self.y, self.noise = np.append(self.y, y), np.append(self.noise, noise)

    def keep(self, chosen: Places) -> None:
        self.t, self.places = self.t[chosen], self.places[chosen]
        self.y, self.noise = self.y[chosen], self.noise[chosen]

    def open_ones(self) -> tuple[Array, Places]:
        """Times and places of the open evaluations."""
        times = np.array(list(self._open_t.values()))
        return times, np.concatenate([self.places[:0], *self._open_places.values()])

    def evaluations(self, count_open: bool) -> tuple[Array, Places]:
        """Times and places of the observations, followed by those of open evaluations."""
        if not count_open:
            return self.t, self.places
        times, places = self.open_ones()
        return np.append(self.t, times), np.concatenate([self.places, places])


class Expansion:
    """A surface that is an expansion over points B, for the part of f that a choice depends on.

    mean(x) = m0 + sum_c k_c(x, B) alpha_c
    var(x) = sum_c s_c k_c(x, x) - sum_cd k_c(x, B) Q_cd k_d(B, x)

    Symbols: C kernels k_c, n points B, alpha (C, n), Q (C, n, C, n), s (C,).
    """

    def __init__(
        self, prior: Prior, kernels: list[DomainKernel], B: Array, alpha: Array, Q: Array, s: Array
    ) -> None:
        self._prior, self._kernels, self._B = prior, kernels, B
        self._alpha, self._Q, self._s = alpha.ravel(), Q.reshape(alpha.size, alpha.size), s
        same = same_variances(kernels)
        self._variance = None if same is None else float(s @ same)

    def value(self, X: Array) -> tuple[Array, Array]:
        k = self._features(X)
        explained = np.einsum("qn,qn->q", k @ self._Q, k)
        variance = np.maximum(self._prior_variance(X) - explained, 0.0)
        return self._prior.mean_at(X) + k @ self._alpha, variance

    def promising_points(self, count: int) -> Array:
        mean = self._features(self._B) @ self._alpha
        best = np.argsort(-mean, kind="stable")[: count // 2]
        return np.concatenate([self._B[best], self._B[-(count - count // 2) :]])

    def gradient(self, X: Array) -> tuple[Array, Array]:
        dk = _side_by_side([kernel.gradient(X, self._B) for kernel in self._kernels])
        weights = self._features(X) @ self._Q
        slope = np.zeros_like(X)
        for s, kernel in zip(self._s, self._kernels, strict=True):
            slope += s * kernel.diagonal_gradient(X)
        return (
            np.einsum("qnd,n->qd", dk, self._alpha),
            slope - 2.0 * np.einsum("qnd,qn->qd", dk, weights),
        )

    def _features(self, X: Array) -> Array:
        return _side_by_side([kernel.block(X, self._B) for kernel in self._kernels])

    def _prior_variance(self, X: Array) -> Array:
        if self._variance is not None:
            return np.full(len(X), self._variance)
        total: Array = self._s @ np.array([kernel.diagonal(X) for kernel in self._kernels])
        return total


class PredictsParts(Stored, ABC):
    """Predictions of the parts of f, and of what a choice depends on.

    ``least_noise``, a share of the variance of f, is a lower limit for the noise of results.
    """

    def __init__(self, prior: Prior, domain: Domain, least_noise: float = LEAST_NOISE) -> None:
        self._model = SpaceTime(prior, domain)
        self._least = self._model.least_noise(least_noise)

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        """Mean and variance of a part of f_t at places.

        For the part "choice", g, the variance is Var[g] - Cov[g, l]^2 / Var[l]: the one left if l,
        what all places share, is known. Results cannot tell an average of g from l, and that
        doubt, which is the same everywhere, is no reason to measure anywhere.
        """
        mean, variance = self._predict_part(t, places, count_open, part)
        if part != CHOICE or not self._model.prior.is_partly_shared:
            return mean, variance
        whole = self._predict_part(t, places, count_open, None)[1]
        shared = self._predict_part(t, places, count_open, SHARED)[1]
        covariance = 0.5 * (whole - variance - shared)
        explained = np.square(covariance) / np.maximum(shared, _LEAST_SHARED)
        return mean, np.maximum(variance - explained, 0.0)

    @abstractmethod
    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        """Mean and variance of the terms of a part."""

    def _noise(self, precision: Precision) -> float:
        return max(precision.noise(self._model.prior.noise), self._least)


class Delegates(Stored, ABC):
    """An engine whose queries another posterior answers."""

    @abstractmethod
    def _posterior(self, t: float) -> Posterior: ...

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        return self._posterior(t).predict(t, places, count_open=count_open, part=part)

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        return self._posterior(t).covariance(t, places, others, part=part)

    def surface(self, t: float) -> Surface:
        posterior = self._posterior(t)
        assert isinstance(posterior, HasSurface)
        return posterior.surface(t)

    def for_acquisition(self, t: float) -> Posterior:
        """The posterior whose bounds the acquisition uses at time t."""
        return self._posterior(t)


def for_acquisition(posterior: Posterior, t: float) -> Posterior:
    """Return the posterior whose bounds the acquisition uses at time t, usually itself."""
    return posterior.for_acquisition(t) if isinstance(posterior, Delegates) else posterior


class RecordingEngine(PredictsParts):
    """The shared part of engines that record every evaluation, in any order of times."""

    _stored: tuple[str, ...] = ("_model", "_records")

    def __init__(self, prior: Prior, domain: Domain) -> None:
        super().__init__(prior, domain)
        self._records = Records(self._model.no_places)

    def open(self, key: int, t: float, place: Places) -> None:
        self._model.begin(t)
        self._records.open(key, t, place)

    def cancel(self, key: int) -> None:
        self._records.close(key)

    def accuracy(self) -> Accuracy:
        return EXACT

    def _noisy(self, count_open: bool) -> Array:
        """Covariance of the observations, followed by open evaluations."""
        times, at = self._records.evaluations(count_open)
        noise = np.full(len(times), self._model.prior.noise)
        noise[: len(self._records.noise)] = self._records.noise
        return self._model.noisy(times, at, noise)

    def _surface(self, t: float, alpha: Array) -> Surface:
        """Return the surface of f_t, given the coefficients (n,) of the observations."""
        times, at = self._records.evaluations(count_open=True)
        inverse = np.asarray(np.linalg.inv(self._noisy(count_open=True)))
        return expansion(self._model, t, times, at, alpha, inverse)


def expansion(
    model: SpaceTime, t: float, times: Array, places: Places, alpha: Array, inverse: Array
) -> Expansion:
    """Return the surface of f_t from the coefficients alpha of the first of some evaluations.

    ``inverse`` is that of the covariance of all of them.
    """
    padded, chosen = np.zeros(len(times)), model.selected(CHOICE)
    shared = model.selected(SHARED)
    padded[: len(alpha)] = alpha
    now = np.array(t)
    d = np.array([term.in_time(times, now, model.start) for term, _ in chosen])
    Q = d[:, :, None, None] * inverse[None, :, None, :] * d
    if shared:
        shared_covariance = model.block(times, places, t, model.one_place, SHARED)[:, 0]
        weights = inverse @ shared_covariance
        left = float(model.variance(model.one_place, t, SHARED)[0] - shared_covariance @ weights)
        Q = with_shared_known(Q, d * weights, left)
    s = np.array([model.scale(term, t) for term, _ in chosen])
    return Expansion(model.prior, [kernel for _, kernel in chosen], places, d * padded, Q, s)


def with_shared_known(Q: Array, w: Array, variance: float) -> Array:
    """Q if l, what all places share, is known: Cov[g(x), l] = -k(x, B) . w, Var[l] = variance."""
    return Q + np.multiply.outer(w, w) / max(variance, _LEAST_SHARED)


def same_variances(kernels: Sequence[DomainKernel]) -> Array | None:
    """The prior variance of each kernel; None if that of one differs between places."""
    variances = [kernel.variance for kernel in kernels]
    return None if None in variances else np.array(variances)


def _side_by_side(blocks: list[Array]) -> Array:
    """The blocks along the second axis; one alone is not copied."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
