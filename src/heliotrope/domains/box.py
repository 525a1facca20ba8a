"""Boxes of points, some of whose coordinates may be restricted to a lattice, and places.

A place is how engines name a point: an index in a Finite domain, coordinates in a Box.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heliotrope.domains.finite import SAME_POINT, Finite
from heliotrope.errors import InputError
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, Indices, as_array, as_points, as_vector, as_whole


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
