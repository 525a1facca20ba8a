"""Sets of points: finite ones, grids, and boxes, whose coordinates may be restricted to a lattice.

A place is how engines name a point: an index in a Finite domain, coordinates in a Box.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heliotrope.errors import InputError
from heliotrope.serialization.codec import register
from heliotrope.validation import (
    Array,
    Indices,
    as_array,
    as_indices,
    as_points,
    as_vector,
    as_whole,
)

if TYPE_CHECKING:
    from scipy.spatial import KDTree

SAME_POINT = 1e-9  # points closer than this share of the domain's width are equal
_NEAR = 1e-6  # likewise for points given by users, after single precision or a text file
_MOST = 10**8  # points of a grid: more would fill the memory
_AXES = 32  # numpy's limit for a mesh


@register
@dataclass(frozen=True, eq=False)
class Finite:
    """A finite set of points, one per row.

    Examples
    --------
    >>> Finite([[0.0, 0.0], [0.5, 1.0]]).points.shape
    (2, 2)
    """

    points: Array

    def __init__(self, points: ArrayLike) -> None:
        array = as_points(points, "points")
        if array.size == 0:
            raise InputError("a domain of at least one point", f"shape {array.shape}")
        object.__setattr__(self, "points", array)

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def indices(self) -> Indices:
        """All places, (M,)."""
        return np.arange(len(self.points))

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return int(self.points.shape[1])

    @cached_property
    def lower(self) -> Array:
        """The least value of each coordinate."""
        lower: Array = self.points.min(axis=0)
        return lower

    @cached_property
    def widths(self) -> Array:
        """The range of each coordinate; 1 where all points are equal."""
        widths: Array = np.ptp(self.points, axis=0)
        return np.where(widths > 0.0, widths, 1.0)

    def places(self, x: ArrayLike) -> Indices:
        """Return the indices of the given points, (n, d).

        Integers (n,) are taken as indices, except in one dimension, where they are points.
        """
        indices = as_indices(x)
        if indices is not None and self.dimension > 1:
            return self.check(indices)
        points = as_points(x, "x", self.dimension)
        nearest, gaps = self._nearest(points)
        if gaps.max(initial=0.0) > _NEAR:
            worst = int(gaps.argmax())
            raise InputError(
                "a point of the domain",
                f"{points[worst].tolist()}",
                f"The nearest is {self.points[nearest[worst]].tolist()}, index {nearest[worst]}.",
            )
        return nearest

    def find(self, points: Array) -> Indices | None:
        """Return the indices of points (n, d); None if one is not in the domain."""
        nearest, gaps = self._nearest(points)
        return nearest if gaps.max(initial=0.0) <= SAME_POINT else None

    def at(self, places: NDArray[Any]) -> Array:
        """Return the coordinates of the given places."""
        points: Array = self.points[places]
        return points

    def check(self, indices: NDArray[Any]) -> Indices:
        """Return indices (n,), after a check that they are in the domain."""
        if indices.size and not (indices.min() >= 0 and indices.max() < len(self)):
            raise InputError(
                f"indices from 0 to {len(self) - 1}", f"{indices.min()} to {indices.max()}"
            )
        return indices.astype(np.intp)

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree  # slow to load, and not needed by clients

        is_scaled = bool((self.widths == 1.0).all())  # then the tree shares the points
        return KDTree(self.points if is_scaled else self.points / self.widths)

    def _nearest(self, points: Array) -> tuple[Indices, Array]:
        """Index of the nearest point, and its distance relative to the domain's widths."""
        gaps, nearest = self._tree.query(points / self.widths, p=np.inf)
        return nearest, gaps


def grid(*shape: int, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0) -> Finite:
    """Equally spaced points between ``lower`` and ``upper``, by default in the unit cube.

    Examples
    --------
    >>> grid(50, 50).points.shape
    (2500, 2)
    >>> grid(3, lower=-1, upper=1).points.ravel()
    array([-1.,  0.,  1.])
    """
    if not 1 <= len(shape) <= _AXES:
        raise InputError(
            f"1 to {_AXES} numbers of points, one per dimension, as in grid(50, 50)",
            f"{len(shape)} numbers",
        )
    counts = [as_whole(count, "a grid's number of points", least=1) for count in shape]
    low, high = as_vector(lower, "lower", len(counts)), as_vector(upper, "upper", len(counts))
    if not all(a < b or (a == b and n == 1) for a, b, n in zip(low, high, counts, strict=True)):
        raise InputError("lower < upper in every coordinate", f"{low}, {high}")
    if math.prod(counts) > _MOST:
        got, advice = (
            f"{math.prod(counts):,} points",
            "Use a Box, which needs no list of its points.",
        )
        raise InputError(f"a grid of at most {_MOST:,} points", got, advice)
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, counts, strict=True)]
    return Finite(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(counts)))


@register
@dataclass(frozen=True, eq=False)
class Lattice:
    """Coordinates of a Box that are restricted to a few joint values, ``rows`` (k, columns)."""

    columns: tuple[int, ...]
    rows: Array

    def __post_init__(self) -> None:
        columns = tuple(as_whole(column, "a column", least=0) for column in self.columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rows", as_array(self.rows, "rows", ndim=2))
        if not len(self.rows) or self.rows.shape[1] != len(columns):
            raise InputError(f"rows of {len(columns)} numbers", f"shape {self.rows.shape}")

    def snap(self, points: Array) -> None:
        """Move the coordinates of points (n, d) to the nearest row."""
        from scipy.spatial.distance import cdist  # slow to load, and not needed by clients

        here = points[:, self.columns]
        away = cdist(here, self.rows, "sqeuclidean")  # a matrix product would cancel far from 0
        points[:, self.columns] = self.rows[away.argmin(axis=1)]


@register
@dataclass(frozen=True, eq=False)
class Box:
    """All points between two corners; ``lattices`` restrict coordinates that are not continuous.

    Policies choose points on the lattices. Observations may lie anywhere in the box.

    Examples
    --------
    >>> Box([0, 0], [1, 2]).dimension
    2
    """

    lower: Array
    upper: Array
    lattices: tuple[Lattice, ...] = ()

    def __init__(
        self, lower: ArrayLike, upper: ArrayLike, lattices: Sequence[Lattice] = ()
    ) -> None:
        object.__setattr__(self, "lower", as_vector(lower, "lower"))
        object.__setattr__(self, "upper", as_vector(upper, "upper"))
        object.__setattr__(self, "lattices", tuple(lattices))
        if self.lower.shape != self.upper.shape or self.lower.size == 0:
            raise InputError(
                "lower and upper of the same length, at least 1",
                f"shapes {self.lower.shape} and {self.upper.shape}",
            )
        if not np.all(self.lower < self.upper):
            raise InputError("lower < upper in every coordinate", f"{self.lower}, {self.upper}")
        for lattice in self.lattices:
            if not isinstance(lattice, Lattice) or max(lattice.columns) >= self.dimension:
                raise InputError(
                    f"lattices within {self.dimension} coordinates", repr(lattice)[:60]
                )

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return len(self.lower)

    @cached_property
    def widths(self) -> Array:
        """The range of each coordinate."""
        return self.upper - self.lower

    @cached_property
    def continuous(self) -> NDArray[np.bool_]:
        """Which coordinates are on no lattice, (d,)."""
        free = np.ones(self.dimension, dtype=bool)
        for lattice in self.lattices:
            free[list(lattice.columns)] = False
        return free

    def snap(self, points: Array) -> Array:
        """Return points (n, d) moved onto the lattices."""
        if not self.lattices:
            return points
        snapped = np.array(points)
        for lattice in self.lattices:
            lattice.snap(snapped)
        return snapped

    def places(self, x: ArrayLike) -> Array:
        """Return the given points, (n, d), after a check that they lie inside."""
        points = as_points(x, "x", self.dimension)
        slack = SAME_POINT * self.widths
        inside = (points >= self.lower - slack) & (points <= self.upper + slack)
        if not inside.all():
            outside = points[~inside.all(axis=1)][0]
            raise InputError(
                f"points between {self.lower.tolist()} and {self.upper.tolist()}",
                f"{outside.tolist()}",
            )
        return np.clip(points, self.lower, self.upper)

    def at(self, places: NDArray[Any]) -> Array:
        """Return the coordinates of the given places, which are the places themselves."""
        return places

    def scaled(self, unit: Array) -> Array:
        """Map points of the unit cube into the box."""
        return np.minimum(self.lower + unit * self.widths, self.upper)

    def unit(self, points: Array) -> Array:
        """Map points of the box into the unit cube."""
        return (points - self.lower) / self.widths


Places = NDArray[Any]  # Indices (n,) of a Finite domain, or points (n, d)
PlaceLike: TypeAlias = ArrayLike | int | Mapping[str, Any] | str
"""One place as a user gives it: a point, an index, or in a named space params or an option."""
Domain = Finite | Box
Choices = Box | Indices  # the allowed points: a box, or indices of a Finite domain


def are_indices(places: Places) -> bool:
    """Whether places are indices (n,) rather than points (n, d)."""
    return places.ndim == 1


def all_choices(domain: Domain) -> Choices:
    """Return all choices of a domain."""
    return domain.indices if isinstance(domain, Finite) else domain


def is_choice(choices: Choices, place: Places) -> bool:
    """Whether a place, (1,) or (1, d), is one of the choices."""
    if isinstance(choices, Box):
        return bool(np.array_equal(choices.snap(place), place))
    return bool(np.isin(place, choices).all())


def one_place(domain: Domain, x: ArrayLike | int) -> Places:
    """Return the place of one point (d,), or of one index of a Finite domain."""
    is_index = isinstance(x, (int, np.integer)) and not isinstance(x, bool)
    if isinstance(domain, Finite) and is_index:
        return domain.check(np.array([x]))
    return domain.places(as_vector(x, "a point")[None, :])
