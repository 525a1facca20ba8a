"""Search for the maximum of a function over the unit cube, for many starting points at once."""

from collections.abc import Callable
from itertools import product

import numpy as np

from heliotrope.domains import Box
from heliotrope.validation import Array

_FIRST_STEP = 0.05


def compass_search(
    f: Callable[[Array], Array], points: Array, directions: Array, rounds: int
) -> tuple[Array, Array]:
    """Maximize from points (..., d) along directions (q, d): the final points and their values.

    ``f`` takes points (..., q, d) and returns values (..., q). Each search starts with a step of
    1/20 and halves it where no direction is better.
    """
    values, width = f(points), np.full(points.shape[:-1], _FIRST_STEP)
    for _ in range(rounds):
        tried = np.clip(points[..., None, :] + width[..., None, None] * directions, 0.0, 1.0)
        found = f(tried)
        best, top = found.argmax(axis=-1), found.max(axis=-1)
        up = top > values
        ahead = np.take_along_axis(tried, best[..., None, None], axis=-2)[..., 0, :]
        points, values = np.where(up[..., None], ahead, points), np.where(up, top, values)
        width = np.where(up, width, 0.5 * width)
    return points, values


def compass(dimension: int) -> Array:
    """Both directions along every coordinate, (2 d, d)."""
    return np.concatenate([np.eye(dimension), -np.eye(dimension)])


def lattice_grid(box: Box, side: int) -> Array:
    """All lattice rows of a unit cube, joined to a grid of ``side`` points a free coordinate."""
    axis = np.linspace(0.0, 1.0, side)[:, None]
    parts = [(list(lattice.columns), lattice.rows) for lattice in box.lattices]
    parts += [([column], axis) for column in np.flatnonzero(box.continuous).tolist()]
    chosen = list(product(*(range(len(rows)) for _, rows in parts)))
    points = np.empty((len(chosen), box.dimension))
    for (columns, rows), which in zip(parts, np.array(chosen).T, strict=True):
        points[:, columns] = rows[which]
    return points
