"""Results of another level than all before: the world has changed, and they are of the past.

A few far-off values may be faults of the measurement, and a far-off place may be different. So it
takes four in a row, one of them at a place that was measured before, or next to it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from heliotrope.arrays import Array
from heliotrope.estimation.models import Model
from heliotrope.estimation.outliers import fences

_KNOWN = 20  # values, of which the range is known well
_OFF = 2.0  # such ranges, beyond the values
_ROW = 4
_NEXT = 0.1  # length scales


def of_new_level(y: Array, model: Model) -> int:
    """How many of the last values are of another level than those before; 0, or at least four.

    The model's outliers do not count.

    Examples
    --------
    >>> of_new_level(np.append(np.arange(20.0), [60.0, 61.0, 62.0, 61.0]), Model())
    4
    """
    usual = y[:-_ROW][~model.fences.beyond(y[:-_ROW])]
    if len(usual) < _KNOWN:
        return 0
    low, high = float(usual.min()), float(usual.max())
    above = y - 0.5 * (low + high)
    off = np.sign(above[-1]) * above > (_OFF + 0.5) * (high - low)
    if high == low or not off[-_ROW:].all() or fences(y).beyond(y)[-1]:
        return 0
    return len(y) - 1 - int(np.flatnonzero(~off)[-1])


def are_known_places(x: Array, last: int, model: Model) -> bool:
    """Whether one of the ``last`` points (n, d) lies where another was measured, or next to it."""
    gaps = cdist(x[-last:], x[:-last])
    return bool(np.any(gaps < _NEXT * model.length_scale))
