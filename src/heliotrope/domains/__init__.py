"""Domains: the points that can be evaluated, as a finite set, a box, or choices in contexts."""

from heliotrope.domains.adapter import DomainAdapter
from heliotrope.domains.box import Box, Lattice
from heliotrope.domains.contextual import Contextual
from heliotrope.domains.finite import Finite, grid
from heliotrope.domains.places import (
    Choices,
    Domain,
    Places,
    among,
    are_indices,
    choices_of,
    one_place,
)
from heliotrope.domains.unit_cube import UnitCube, farthest, first_points

__all__ = [
    "Box",
    "Choices",
    "Contextual",
    "Domain",
    "DomainAdapter",
    "Finite",
    "Lattice",
    "Places",
    "UnitCube",
    "among",
    "are_indices",
    "choices_of",
    "farthest",
    "first_points",
    "grid",
    "one_place",
]
