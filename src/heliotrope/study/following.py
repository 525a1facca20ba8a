"""Whether a study can follow its values, judged from the latest results alone."""

import numpy as np

from heliotrope.lazy import lazy_module
from heliotrope.validation import Array

stats = lazy_module("scipy.stats")

_LATEST, _FEWEST = 60, 30  # results that count, and that it takes
_MONOTONIC = 0.97  # rank correlation of values and times
_FAR = 20.0  # interquartile ranges from the median
_OFTEN = 0.04  # share of results


def warning(t: Array, y: Array) -> str | None:
    """Why a study can hardly follow these results, or None.

    Examples
    --------
    >>> warning(np.arange(40.0), np.arange(40.0) + np.sin(np.arange(40.0)))
    'All values rise, by about 1 in a unit of time: what differs between the choices may be hidden.'
    """
    t, y = t[-_LATEST:], y[-_LATEST:]
    if len(y) < _FEWEST or np.ptp(y) == 0.0:
        return None
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    share = float(np.mean(np.abs(y - middle) > _FAR * (high - low)))
    if share > _OFTEN and high > low:
        return f"{share:.0%} of the latest results lie far from all others: are they faults?"
    if np.ptp(t) > 0.0 and abs(stats.spearmanr(t, y).statistic) > _MONOTONIC:
        slope = float(np.polyfit(t - t[0], y, 1)[0])
        how = f"{'rise' if slope > 0.0 else 'fall'}, by about {abs(slope):.2g} in a unit of time"
        return f"All values {how}: what differs between the choices may be hidden."
    return None
