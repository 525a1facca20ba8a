"""A domain seen as part of the unit cube, where length scales mean the same in any units."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from heliotrope.arrays import Array
from heliotrope.domains import Box, Domain, Finite, Lattice, Places, are_indices
from heliotrope.streams import Draw

_CANDIDATES = 32  # few enough that the corners, which lie farthest apart, are not all taken first


class UnitCube:
    """The way from a domain into the unit cube and back."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        if isinstance(domain, Box):
            self._low, self._width = domain.lower, domain.upper - domain.lower
        else:
            width = np.ptp(domain.points, axis=0)
            self._low = domain.points.min(axis=0)
            self._width = np.where(width > 0.0, width, 1.0)

    @cached_property
    def domain(self) -> Domain:
        """The domain in the unit cube; indices are the same."""
        if isinstance(self._domain, Finite):
            return Finite(self._unit(self._domain.points))
        lattices = [self._lattice(lattice) for lattice in self._domain.lattices]
        return Box(np.zeros_like(self._low), np.ones_like(self._low), lattices)

    def enter(self, places: Places) -> Places:
        """Places of the domain as places in the cube."""
        return places if are_indices(places) else self._unit(places)

    def leave(self, places: Places) -> Places:
        """Places in the cube as places of the domain."""
        if are_indices(places):
            return places
        assert isinstance(self._domain, Box)
        return self._domain.snap(self._domain.scaled(places))

    def _unit(self, points: Array) -> Array:
        return (points - self._low) / self._width

    def _lattice(self, lattice: Lattice) -> Lattice:
        columns = list(lattice.columns)
        return Lattice(lattice.columns, (lattice.rows - self._low[columns]) / self._width[columns])


def farthest(domain: Domain, taken: Array, draw: Draw) -> Places:
    """One of a few random places: the one that lies farthest from points (n, d)."""
    rng = draw()
    if isinstance(domain, Finite):
        places: Places = rng.permutation(len(domain))[:_CANDIDATES]
    else:
        places = domain.snap(domain.scaled(rng.random((_CANDIDATES, domain.dimension))))
    apart = np.linalg.norm(domain.at(places)[:, None] - taken[None], axis=2)
    at = int(apart.min(axis=1, initial=np.inf).argmax())
    return places[at : at + 1]
