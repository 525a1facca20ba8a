"""Results of another level than all before: the world has changed, and they are of the past.

A few far-off values may be faults of the measurement, and a far-off place may be different. So it
takes four in a row, more if they are as far off as outliers are, one of them at a place that was
measured before, or next to it; that may take some more, since a policy then looks elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from heliotrope.estimation.outliers import fences
from heliotrope.validation import Array

_KNOWN = 20  # values, of which the range is known well
_OFF = 2.0  # such ranges, beyond the values
LEAST_OF_A_LEVEL = 4  # results
_LONGEST = 32  # of these, after which it is not new any more
_NEXT = 0.1  # length scales


def of_new_level(y: Array, points: Callable[[], Array], length_scale: float) -> int:
    """How many of the last values are of another level than those before; 0, or at least four.

    Outliers among those before do not count. The points (n, d) are asked for if need be.

    Examples
    --------
    >>> y = np.append(np.arange(20.0), [60.0, 61.0, 62.0, 61.0])
    >>> of_new_level(y, lambda: np.zeros((24, 1)), length_scale=0.2)
    4
    """
    last = _beyond_the_others(y)
    return last if last and _are_known(points(), last, length_scale) else 0


def _beyond_the_others(y: Array) -> int:
    """How many of the last values lie beyond those before, if it is no fault."""
    if len(y) < _KNOWN + LEAST_OF_A_LEVEL:
        return 0
    run = _run_beyond(y, y[: max(len(y) - _LONGEST, _KNOWN)])
    if run < LEAST_OF_A_LEVEL or len(y) - run < _KNOWN or fences(y).beyond(y)[-1]:
        return 0
    return run if _run_beyond(y, y[:-run]) == run else 0


def _run_beyond(y: Array, others: Array) -> int:
    """How many of the last values lie beyond some others, all on one side."""
    usual = others[~fences(others).beyond(others)]
    low, high = float(usual.min()), float(usual.max())
    above = y - 0.5 * (low + high)
    off = np.sign(above[-1]) * above > (_OFF + 0.5) * (high - low)
    return int(np.logical_and.accumulate(off[::-1]).sum())


def _are_known(x: Array, last: int, length_scale: float) -> bool:
    """Whether one of the ``last`` points (n, d) lies where another was measured, or next to it."""
    gaps = cdist(x[-last:], x[:-last])
    return bool(np.any(gaps < _NEXT * length_scale))
