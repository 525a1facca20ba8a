"""Level shifts: the latest results lie far from all earlier ones, which no longer count.

A few distant values may be measurement faults, and a distant place may simply differ. So a shift
needs four results in a row, or more if they are as far away as outliers. One of them must lie at
or next to a place that was measured before. That can take a few more results, since a policy then
looks elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from heliotrope.estimation.outliers import outlier_bounds
from heliotrope.validation import Array

SHORTEST_LEVEL_SHIFT = 4  # results
_LONGEST = 32  # results, after which a shift is no longer new
_KNOWN = 20  # earlier values, which make the range reliable
_FAR = 2.0  # ranges away from the earlier values
_NEAR = 0.1  # length scales between neighbouring points


def level_shift_length(y: Array, points: Callable[[], Array], length_scale: float) -> int:
    """Number of the last values that follow a level shift: 0, or at least four.

    Outliers among the earlier values do not count. ``points`` returns the points (n, d); it is
    called only if the values show a shift.

    Examples
    --------
    >>> y = np.append(np.arange(20.0), [60.0, 61.0, 62.0, 61.0])
    >>> level_shift_length(y, lambda: np.zeros((24, 1)), length_scale=0.2)
    4
    """
    last = _length_by_values(y)
    return last if last and _revisits(points(), last, length_scale) else 0


def _length_by_values(y: Array) -> int:
    """Number of the last values that lie beyond all earlier ones, unless they may be faults."""
    if len(y) < _KNOWN + SHORTEST_LEVEL_SHIFT:
        return 0
    run = _run_beyond(y, y[: max(len(y) - _LONGEST, _KNOWN)])
    if run < SHORTEST_LEVEL_SHIFT or len(y) - run < _KNOWN:
        return 0
    if outlier_bounds(y).are_passed_by(y)[-1]:
        return 0
    return run if _run_beyond(y, y[:-run]) == run else 0


def _run_beyond(y: Array, others: Array) -> int:
    """Number of the last values that lie far from the others, all on one side."""
    usual = others[~outlier_bounds(others).are_passed_by(others)]
    low, high = float(usual.min()), float(usual.max())
    above = y - 0.5 * (low + high)
    far = np.sign(above[-1]) * above > (_FAR + 0.5) * (high - low)
    return int(np.logical_and.accumulate(far[::-1]).sum())


def _revisits(x: Array, last: int, length_scale: float) -> bool:
    """Whether one of the ``last`` points (n, d) lies at or next to an earlier one."""
    gaps = cdist(x[-last:], x[:-last])
    return bool(np.any(gaps < _NEAR * length_scale))
