"""Maximization of an acquisition over a Finite domain or, by gradient ascent, over a Box."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.domains import Box
from heliotrope.lazy import lazy_module
from heliotrope.linalg import one_thread
from heliotrope.posterior import Surface
from heliotrope.rng import RNGFactory
from heliotrope.sobol import sobol
from heliotrope.validation import Array

optimize = lazy_module("scipy.optimize")

if TYPE_CHECKING:
    from heliotrope.acquisition.ucb import Scored

_TIE = 1e-12  # values this close, relative to their spread, are equal
_ULPS = 4.0 * float(np.finfo(float).eps)
_CANDIDATES = 512
_ANCHORS = 8  # visited points near the maximum: half of them the best, half the newest
_NEIGHBOURS = 8  # candidates around each of them
_STARTS = 6
_APART = 0.1  # share of the box's width
_LEAST_VARIANCE = 1e-16  # below it the deviation has no usable slope


def argmax(values: Array, make_rng: RNGFactory) -> int:
    """Index of the largest value; the generator breaks ties.

    Examples
    --------
    >>> argmax(np.array([0.0, 2.0, 1.0]), np.random.default_rng)
    1
    """
    best = int(values.argmax())
    top = float(values[best])
    tied = values >= top - _TIE * (top - float(values.min())) - _ULPS * abs(top)
    return best if np.count_nonzero(tied) == 1 else int(make_rng().choice(np.flatnonzero(tied)))


@one_thread()
def maximize(
    surface: Surface, acquisition: Scored, t: float, box: Box, make_rng: RNGFactory
) -> Array:
    """Return the point of the box with the highest score found, (d,).

    The candidates, all on the box's lattices, are Sobol points and promising visited points with
    neighbours. L-BFGS-B then improves the best few distant ones jointly, along the continuous
    coordinates and in units of the unit cube.
    """
    rng = make_rng()

    def score(unit: Array) -> Array:
        mean, variance = surface.value(box.scaled(unit))
        return acquisition.value(t, mean, np.sqrt(variance))

    tried = box.unit(candidates(box, rng, surface))
    values = score(tried)
    starts = _apart(tried, values)
    top, scale = float(values.max()), float(np.ptp(values)) or 1.0

    def descent(flat: Array) -> tuple[float, Array]:
        """Return the negative sum of all scores and its gradient, in units of their spread."""
        points = box.scaled(flat.reshape(-1, box.dimension))
        mean, variance = surface.value(points)
        std = np.sqrt(np.maximum(variance, _LEAST_VARIANCE * scale**2))
        by_mean, by_std = acquisition.slopes(t, mean, std)
        d_mean, d_variance = surface.gradient(points)
        slope = by_mean[:, None] * d_mean + (by_std / (2.0 * std))[:, None] * d_variance
        value = float((acquisition.value(t, mean, std) - top).sum())
        return -value / scale, -(slope * (box.upper - box.lower)).ravel() / scale

    if box.continuous.any():
        low, high = np.where(box.continuous, 0.0, starts), np.where(box.continuous, 1.0, starts)
        bounds = np.column_stack([low.ravel(), high.ravel()])
        found = optimize.minimize(
            descent, starts.ravel(), jac=True, bounds=bounds, method="L-BFGS-B"
        )
        tried = np.vstack([starts, found.x.reshape(starts.shape)])
        values = score(tried)
    unit = tried[argmax(values, lambda: rng)]
    point: Array = box.snap(box.scaled(unit)[None, :])[0]  # removes rounding errors on lattices
    return point


def candidates(box: Box, rng: np.random.Generator, surface: Surface) -> Array:
    """Randomly shifted Sobol points, and promising points with neighbours, on the lattices."""
    d, anchors = box.dimension, box.unit(surface.promising_points(_ANCHORS))
    spread = (_sobol(d) + rng.random(d)) % 1.0
    steps = rng.standard_normal((len(anchors), _NEIGHBOURS, d))
    steps *= rng.choice([0.003, 0.01, 0.03, 0.1], size=(len(anchors), _NEIGHBOURS, 1))
    near = (anchors[:, None, :] + steps).reshape(-1, d)
    everything = [spread, anchors, np.clip(near, 0.0, 1.0), *_leaps(box, rng, anchors)]
    return box.snap(box.scaled(np.vstack(everything)))


def _leaps(box: Box, rng: np.random.Generator, anchors: Array) -> list[Array]:
    """Anchors moved to a random row of one lattice."""
    if not box.lattices:
        return []
    leaps = np.repeat(anchors, _NEIGHBOURS, axis=0)
    for leap, which in zip(leaps, rng.integers(len(box.lattices), size=len(leaps)), strict=True):
        lattice = box.lattices[which]
        columns = list(lattice.columns)
        row = lattice.rows[rng.integers(len(lattice.rows))]
        leap[columns] = (row - box.lower[columns]) / (box.upper[columns] - box.lower[columns])
    return [leaps]


def _apart(candidates: Array, values: Array) -> Array:
    """Return the best candidates of which no two are close to each other."""
    chosen, left = list[Array](), candidates[np.argsort(-values, kind="stable")]
    while len(left) and len(chosen) < _STARTS:
        chosen.append(left[0])
        left = left[np.abs(left - left[0]).max(axis=1) > _APART]
    return np.array(chosen)


@cache
def _sobol(dimension: int) -> Array:
    return sobol(dimension, _CANDIDATES)
