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

from heliotrope.arrays import Array
from heliotrope.domains import Places
from heliotrope.engines.protocol import Engine, Surface, Surfaced

_NEGLIGIBLE = 1e-6  # weight below which an engine has no say


class Mixture:
    """The mixture of several engines' posteriors; the weights add up to 1."""

    def __init__(self, weights: Array, engines: Sequence[Engine]) -> None:
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

    def drawn(self, rng: np.random.Generator) -> Engine:
        """Return one of the engines, drawn by the weights."""
        return self._engines[int(rng.choice(len(self._engines), p=self._w))]

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions over a Box."""
        surfaces = [engine.surface(t) for engine in self._engines if isinstance(engine, Surfaced)]
        return MixedSurface(self._w, surfaces) if len(surfaces) > 1 else surfaces[0]


class MixedEngine(ABC):
    """What an engine that is a mixture of others answers, whoever they are at the time."""

    @abstractmethod
    def _mixture(self) -> Mixture: ...

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean and variance of f_t at places, by those that have a say."""
        return self._mixture().predict(t, places, count_open=count_open)

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance of f_t at places, by those that have a say."""
        return self._mixture().covariance(t, places)

    def drawn(self, rng: np.random.Generator) -> Engine:
        """Return one engine, drawn by the weights."""
        return self._mixture().drawn(rng)

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions over a Box, by those that have a say."""
        return self._mixture().surface(t)


def mixed(w: Array, posteriors: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Mean and variance: sum_h w_h (v_h + (m_h - m)^2), each posterior given as (m_h, v_h)."""
    means, variances = _columns(posteriors)
    mean, apart = _mean(w, means)
    apart *= apart
    apart += variances
    return mean, w @ apart


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
