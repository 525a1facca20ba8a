"""Mixtures: the mean and the covariance of several posteriors, each with its weight.

Symbols
-------
h  posteriors, with weights w (h,), means m_h (h, q) and their mean m = sum_h w_h m_h
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import compress

import numpy as np

from heliotrope.domains import Places
from heliotrope.posterior.protocol import Posterior, Surface, Surfaced
from heliotrope.validation import Array

_NEGLIGIBLE = 1e-6  # weight below which an engine has no say
_LEAST_VARIANCE = 1e-30  # below it the deviation has no slope


class Mixture:
    """The mixture of several posteriors, of engines or of mixtures; the weights add up to 1."""

    def __init__(self, weights: Array, engines: Sequence[Posterior]) -> None:
        heard = weights > _NEGLIGIBLE
        self._w = weights[heard] / weights[heard].sum()
        self._engines = list(compress(engines, heard))

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean and variance of f_t at places."""
        posteriors = [e.predict(t, places, count_open=count_open) for e in self._engines]
        return mixed(self._w, posteriors)

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance of f_t at places."""
        means = [engine.predict(t, places, count_open=False)[0] for engine in self._engines]
        inside = [engine.covariance(t, places) for engine in self._engines]
        return mixed_covariance(self._w, means, inside)

    def drawn(self, rng: np.random.Generator) -> Posterior:
        """Return one of the posteriors, drawn by the weights."""
        return self._engines[int(rng.choice(len(self._engines), p=self._w))]

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions over a Box."""
        surfaces = self._surfaces(t)
        return MixedSurface(self._w, surfaces) if len(surfaces) > 1 else surfaces[0]

    def _surfaces(self, t: float) -> list[Surface]:
        return [engine.surface(t) for engine in self._engines if isinstance(engine, Surfaced)]


class Cases(Mixture):
    """A mixture to choose by, whose deviation is the mean of its cases' deviations.

    So a confidence bound is the mean of the cases' bounds. A case of which nothing is known then
    adds the same to the bounds of all places, where its variance, added to theirs, would hide the
    difference between places that are known well and less well.
    """

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean of f_t at places, and the square of the mean deviation."""
        posteriors = [e.predict(t, places, count_open=count_open) for e in self._engines]
        return averaged(self._w, posteriors)

    def surface(self, t: float) -> Surface:
        """Mean of f_t, and the square of the mean deviation, as functions over a Box."""
        return AveragedSurface(self._w, self._surfaces(t))


class MixedEngine(ABC):
    """What an engine that is a mixture of others answers, whoever they are at the time."""

    @abstractmethod
    def _mixture(self, t: float) -> Mixture: ...

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean and variance of f_t at places, by those that have a say."""
        return self._mixture(t).predict(t, places, count_open=count_open)

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance of f_t at places, by those that have a say."""
        return self._mixture(t).covariance(t, places)

    def drawn(self, t: float, rng: np.random.Generator) -> Posterior:
        """Return one engine, drawn by the weights at time t."""
        return self._mixture(t).drawn(rng)

    def bounding(self, t: float) -> Posterior:
        """Return the posterior by whose bounds to choose at time t."""
        return self._mixture(t)

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions over a Box, by those that have a say."""
        return self._mixture(t).surface(t)


def bounding(posterior: Posterior, t: float) -> Posterior:
    """Return the posterior by whose bounds to choose at time t; most are it themselves."""
    return posterior.bounding(t) if isinstance(posterior, MixedEngine) else posterior


def mixed(w: Array, posteriors: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Mean and variance: sum_h w_h (v_h + (m_h - m)^2), each posterior given as (m_h, v_h)."""
    means, variances = _columns(posteriors)
    mean, apart = _mean(w, means)
    apart *= apart
    apart += variances
    return mean, w @ apart


def averaged(w: Array, posteriors: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Mean, and (sum_h w_h sqrt(v_h))^2."""
    means, variances = _columns(posteriors)
    return w @ means, (w @ np.sqrt(variances)) ** 2


def mixed_covariance(w: Array, means: Sequence[Array], covariances: Sequence[Array]) -> Array:
    """Covariance (q, q): sum_h w_h (C_h + (m_h - m) (m_h - m)^T)."""
    _, apart = _mean(w, np.array(means))
    inside: Array = np.tensordot(w, np.array(covariances), axes=1)
    return inside + (w[:, None] * apart).T @ apart


class MixedSurface:
    """The mixture of several surfaces over a Box."""

    def __init__(self, w: Array, surfaces: Sequence[Surface]) -> None:
        self._w, self._surfaces = w, surfaces

    def value(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance at X (q, d)."""
        return mixed(self._w, [surface.value(X) for surface in self._surfaces])

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Derivatives of mean and of variance by x, each (q, d).

        The variance's is sum_h w_h (v_h' + 2 (m_h - m) m_h'): that of m cancels.
        """
        means, _ = _columns([surface.value(X) for surface in self._surfaces])
        d_means, d_variances = _columns([surface.gradient(X) for surface in self._surfaces])
        _, apart = _mean(self._w, means)
        slopes = d_variances + 2.0 * apart[:, :, None] * d_means
        return _weighted(self._w, d_means), _weighted(self._w, slopes)

    def promising_points(self, count: int) -> Array:
        """Some of the points behind the likeliest posterior."""
        return self._surfaces[int(self._w.argmax())].promising_points(count)


class AveragedSurface(MixedSurface):
    """The same, where deviations are averaged in place of variances."""

    def value(self, X: Array) -> tuple[Array, Array]:
        """Mean at X (q, d), and the square of the mean deviation."""
        return averaged(self._w, [surface.value(X) for surface in self._surfaces])

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Derivatives by x, each (q, d).

        The second is s sum_h w_h v_h' / s_h, where s_h are the deviations and s = sum_h w_h s_h.
        """
        _, variances = _columns([surface.value(X) for surface in self._surfaces])
        d_means, d_variances = _columns([surface.gradient(X) for surface in self._surfaces])
        deviations = np.sqrt(np.maximum(variances, _LEAST_VARIANCE))
        slopes = _weighted(self._w, d_variances / deviations[:, :, None])
        return _weighted(self._w, d_means), (self._w @ deviations)[:, None] * slopes


def _columns(pairs: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    first, second = zip(*pairs, strict=True)
    return np.array(first), np.array(second)


def _mean(w: Array, means: Array) -> tuple[Array, Array]:
    """Return m, and how far from it each m_h lies."""
    mean: Array = w @ means
    return mean, means - mean


def _weighted(w: Array, values: Array) -> Array:
    total: Array = np.tensordot(w, values, axes=1)
    return total
