"""Domains scaled to the unit cube, where length scales do not depend on units."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from heliotrope.domains.box import Box, Choices, Domain, Lattice, Places, are_indices
from heliotrope.domains.finite import Finite
from heliotrope.rng import RNGFactory

_MANY = 20  # coordinates
_CANDIDATES = 32  # more would favour the corners, which are farthest apart


class UnitCube:
    """Maps a domain into the unit cube and back."""

    def __init__(self, domain: Domain) -> None:
        self._outside = domain

    @cached_property
    def domain(self) -> Domain:
        """The domain in the unit cube; indices are the same.

        A Finite domain that fills the cube, such as options without features, is not copied.
        """
        outside = self._outside
        if not isinstance(outside, Finite):
            return self._box(outside)
        fills = not outside.lower.any() and bool((outside.widths == 1.0).all())
        return outside if fills else Finite(self.enter(outside.points))

    def choices(self, choices: Choices) -> Choices:
        """Map choices of the domain to choices in the cube."""
        return self._box(choices) if isinstance(choices, Box) else choices

    def enter(self, places: Places) -> Places:
        """Map places of the domain to places in the cube."""
        if are_indices(places):
            return places
        return (places - self._outside.lower) / self._outside.widths

    def leave(self, places: Places, choices: Choices) -> Places:
        """Map places in the cube to choices of the domain."""
        return choices.snap(choices.scaled(places)) if isinstance(choices, Box) else places

    def farthest_choice(
        self, choices: Choices, taken: Sequence[Places], make_rng: RNGFactory
    ) -> Places:
        """Return the one of a few random choices that is farthest from places in the cube."""
        rng, inside = make_rng(), self.choices(choices)
        if isinstance(inside, Box):
            places: Places = inside.snap(rng.random((_CANDIDATES, inside.dimension)))
        else:
            places = rng.permutation(inside)[:_CANDIDATES]
        others = [self.domain.at(place) for place in taken]
        points = np.concatenate([*others, np.empty((0, self.domain.dimension))])
        apart = np.linalg.norm(self.domain.at(places)[:, None] - points[None], axis=2)
        at = int(apart.min(axis=1, initial=np.inf).argmax())
        return self.leave(places[at : at + 1], choices)

    def _box(self, box: Box) -> Box:
        lower, widths = self._outside.lower, self._outside.widths
        lattices = list[Lattice]()
        for lattice in box.lattices:
            at = list(lattice.columns)
            lattices.append(Lattice(lattice.columns, (lattice.rows - lower[at]) / widths[at]))
        return Box(np.zeros_like(lower), np.ones_like(lower), lattices)


def initial_count(domain: Domain) -> int:
    """Number of space-filling points to evaluate before a learned model is used.

    This is 2 g + 1 for g groups of coordinates, and at most the number of points.
    """
    most = len(domain) if isinstance(domain, Finite) else np.inf
    return int(min(2 * len(coordinate_groups(domain)) + 1, most))


def coordinate_groups(domain: Domain) -> list[list[int]]:
    """Return the coordinates that share a length scale.

    The columns of a lattice, such as those of a category, are one group. So are all coordinates of
    a Finite domain of many, such as options without features, which have one each.
    """
    if isinstance(domain, Finite):
        every = list(range(domain.dimension))
        return [[i] for i in every] if len(every) <= _MANY else [every]
    joined = [list(lattice.columns) for lattice in domain.lattices]
    taken = {column for group in joined for column in group}
    return joined + [[i] for i in range(domain.dimension) if i not in taken]
