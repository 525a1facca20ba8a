"""The curves of a figure, and their mean and deviation over trials as flat rows."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from heliotrope.validation import Array


@dataclass(frozen=True)
class Series:
    """One curve of a figure: a policy in a panel, at a true ``epsilon``.

    ``parameter`` is the policy's own: the assumed epsilon or the block length N.
    """

    panel: str
    policy: str
    epsilon: float | None = None
    parameter: float | None = None


@dataclass(frozen=True)
class CurveRow:
    """Mean, deviation and standard error over the trials of one curve at one time."""

    figure: str
    panel: str
    policy: str
    epsilon: float | None
    parameter: float | None
    t: float
    mean: float
    std: float
    stderr: float
    trials: int


def rows(figure: str, series: Sequence[Series], times: Array, values: Array) -> list[CurveRow]:
    """Flat rows of values (trials, series, times)."""
    trials = len(values)
    mean, std = values.mean(axis=0), _deviation(values)
    return [
        CurveRow(
            figure, **asdict(one), t=float(t), mean=m, std=s, stderr=s / trials**0.5, trials=trials
        )
        for one, means, stds in zip(series, mean.tolist(), std.tolist(), strict=True)
        for t, m, s in zip(times, means, stds, strict=True)
    ]


def as_csv(table: Iterable[CurveRow]) -> str:
    """The rows as CSV with all digits; missing values are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(CurveRow)]
    writer.writerow(names)
    writer.writerows([getattr(row, name) for name in names] for row in table)
    return text.getvalue()


def _deviation(values: Array) -> Array:
    if len(values) == 1:  # the deviation is unknown
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1))
