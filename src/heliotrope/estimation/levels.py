"""Results of another level than all before: the world has changed, and they are of the past.

One far-off value may be a fault of the measurement, and a far-off place may be different. So it
takes two in a row, one of them at a place near which others were measured.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from heliotrope.arrays import Array
from heliotrope.estimation.models import Model
from heliotrope.estimation.outliers import fences

_KNOWN = 20  # values, of which the range is known well
_OFF = 2.0  # such ranges, beyond the values
_TWICE = 2


def of_new_level(x: Array, y: Array, model: Model) -> int:
    """How many of the last results are of another level than those before; 0, or at least two.

    The model's outliers do not count. A place is near within its length scale.

    Examples
    --------
    >>> y = np.append(np.arange(20.0), [60.0, 61.0])
    >>> of_new_level(np.zeros((22, 1)), y, Model(length_scale=0.2))
    2
    """
    usual = y[:-_TWICE][~model.fences.beyond(y[:-_TWICE])]
    if len(usual) < _KNOWN:
        return 0
    low, high = float(usual.min()), float(usual.max())
    above = y - 0.5 * (low + high)
    off = np.sign(above[-1]) * above > (_OFF + 0.5) * (high - low)
    if high == low or not off[-_TWICE:].all() or fences(y).beyond(y)[-1]:
        return 0
    gaps = cdist(x[-_TWICE:], x[~off]).min(axis=1)
    return len(y) - 1 - int(np.flatnonzero(~off)[-1]) if np.any(gaps < model.length_scale) else 0
