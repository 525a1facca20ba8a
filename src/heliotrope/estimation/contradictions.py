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

from heliotrope.estimation.regime import Regime
from heliotrope.estimation.results import IMPLAUSIBLE
from heliotrope.lazy import lazy_module
from heliotrope.validation import Array

distance = lazy_module("scipy.spatial.distance")

_NEAR = 0.25  # length scales between two measurements of the same place
_LEAST_PRECISION = 1e-200  # whose inverse times a value does not overflow
_AGAIN = 2  # later results at the place that must oppose the value, by half of its error or more


def contradicted(regime: Regime) -> Array:
    """The noise variance (n,) of each contradicted result, as its distance suggests; NaN elsewhere.

    Each round takes the least plausible result alone, since it makes others look implausible.
    """
    later = _later_at_the_place(regime)
    again = np.count_nonzero(later, axis=1) >= _AGAIN
    noise = np.full(len(later), np.nan)
    if not again.any():
        return noise
    r, slope, K, _ = regime.residuals()
    P = np.linalg.inv(K)
    while True:
        precision = np.maximum(P.diagonal(), _LEAST_PRECISION)  # 0 for a huge error found
        error = P @ r / precision
        opposed = np.sign(error)[:, None] * (r[:, None] - r[None, :]) > 0.5 * np.abs(error)[:, None]
        doubtful = np.isnan(noise) & (np.count_nonzero(later & opposed, axis=1) >= _AGAIN)
        z = np.where(doubtful, np.abs(error) * np.sqrt(precision), 0.0)
        worst = int(z.argmax())
        if z[worst] <= IMPLAUSIBLE:
            return noise
        variance = float(np.square(error[worst]))
        r[worst] -= error[worst]  # what the others say, so that rounding errors stay small
        P -= np.outer(P[worst], P[worst]) / (1.0 / variance + P[worst, worst])
        noise[worst] = variance * slope[worst] ** -2


def _later_at_the_place(regime: Regime) -> NDArray[np.bool_]:
    """Which results (columns) are later ones at the place of each (rows), (n, n)."""
    results = regime.results
    x = results.x / np.array(regime.world.lengths)
    later = results.t[None, :] > results.t[:, None]
    return np.asarray((distance.cdist(x, x) < _NEAR) & later)
