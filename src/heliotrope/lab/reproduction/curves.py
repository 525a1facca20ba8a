"""Statistics of curves over time, for claims about their shape."""

import numpy as np

from heliotrope.lab.claims import Claim, jackknife, judge
from heliotrope.validation import Array


def slope(x: Array, y: Array) -> Array:
    """Least-squares slope of y (..., n) over x (n,); 0 if n = 1."""
    apart = x - x.mean()
    return np.asarray(y @ apart / max(float(apart @ apart), np.finfo(float).tiny))


def judge_steadier(smooth: Array, rough: Array, where: str, source: str) -> Claim:
    """Judge whether TV-GP-UCB's mean curve varies less than R-GP-UCB's; curves (trials, T)."""
    found = jackknife(
        lambda both: _variation(both[:, 1]) - _variation(both[:, 0]),
        np.stack([smooth, rough], axis=1),
    )
    return judge(
        f"The curve of TV-GP-UCB is steadier than that of R-GP-UCB (total variation), {where}",
        f"{_variation(smooth):.3f} against {_variation(rough):.3f} ({found})",
        source,
        found,
    )


def _variation(curves: Array) -> float:
    """Total variation over time of the mean of curves (trials, T)."""
    return float(np.abs(np.diff(curves.mean(axis=0))).sum())
