"""Outliers and level shifts: values far from all others, which must not dominate an estimate.

Outliers come, for example, from a broken sensor. They lie many ranges away from the other values,
where the range leaves out the few highest and lowest. A peak that was measured a few times is no
outlier, since it then belongs to the others.

After a level shift the latest results lie far from all earlier ones, which no longer count. A few
distant values may be measurement faults, and a distant place may differ. So a shift needs
four results in a row, or more if they are as far away as outliers. One of them must lie at or next
to a place that was measured before. That can take a few more results, since a policy then looks
elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from heliotrope.validation import Array

_LEAST = 8  # values; fewer have no outliers
_SHARE = 0.03  # of the values that may be outliers on each side; one always may
_FAR = 10.0  # ranges of the other values, away from them
_CUT = 0.1  # ranges by which a bound may be too narrow

SHORTEST_LEVEL_SHIFT = 4  # results
_LONGEST_SHIFT = 32  # results, after which a shift is no longer new
_KNOWN = 20  # earlier values, which make the range reliable
_SHIFTED = 2.0  # ranges away from the earlier values
_NEAR = 0.1  # length scales between neighbouring points


@dataclass(frozen=True)
class OutlierBounds:
    """The lowest and the highest value to believe; None on a side without outliers."""

    low: float | None = None
    high: float | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """Both bounds as numbers, infinite on a side without outliers."""
        low = -np.inf if self.low is None else self.low
        return low, np.inf if self.high is None else self.high

    def clip(self, values: Array) -> Array:
        """Move outliers to the bound that they pass."""
        return np.clip(values, *self.limits)

    def clip_one(self, value: float) -> float:
        """One value, or the bound that it passes."""
        return float(self.clip(np.asarray(value)))

    def are_passed_by(self, values: Array) -> NDArray[np.bool_]:
        """Which of the values are outliers."""
        return np.asarray(self.clip(values) != values)

    def suit(self, values: Array) -> bool:
        """Whether the bounds exclude the outliers of the values, and cut off little of the rest."""
        outliers = outlier_bounds(values).are_passed_by(values)
        usual = values[~outliers]
        cut = np.abs(usual - self.clip(usual)).max(initial=0.0)
        width = np.ptp(usual) if len(usual) else 0.0
        return bool(np.all(self.are_passed_by(values)[outliers]) and cut <= _CUT * width)


def outlier_bounds(values: Array) -> OutlierBounds:
    """Bounds that hold all values except the outliers.

    Examples
    --------
    >>> outlier_bounds(np.array([0.0, 1.0, 2.0, 1.0, 0.0, 2.0, 1.0, 999.0]))
    OutlierBounds(low=None, high=2.0)
    """
    few = max(1, int(_SHARE * len(values)))
    if len(values) < _LEAST:
        return OutlierBounds()
    ordered = np.sort(values)
    bottom, top = ordered[few], ordered[-few - 1]
    width = top - bottom
    if width <= 0.0:
        return OutlierBounds()
    usual = ordered[(ordered >= bottom - _FAR * width) & (ordered <= top + _FAR * width)]
    low = float(usual[0]) if ordered[0] < usual[0] else None
    high = float(usual[-1]) if ordered[-1] > usual[-1] else None
    return OutlierBounds(low, high)


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
    if not last:
        return 0
    x = points()
    revisits = cdist(x[-last:], x[:-last]) < _NEAR * length_scale
    return last if revisits.any() else 0


def _length_by_values(y: Array) -> int:
    """Number of the last values that lie beyond all earlier ones, unless they may be faults."""
    if len(y) < _KNOWN + SHORTEST_LEVEL_SHIFT:
        return 0
    run = _run_beyond(y, y[: max(len(y) - _LONGEST_SHIFT, _KNOWN)])
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
    far = np.sign(above[-1]) * above > (_SHIFTED + 0.5) * (high - low)
    return int(np.logical_and.accumulate(far[::-1]).sum())
