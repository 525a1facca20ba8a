"""Domains: the points that can be evaluated, as a finite set, a box, or choices in contexts."""

from heliotrope.domains.adapter import DomainAdapter
from heliotrope.domains.box import Box, Lattice
from heliotrope.domains.contextual import Contextual
from heliotrope.domains.finite import Finite, grid
from heliotrope.domains.places import (
    Choices,
    Domain,
    Places,
    all_choices,
    are_indices,
    is_choice,
    one_place,
)
from heliotrope.domains.unit_cube import UnitCube, farthest_choice, initial_count

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
    "all_choices",
    "are_indices",
    "farthest_choice",
    "grid",
    "initial_count",
    "is_choice",
    "one_place",
]
