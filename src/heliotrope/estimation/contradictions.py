"""Results that later ones at the same place contradict.

A high value is believed when it comes, since nothing is known there. If it was a fault, it draws
the search to its place, and makes the true values measured there look like faults.

Symbols
-------
n  results        r (n,)  values less their mean, after the world's warp
K (n, n)  covariance of the results; P its inverse
The value i has the error e_i = [P r]_i / P_ii given all others, with the variance 1 / P_ii.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from heliotrope.domains import Box
from heliotrope.estimation.outliers import OutlierBounds
from heliotrope.estimation.results import Results
from heliotrope.estimation.world import World
from heliotrope.validation import Array

_IMPLAUSIBLE = 4.0  # deviations from what all others say
_NEAR = 0.25  # length scales between two measurements of the same place
_LEAST_NOISE = 1e-6  # share of the variance, so that K can be inverted
_AGAIN = 2  # later results at the place that must oppose the value, by half of its error or more


def contradicted(results: Results, world: World, pace: float, bounds: OutlierBounds) -> Array:
    """The noise variance (n,) of each contradicted result, as its distance suggests; NaN elsewhere.

    One is found at a time, the least plausible first: it makes others look implausible. Times are
    divided by the ``pace``. An outlier that was not measured again counts as the bound it passes.
    """
    later = _later_at_the_place(results, world)
    again = np.count_nonzero(later, axis=1) >= _AGAIN
    found = np.full(len(results.y), np.nan)
    if not again.any():
        return found
    r, slope = _residuals(np.where(again, results.y, bounds.clip(results.y)), world)
    P = np.linalg.inv(_covariance(results, world, pace, slope))
    while True:
        precision = np.maximum(P.diagonal(), np.finfo(float).tiny)  # 0 for a huge error found
        error = P @ r / precision
        opposed = np.sign(error)[:, None] * (r[:, None] - r[None, :]) > 0.5 * np.abs(error)[:, None]
        doubtful = np.isnan(found) & (np.count_nonzero(later & opposed, axis=1) >= _AGAIN)
        z = np.where(doubtful, np.abs(error) * np.sqrt(precision), 0.0)
        worst = int(z.argmax())
        if z[worst] <= _IMPLAUSIBLE:
            return found
        variance = float(np.square(error[worst]))
        r[worst] -= error[worst]  # what the others say, so that rounding errors stay small
        P -= np.outer(P[worst], P[worst]) / (1.0 / variance + P[worst, worst])
        found[worst] = variance * slope[worst] ** -2


def _later_at_the_place(results: Results, world: World) -> NDArray[np.bool_]:
    """Which results (columns) are later ones at the place of each (rows), (n, n)."""
    x = results.x / np.array(world.lengths)
    later = results.t[None, :] > results.t[:, None]
    return np.asarray((cdist(x, x) < _NEAR) & later)


def _residuals(y: Array, world: World) -> tuple[Array, Array]:
    """Warped values less their mean, and the slope of the warp."""
    return world.warp.inside(y) - world.mean, world.warp.slope(y)


def _covariance(results: Results, world: World, pace: float, slope: Array) -> Array:
    prior, t = world.prior(), results.t / pace
    d = results.x.shape[1]
    kernels = prior.kernels_over(Box(np.zeros(d), np.ones(d)))
    K = np.zeros((len(t), len(t)))
    for term, kernel in zip(prior.terms, kernels, strict=True):
        K += kernel.block(results.x, results.x) * term.in_time(t[:, None], t[None, :], t[0])
    own, repeats = results.noise.T
    noise = np.where(np.isnan(own), world.noise / repeats, own * slope**2)
    K.flat[:: len(K) + 1] += np.maximum(noise, _LEAST_NOISE * world.deviation**2)
    return K
