"""Values far off all others, which would drown the rest: a broken sensor, a wrong unit.

What is far off is judged by the range of the values without the few that are highest and lowest. A
peak that was met a few times is no outlier: then it is among the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heliotrope.validation import Array

_LEAST = 8  # values, below which none is far off
_SHARE = 0.03  # of the values, that may be outliers on either side; one always may
_FAR = 10.0  # ranges of the others, beyond them
_CUT = 0.1  # such ranges, by which a fence may be too narrow


@dataclass(frozen=True)
class Fences:
    """The lowest and the highest value that is believed; None where there is no outlier."""

    low: float | None = None
    high: float | None = None

    def clipped(self, values: Array) -> Array:
        """The values, those beyond a fence moved to it."""
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return np.clip(values, low, high)

    def believed(self, value: float) -> float:
        """One value, or the fence beyond which it lies."""
        return float(self.clipped(np.asarray(value)))

    def suit(self, values: Array) -> bool:
        """Whether they hold the outliers of some values, and cut off little of the others."""
        outliers = fences(values).beyond(values)
        usual = values[~outliers]
        cut = np.abs(usual - self.clipped(usual)).max(initial=0.0)
        width = np.ptp(usual) if len(usual) else 0.0
        return bool(np.all(self.beyond(values)[outliers]) and cut <= _CUT * width)

    def beyond(self, values: Array) -> NDArray[np.bool_]:
        """Which values lie beyond a fence."""
        return np.asarray(self.clipped(values) != values)


def fences(values: Array) -> Fences:
    """Fences that hold all values but the outliers.

    Examples
    --------
    >>> fences(np.array([0.0, 1.0, 2.0, 1.0, 0.0, 2.0, 1.0, 999.0]))
    Fences(low=None, high=2.0)
    """
    few = max(1, int(_SHARE * len(values)))
    if len(values) < _LEAST:
        return Fences()
    ordered = np.sort(values)
    bottom, top = ordered[few], ordered[-few - 1]
    width = top - bottom
    if width <= 0.0:
        return Fences()
    usual = ordered[(ordered >= bottom - _FAR * width) & (ordered <= top + _FAR * width)]
    low = float(usual[0]) if ordered[0] < usual[0] else None
    high = float(usual[-1]) if ordered[-1] > usual[-1] else None
    return Fences(low, high)
