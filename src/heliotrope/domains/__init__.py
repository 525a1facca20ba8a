"""Domains: the points that can be evaluated, as a finite set, a box, or choices in contexts."""

from heliotrope.domains.adapters import (
    Contextual as Contextual,
    DomainAdapter as DomainAdapter,
    UnitCube as UnitCube,
    coordinate_groups as coordinate_groups,
    initial_count as initial_count,
)
from heliotrope.domains.points import (
    Box as Box,
    Choices as Choices,
    Domain as Domain,
    Finite as Finite,
    Lattice as Lattice,
    PlaceLike as PlaceLike,
    Places as Places,
    all_choices as all_choices,
    are_indices as are_indices,
    grid as grid,
    is_choice as is_choice,
    one_place as one_place,
)
