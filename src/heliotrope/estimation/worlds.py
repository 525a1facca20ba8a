"""What the world is made of: the most likely sum of terms of some results.

The sum has three terms: one stays, one drifts, and one is a level that all places share. With a
period there are two more: what returns in each place, and what returns in all alike. Terms that
differ between places have one Matern 5/2 kernel with a length scale for each group of coordinates.
The sum describes the values, or warped ones: logarithms of positive values, or a function that
makes a long tail shorter. Values are standardized, so their unit does not matter. Log-normal priors
of the parameters stand in for data while there are few.

The world of a named policy is one term, of the values as they are, with one length scale. Its
kernel is the more likely one, and parameters that the user gave are held at their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heliotrope.estimation.changes import Regime, surprising
from heliotrope.estimation.model import Model
from heliotrope.estimation.results import FEWEST_WITH_FAULTS, Results
from heliotrope.estimation.sum_fit import Fit, Found
from heliotrope.estimation.world import KERNEL_NAMES, OneTerm, World
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, Logarithm, SinhArcsinh, Warp

_FEWEST_FOR_A_WARP = 8
_SPAN = 2.0  # ratio of the largest to the smallest value from which a logarithm differs
_SPAN_WITH_ZEROS, _MOST_ZEROS = 100.0, 0.1  # the same, if up to a tenth of the values are zero
_LEAST_SIZE = 1e-145  # of a value in a logarithm, whose squared slope must not overflow
_SKEWS = (-1.2, -0.6, 0.6, 1.2)
_FAR = 10.0  # median distances from the median
_FEWEST_FAULTS, _MOST_FAULTS = 3, 0.33  # that show in the values alone; share of the values
_UNIT = 0.5  # of a warp that shortens a tail, in deviations of the values
_CLIMBED = 2  # warps, the most likely ones, whose parameters are searched for
_LEAST_PERIODS = 1.15  # that results must span, before a season of that period is considered
_SHORTEST_PERIOD = 4.0  # results
_EVIDENCE = 2.0  # log density by which a season must make the values more likely


def estimate_model(
    results: Results,
    groups: Sequence[Sequence[int]],
    before: World | None = None,
    period: float = 0.0,
    candidates: Sequence[float] = (),
    structure: OneTerm | None = None,
) -> Model:
    """Return the model of the most informative results; see :func:`estimate_world`."""
    informative = results.informative()
    world = estimate_world(informative, groups, before, period, candidates, structure)
    world = replace(world, period=world.period * informative.pace / results.pace)
    return Model(world, results.pace)


def estimate_world(
    results: Results,
    groups: Sequence[Sequence[int]],
    before: World | None = None,
    period: float = 0.0,
    candidates: Sequence[float] = (),
    structure: OneTerm | None = None,
) -> World:
    """Return the most likely world of some results, starting from the one estimated before.

    ``groups`` are the coordinates that share a length scale. Without a ``structure`` the world is a
    sum, and values are warped if that makes them more likely. If the world before rests on more
    results (some were dropped since, at a jump), values vary as widely as then, as long as there
    are few: all may be of one place. The world has a season of a ``period``, if that is not 0.
    Otherwise it has one of the ``candidates`` if the results span it and make it likely. Both are
    in the unit of the times.
    """
    plain = Fit(results, groups, before, period, structure)
    fit, best = _most_likely(list(_variants(plain, results, structure)))
    faulty = _may_be_faults(results, before, plain)
    if faulty.any():
        tolerant, usual = plain.with_faults(faulty), results.at(np.flatnonzero(~faulty))
        doubting, better = _most_likely(list(_variants(tolerant, usual, structure)))
        if better.score > best.score:
            fit, best = doubting, better
    if not period:
        span, shortest = float(results.t[-1] - results.t[0]), _SHORTEST_PERIOD * results.pace
        spanned = [length for length in candidates if shortest <= length <= span / _LEAST_PERIODS]
        if spanned:
            seasonal, better = _most_likely([fit.with_period(length) for length in spanned])
            if better.score > best.score + _EVIDENCE:
                fit, best = seasonal, better
    without = fit.without_faults(best)
    return best.world if without is None else without.best().world


def _variants(fit: Fit, results: Results, structure: OneTerm | None) -> Iterator[Fit]:
    """The fit with each warp of a sum, or with each kernel of one term, that results may need."""
    if structure is None:
        yield from (fit.with_warp(warp) for warp in _warps(results))
    else:
        kernels = KERNEL_NAMES if structure.kernel is None else (structure.kernel,)
        yield from (fit.with_kernel(kernel) for kernel in kernels)


def _most_likely(fits: Sequence[Fit]) -> tuple[Fit, Found]:
    """The best fit, of those that are most likely before the search."""
    if len(fits) > _CLIMBED:
        fits = sorted(fits, key=lambda fit: -fit.density(fit.start()))[:_CLIMBED]
    pairs = [(fit, fit.best()) for fit in fits]
    return max(pairs, key=lambda pair: pair[1].score)


def _may_be_faults(results: Results, before: World | None, fit: Fit) -> NDArray[np.bool_]:
    """Which results are far from most but near usual ones; if hardly any, which surprise."""
    far = _far_from_most(results.cautious)
    if np.count_nonzero(far) >= _FEWEST_FAULTS:
        far &= fit.are_near_others(far)
    if np.count_nonzero(far) >= _FEWEST_FAULTS:
        return far
    if before is None or before.results < FEWEST_WITH_FAULTS:
        return np.zeros_like(far)
    far = surprising(Regime(results, before, results.pace))
    return np.asarray(far & (np.mean(far) <= _MOST_FAULTS))


def _far_from_most(y: Array) -> NDArray[np.bool_]:
    """Which values are so far from the median that they may be faults; at most a third of them.

    Three of them in a row, on one side, are no faults: the world has changed. If most values are
    equal, the others are usual, too, such as zeros among ones.
    """
    above = y - np.median(y)
    usual = float(np.median(np.abs(above)))
    if usual == 0.0:
        return np.zeros(len(y), dtype=bool)
    far = np.sign(above) * (np.abs(above) > _FAR * usual)
    run = (far[2:] == far[1:-1]) & (far[1:-1] == far[:-2])
    for shift in range(3):
        far[shift : len(far) - 2 + shift][run] = 0.0
    faulty = far != 0.0
    return np.asarray(faulty & (np.mean(faulty) <= _MOST_FAULTS))


def _warps(results: Results) -> Iterator[Warp]:
    """The warps that values may need."""
    yield IDENTITY
    if len(results.y) < _FEWEST_FOR_A_WARP:
        return
    center, unit = float(np.median(results.precise)), _UNIT * results.spread
    yield from (SinhArcsinh(skew, center, unit) for skew in _SKEWS)
    logarithm = _logarithm(results.y)
    if _may_be_logarithmic(results.y, logarithm):
        yield logarithm


def _logarithm(y: Array) -> Logarithm:
    """The logarithm of values that have the sign of most; zeros are half of the smallest size."""
    sizes = np.abs(y)
    least = float(np.min(sizes, where=sizes > 0.0, initial=np.inf))
    sign = -1.0 if float(np.median(y)) < 0.0 else 1.0
    return Logarithm(sign, max(0.5 * least, _LEAST_SIZE))


def _may_be_logarithmic(y: Array, logarithm: Logarithm) -> bool:
    """Whether all values have one sign and their sizes differ; a few may be zero."""
    sizes, zeros = np.maximum(np.abs(y), logarithm.floor), float(np.mean(y == 0.0))
    span = _SPAN if zeros == 0.0 else _SPAN_WITH_ZEROS
    return (
        zeros <= _MOST_ZEROS
        and bool(np.all(logarithm.sign * y >= 0.0))
        and bool(sizes.max() > span * sizes.min())
    )
