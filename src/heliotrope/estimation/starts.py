"""Candidate starts of a fit, as shifts of the prior's coordinates."""

import numpy as np

from heliotrope.estimation.coordinates import Coordinates
from heliotrope.estimation.parameters import term_names
from heliotrope.lazy import lazy_module
from heliotrope.priors import Prior
from heliotrope.validation import Array

special = lazy_module("scipy.special")

_NOISE = 0.1  # share of the data's variance
_RATES = (0.001, 0.02, 0.3)  # further rates of the fastest term, per step
_RANGE = 3.0  # of random logarithms around the prior's


def noise_shifts(coordinates: Coordinates) -> list[Array]:
    """The prior's noise, and a tenth of the variance of the data."""
    own, is_noise = coordinates.start, coordinates.of_kind("noise")
    if not is_noise.any() or coordinates.spread == 0.0:
        return [np.zeros_like(own)]
    shift = np.log(_NOISE * coordinates.spread) - own
    return [np.zeros_like(own), np.where(is_noise, shift, 0.0)]


def rate_shifts(coordinates: Coordinates) -> list[Array]:
    """The prior's rates, and all of them faster or slower by the same factor."""
    own, step = coordinates.start, np.log(coordinates.spacing)
    faster = 1.0 * coordinates.of_kind("epsilon") + coordinates.of_kind("growth")
    faster -= coordinates.of_kind("length")
    if not faster.any():
        return [np.zeros_like(own)]
    per_step = faster * own + step * (faster != 0.0) * ~coordinates.of_kind("epsilon")
    fastest = per_step[faster != 0.0].max()
    return [np.zeros_like(own), *(faster * (special.logit(rate) - fastest) for rate in _RATES)]


def space_shifts(
    prior: Prior, coordinates: Coordinates, variances: Array, restarts: int
) -> list[Array]:
    """Shifts to the prior's kernels, to rescaled ones with permuted variances, and to random ones.

    ``variances`` are those of the terms, without the noise.
    """
    own, factors = coordinates.start, _factors(prior, coordinates)
    is_kernel = coordinates.of_kind("space") | coordinates.of_kind("time")
    shifts = [np.zeros_like(own)]
    if not is_kernel.any():
        return shifts
    if coordinates.spread > 0.0:
        exchanged = [np.roll(variances, places) for places in range(len(variances))]
        scale = coordinates.spread / variances.sum()
        shifts += [np.log(scale * order / variances) @ factors for order in exchanged]
    rng, center = np.random.default_rng(0), own + shifts[min(1, len(shifts) - 1)]
    low, high = np.clip([center - _RANGE, center + _RANGE], *coordinates.bounds.T)
    drawn = (rng.uniform(low, high) - own for _ in range(restarts))
    return shifts + [np.where(is_kernel, shift, 0.0) for shift in drawn]


def _factors(prior: Prior, coordinates: Coordinates) -> Array:
    """1 where a coordinate is a factor of a term's variance, else 0; (terms, p)."""
    of_term = [
        [parameter.name.startswith(f"{name}.") for parameter in coordinates.parameters]
        for name in term_names(prior)
    ]
    is_factor = coordinates.are_variances & ~coordinates.of_kind("noise")
    return np.asarray(np.array(of_term, dtype=float) * is_factor)
