"""Data to learn from: logged observations and panels, and the results of an optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from heliotrope.domains import Finite, Places
from heliotrope.errors import InputError
from heliotrope.kernels import Tabulated
from heliotrope.priors import Prior
from heliotrope.validation import LARGEST, Array, Indices, as_array, as_indices, as_points, as_table

_SAME = 1e-12  # spread of values, relative to their size, that is only rounding
_SMALLEST = 1e-90  # deviation whose square does not underflow
_PACES = (1e-100, 1e100)
_PAUSES, _GAPS = 3, 10  # at most three pauses are left out, and at most one gap in ten
_LATEST, _APART = 150, 100


@dataclass(frozen=True, eq=False)
class Observations:
    """Values y (n,) measured at times t (n,) and points x (n, d), in any order.

    Over a Tabulated kernel x (n,) are indices.
    """

    t: Array
    x: Places
    y: Array

    def __init__(self, t: ArrayLike, x: ArrayLike, y: ArrayLike) -> None:
        times, values, indices = as_array(t, "t", ndim=1), as_array(y, "y", ndim=1), as_indices(x)
        places = as_points(x, "x") if indices is None else indices
        if indices is not None and indices.min(initial=0) < 0:
            raise InputError("indices of at least 0", str(indices.min()))
        if not len(times) == len(places) == len(values):
            raise InputError(
                "equal numbers of times, points and values",
                f"{len(times)} times, {len(places)} points, {len(values)} values",
            )
        if not len(times):
            raise InputError("at least one observation", "none")
        for name, column in (("t", times), ("x", places), ("y", values)):
            object.__setattr__(self, name, column)


@dataclass(frozen=True, eq=False)
class Panel:
    """Values (T, M) of M points at T rising times; NaN marks a gap.

    A kernel over points needs ``points`` (M, d); a Tabulated one does not.
    """

    times: Array
    values: Array
    points: Array | None

    def __init__(
        self, times: ArrayLike, values: ArrayLike, points: ArrayLike | None = None
    ) -> None:
        t = as_array(times, "times", ndim=1)
        table = as_table(values, "values")
        if len(table) != len(t) or not table.size:
            raise InputError(f"values with one row for each of {len(t)} times", f"{table.shape}")
        if not np.all(np.diff(t) > 0.0):
            raise InputError("rising times", "times that repeat or fall")
        if np.isnan(table).all():
            raise InputError("at least one value that is not NaN", "none")
        largest = float(np.nanmax(np.abs(table)))
        if largest > LARGEST:
            raise InputError(f"values of a size below {LARGEST:g}, or NaN", f"{largest:g}")
        at = None if points is None else as_points(points, "points")
        if at is not None and len(at) != table.shape[1]:
            raise InputError(f"one point for each of {table.shape[1]} columns", f"{len(at)} points")
        table.flags.writeable = False
        for name, part in (("times", t), ("values", table), ("points", at)):
            object.__setattr__(self, name, part)

    @property
    def complete(self) -> bool:
        """Whether every point was measured at every time."""
        return not bool(np.isnan(self.values).any())

    def domain(self, prior: Prior) -> Finite:
        """Return the points as a domain for the prior's kernel."""
        if self.points is not None:
            return Finite(self.points)
        if not isinstance(prior.space, Tabulated):
            raise InputError(
                "Panel(times, values, points) under a kernel over points", "a panel without points"
            )
        return Finite(np.arange(float(self.values.shape[1])))


def spacing(data: Data) -> float:
    """The median step between the times of the data; 1 if there is only one time."""
    parts = [part.times if isinstance(part, Panel) else part.t for part in episodes(data)]
    steps = np.concatenate([np.diff(np.unique(times)) for times in parts])
    return float(np.median(steps)) if len(steps) else 1.0


def spread(data: Data) -> float:
    """The variance of all values of the data around their mean."""
    parts = [part.values if isinstance(part, Panel) else part.y for part in episodes(data)]
    return float(np.nanvar(np.concatenate([part.ravel() for part in parts])))


Data: TypeAlias = "Observations | Panel | Sequence[Observations | Panel]"
"""One episode, or several independent ones, whose log likelihoods add."""


def episodes(data: Data) -> list[Observations | Panel]:
    """Return the independent episodes of data."""
    parts: list[Any] = list(data) if isinstance(data, Iterable) else [data]
    wrong = [part for part in parts if not isinstance(part, (Observations, Panel))]
    if wrong or not parts:
        raise InputError("Observations, a Panel, or a list of them", repr(wrong[:1] or parts))
    return parts


def as_panels(panels: Panel | Sequence[Panel]) -> list[Panel]:
    """Return panels of the same points, or raise an InputError."""
    parts = episodes(panels)
    if not all(isinstance(part, Panel) for part in parts):
        raise InputError("a Panel or several", "Observations")
    widths = {part.values.shape[1] for part in parts if isinstance(part, Panel)}
    if len(widths) > 1:
        raise InputError("panels of the same points", f"{sorted(widths)} columns")
    return [part for part in parts if isinstance(part, Panel)]


@dataclass(frozen=True, eq=False)
class Results:
    """Times (n,), points (n, d) in the unit cube and values (n,) of some results, by time."""

    t: Array
    x: Array
    y: Array

    @property
    def pace(self) -> float:
        """The mean time between two of the latest results, without a few long pauses.

        Only the latest count, since some older ones may have been dropped. The median would be
        almost zero where results come in bursts.
        """
        gaps = np.sort(np.diff(np.unique(np.sort(self.t)[-_LATEST:])))
        usual = gaps[: len(gaps) - min(_PAUSES, len(gaps) // _GAPS)]
        return float(np.clip(np.mean(usual), *_PACES)) if len(usual) else 1.0

    @property
    def spread(self) -> float:
        """The deviation of the values; for one value its size, for equal ones 1/1000 of that."""
        size, found = float(np.abs(self.y).max()), float(np.std(self.y))
        if len(self.y) == 1:  # how much others differ is unknown
            return max(size, _SMALLEST) if size else 1.0
        return found if found > max(_SAME * size, _SMALLEST) else max(1e-3 * size, 1e-6)

    def at(self, places: Indices | slice) -> Results:
        """Some of the results."""
        return Results(self.t[places], self.x[places], self.y[places])

    def informative(self) -> Results:
        """The latest results, which show noise and drift, and older ones that lie apart.

        The latest alone may all lie near the maximum, and say little of the mean and the variance.
        """
        return self.at(self.select(_LATEST, _APART))

    def select(self, latest: int, apart: int) -> Indices:
        """Indices of the latest results, and of older ones far apart in space and time, in order.

        Time counts as one more coordinate of the cube. Each older one is the farthest from all
        selected before it.
        """
        older = len(self.t) - latest
        if older <= apart:
            return np.arange(len(self.t))
        age = (self.t - self.t[0]) / max(float(self.t[-1] - self.t[0]), _SMALLEST)
        z = np.column_stack([self.x, age])
        chosen, gaps = list[int](), cdist(z[:older], z[older:]).min(axis=1)
        for _ in range(apart):
            chosen.append(int(gaps.argmax()))
            gaps = np.minimum(gaps, cdist(z[:older], z[chosen[-1:]])[:, 0])
            gaps[chosen[-1]] = -1.0
        return np.append(np.sort(chosen), np.arange(older, len(self.t)))
