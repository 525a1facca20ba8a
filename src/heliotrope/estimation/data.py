"""Logged data to learn from: observations and panels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Finite, Places
from heliotrope.errors import InputError
from heliotrope.kernels import Tabulated
from heliotrope.priors import Prior
from heliotrope.terms import Term
from heliotrope.validation import (
    LARGEST,
    Array,
    as_array,
    as_indices,
    as_points,
    as_positive,
    as_table,
    as_vector,
    as_whole,
    short_repr,
)


@dataclass(frozen=True, eq=False)
class Observations:
    """Values y (n,) measured at times t (n,) and points x (n, d), in any order.

    Over a Tabulated kernel x (n,) are indices. ``std`` are the known standard errors of the values,
    with NaN where they have the prior's noise. ``n`` are the numbers of repeats that the values
    average. A single number applies to all values.

    Examples
    --------
    >>> data = Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1], std=[0.5, np.nan], n=[1, 4])
    >>> data.noise(usual=0.04)
    array([0.25, 0.01])
    """

    t: Array
    x: Places
    y: Array
    std: Array
    n: Array

    def __init__(
        self,
        t: ArrayLike,
        x: ArrayLike,
        y: ArrayLike,
        *,
        std: ArrayLike | None = None,
        n: ArrayLike = 1.0,
    ) -> None:
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
        errors, repeats = _as_errors(std, len(times)), as_vector(n, "n", len(times))
        if not np.all((repeats >= 1.0) & (repeats == np.round(repeats))):
            raise InputError("n to be whole numbers of at least 1", short_repr(n), "", "n")
        if np.any((repeats > 1.0) & ~np.isnan(errors)):
            raise InputError("either std or n for each value", "both", "", "n")
        columns = {"t": times, "x": places, "y": values, "std": errors, "n": repeats}
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    def noise(self, usual: float) -> Array:
        """The noise variance of each value; ``usual`` is that of a single usual value."""
        return np.where(np.isnan(self.std), usual / self.n, self.std**2)


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
        """Return the points as a domain for the prior's kernels."""
        if self.points is not None:
            return Finite(self.points)
        if any(needs_points(term) for term in prior.terms):
            raise InputError(
                "Panel(times, values, points) under a kernel over points", "a panel without points"
            )
        return Finite(np.arange(float(self.values.shape[1])))

    def sample(self, count: int, seed: int = 0) -> Observations:
        """Return ``count`` of the measured values, chosen at random, in the order of time.

        Without points, the places are the indices of the columns.

        Examples
        --------
        >>> Panel([1, 2, 3], [[0.1, 0.2], [0.3, np.nan], [0.5, 0.6]]).sample(4).t
        array([1., 2., 3., 3.])
        """
        measured = np.flatnonzero(~np.isnan(self.values))
        number = as_whole(count, "count", least=1)
        if number > len(measured):
            raise InputError(f"a count of at most {len(measured)} values", repr(count), "", "count")
        rng = np.random.default_rng(as_whole(seed, "seed", least=0))
        rows, columns = np.divmod(
            np.sort(rng.choice(measured, number, replace=False)), self.values.shape[1]
        )
        x = columns if self.points is None else self.points[columns]
        return Observations(self.times[rows], x, self.values[rows, columns])


def needs_points(term: Term) -> bool:
    """Whether the kernel of a term is a function of points."""
    return not term.shared and not isinstance(term.space, Tabulated)


def _as_errors(std: ArrayLike | None, count: int) -> Array:
    """Standard errors (count,), NaN where they are unknown."""
    if std is None:
        return np.full(count, np.nan)
    if not np.iterable(std):
        return np.full(count, as_positive(std, "std"))
    errors: Array = as_table(cast("ArrayLike", [std]), "std")[0]
    if len(errors) != count:
        raise InputError(f"{count} standard errors", f"{len(errors)}", "", "std")
    if not np.all(np.isnan(errors) | ((errors > 0.0) & (errors < LARGEST))):
        raise InputError("std above zero, or NaN where it is unknown", short_repr(std), "", "std")
    errors.flags.writeable = False
    return errors


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
