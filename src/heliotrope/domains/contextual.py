"""Contexts (Krause and Ong 2011): the part of the input that is given, not chosen.

A point of a contextual problem is a choice followed by a context. The posterior is over such
points, so an observation in one context informs all contexts that the kernel calls similar.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains.box import Box, Lattice
from heliotrope.domains.finite import Finite
from heliotrope.domains.places import Choices, Domain
from heliotrope.errors import InputError, located
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_points, as_vector


@register
@dataclass(frozen=True, eq=False)
class Contextual:
    """A domain of choices and a domain of contexts, each a Finite domain or a Box.

    ``joined`` is the domain of their points, each a choice followed by a context. It is Finite if
    both are, otherwise a Box.

    Examples
    --------
    >>> import heliotrope as ht
    >>> fans = Contextual(choices=ht.grid(5), context=ht.Box(-10.0, 40.0))
    >>> fans.joined.dimension
    2
    """

    choices: Domain
    context: Domain

    def __post_init__(self) -> None:
        for name in ("choices", "context"):
            if not isinstance(getattr(self, name), (Finite, Box)):
                raise InputError(f"{name} to be Finite or a Box", repr(getattr(self, name))[:60])

    @cached_property
    def joined(self) -> Domain:
        """All pairs of a choice and a context."""
        one, other = self.choices, self.context
        if isinstance(one, Finite) and isinstance(other, Finite):
            left = np.repeat(one.points, len(other), axis=0)
            return Finite(np.hstack([left, np.tile(other.points, (len(one), 1))]))
        return self._box((*_lattices(one, 0), *_lattices(other, one.dimension)))

    def given(self, context: ArrayLike) -> Choices:
        """Return the choices in a context: places of ``joined``, or that Box fixed there."""
        values = self._checked(context)
        if isinstance(self.joined, Finite):
            assert isinstance(self.choices, Finite)
            assert isinstance(self.context, Finite)
            first = self.context.places(values[None, :])
            return self.choices.indices * len(self.context) + first
        columns = range(self.choices.dimension, self.joined.dimension)
        held = Lattice(tuple(columns), values[None, :])
        return self._box((*_lattices(self.choices, 0), held))

    def points(self, X: ArrayLike, context: ArrayLike) -> Array:
        """Join choices X (n, d) to a context."""
        chosen = as_points(X, "X", self.choices.dimension)
        values = self._checked(context)
        return np.hstack([chosen, np.tile(values, (len(chosen), 1))])

    def context_of(self, x: Array) -> Array:
        """Return the context of a joined point."""
        return x[self.choices.dimension :]

    def _checked(self, context: ArrayLike) -> Array:
        """Return the coordinates of one context, after a check."""
        with located("context"):
            values = as_vector(context, "a context")
            found: Array = self.context.at(self.context.places(values[None, :]))[0]
            return found

    def _box(self, lattices: tuple[Lattice, ...]) -> Box:
        ends = [_ends(domain) for domain in (self.choices, self.context)]
        lower, upper = (np.concatenate(column) for column in zip(*ends, strict=True))
        return Box(lower, upper, lattices)


def _ends(domain: Domain) -> tuple[Array, Array]:
    """Corners of the box around a domain, which has some width in every coordinate."""
    if isinstance(domain, Box):
        return domain.lower, domain.upper
    lower, upper = domain.points.min(axis=0), domain.points.max(axis=0)
    flat = lower == upper
    return np.where(flat, lower - 0.5, lower), np.where(flat, upper + 0.5, upper)


def _lattices(domain: Domain, offset: int) -> list[Lattice]:
    """Lattices of a domain whose coordinates start at the column ``offset``."""
    if isinstance(domain, Finite):
        return [Lattice(tuple(range(offset, offset + domain.dimension)), domain.points)]
    return [
        Lattice(tuple(column + offset for column in lattice.columns), lattice.rows)
        for lattice in domain.lattices
    ]
