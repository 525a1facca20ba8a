"""Domains: the points that can be evaluated, as a finite set, a box, or choices in contexts."""

from heliotrope.domains.box import (
    Box as Box,
    Choices as Choices,
    Domain as Domain,
    Lattice as Lattice,
    PlaceLike as PlaceLike,
    Places as Places,
    all_choices as all_choices,
    are_indices as are_indices,
    is_choice as is_choice,
    one_place as one_place,
)
from heliotrope.domains.contextual import Contextual as Contextual, DomainAdapter as DomainAdapter
from heliotrope.domains.finite import Finite as Finite, grid as grid
from heliotrope.domains.unit_cube import (
    UnitCube as UnitCube,
    coordinate_groups as coordinate_groups,
    initial_count as initial_count,
)
