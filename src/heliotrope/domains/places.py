"""Places: how engines name the points of a domain.

A place is an index in a Finite domain, and a vector of coordinates in a Box.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heliotrope.domains.box import Box
from heliotrope.domains.finite import Finite
from heliotrope.validation import Indices, as_vector

Places = NDArray[Any]  # Indices (n,) of a Finite domain, or points (n, d)
Domain = Finite | Box
Choices = Box | Indices  # the allowed points: a box, or indices of a Finite domain


def are_indices(places: Places) -> bool:
    """Tell indices (n,) from points (n, d)."""
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
