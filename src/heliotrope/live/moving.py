"""How far settings are from the one that is applied now, in the units of the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from heliotrope.domains import Domain, Finite, Places, are_indices
from heliotrope.errors import InputError
from heliotrope.live.deciding import Mask
from heliotrope.live.rules import Moves
from heliotrope.spaces import Integer, Options, Real, SearchSpace
from heliotrope.validation import Array

_ROUNDING = 1e-9  # share of a distance


class Distances:
    """Distances between places, by parameter; a change of a category is a distance of 1.

    The coordinates of a domain without names are called "0", "1", ...
    """

    def __init__(
        self, moves: Moves, domain: Domain, space: SearchSpace | Options | None = None
    ) -> None:
        self._moves, self._domain, self._space = moves, domain, space
        self._names = _names(domain, space)
        for name in {**moves.largest, **moves.cost}:
            if name not in self._names:
                known = ", ".join(self._names[:10])
                raise InputError(f"a parameter among {known}", repr(name), "", "moves")
        self._costs = np.array([moves.cost.get(name, 0.0) for name in self._names])
        self._largest = np.array([moves.largest.get(name, np.inf) for name in self._names])

    def reachable(self, places: Places, applied: Sequence[Places]) -> Mask:
        """Which places are no further than the largest move from each of those applied."""
        within = np.ones(len(places), dtype=bool)
        if self._moves.largest:
            values, largest = self._values(places), self._largest * (1.0 + _ROUNDING)
            for one in applied:
                within &= (self._apart(values, self._values(one)) <= largest).all(1)
        return within

    def price(self, places: Places, applied: Places | None) -> Array:
        """The cost of moving to each place from the one applied."""
        if applied is None or not self._moves.cost:
            return np.zeros(len(places))
        price: Array = self._apart(self._values(places), self._values(applied)) @ self._costs
        return price

    def _apart(self, values: Array, applied: Array) -> Array:
        """Distances (q, parameters)."""
        apart = np.abs(values - applied)
        if not isinstance(self._space, SearchSpace):
            return apart if self._space is None else np.sign(apart)
        parameters = self._space.parameters.values()
        is_number = np.array([isinstance(one, (Real, Integer)) for one in parameters])
        return np.where(is_number, apart, np.sign(apart))

    def _values(self, places: Places) -> Array:
        """Values of the parameters, (q, parameters); of a category, the number of the choice."""
        if are_indices(places):
            return self._table[places]
        return self._read(places)

    @cached_property
    def _table(self) -> Array:
        """The values at all points of a Finite domain."""
        assert isinstance(self._domain, Finite)
        if isinstance(self._space, Options):
            return self._domain.indices[:, None].astype(np.float64)
        return self._read(self._domain.points)

    def _read(self, points: Array) -> Array:
        return self._space.numbers(points) if isinstance(self._space, SearchSpace) else points


def _names(domain: Domain, space: SearchSpace | Options | None) -> list[str]:
    if isinstance(space, SearchSpace):
        return list(space.parameters)
    return ["option"] if space is not None else [str(i) for i in range(domain.dimension)]
