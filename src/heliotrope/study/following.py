"""Whether a study can follow its values, judged from the latest results alone."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from heliotrope.validation import Array

LATEST, _FEWEST = 60, 30  # results that count, and that it takes
_MONOTONIC = 0.97  # rank correlation of values and times
_OFTEN = 0.04  # share of results taken for faults


def warning(t: Array, y: Array, faulty: NDArray[np.bool_]) -> str | None:
    """Why a study can hardly follow these results, or None; some are taken for faults.

    Examples
    --------
    >>> values = np.arange(40.0) + np.sin(np.arange(40.0))
    >>> warning(np.arange(40.0), values, np.zeros(40, dtype=bool))
    'All values rise, by about 1 in a unit of time: what differs between the choices may be hidden.'
    """
    if len(y) < _FEWEST or np.ptp(y) == 0.0:
        return None
    share = float(np.mean(faulty))
    if share > _OFTEN:
        return f"{share:.0%} of the latest results are taken for faults."
    if np.ptp(t) > 0.0 and abs(spearmanr(t, y).statistic) > _MONOTONIC:
        slope = float(np.polyfit(t - t[0], y, 1)[0])
        how = f"{'rise' if slope > 0.0 else 'fall'}, by about {abs(slope):.2g} in a unit of time"
        return f"All values {how}: what differs between the choices may be hidden."
    return None
