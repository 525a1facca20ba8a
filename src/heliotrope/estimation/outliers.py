"""Outliers: values far from all others, which must not dominate an estimate.

Outliers come, for example, from a broken sensor. They lie many ranges away from the other values,
where the range leaves out the few highest and lowest. A peak that was measured a few times is no
outlier, since it then belongs to the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heliotrope.validation import Array

FEWEST_WITH_FAULTS = 8  # results; fewer do not say what is implausible
# Deviations from a prediction. The normal density there, 1.3e-4, is about that of a fault: one
# value in a hundred, spread evenly over a hundred deviations.
IMPLAUSIBLE = 4.0
_SHARE = 0.03  # of the values that may be outliers on each side; one always may
_FAR = 10.0  # ranges of the other values, away from them
_CUT = 0.1  # ranges by which a bound may be too narrow


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
        low, high = self.limits
        return min(max(value, low), high)

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
    if len(values) < FEWEST_WITH_FAULTS:
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
