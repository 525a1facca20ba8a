"""Between a user's domain and the places of an engine: contexts, and the unit cube.

A context (Krause and Ong 2011) is the part of the input that is given, not chosen. A point of a
contextual problem is a choice followed by a context. The posterior is over such points, so an
observation in one context informs all contexts that the kernel calls similar. The adapter shows an
optimizer domains with and without contexts in the same way. In the unit cube length scales do not
depend on units.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains.points import (
    Box,
    Choices,
    Domain,
    Finite,
    Lattice,
    PlaceLike,
    Places,
    are_indices,
    one_place,
)
from heliotrope.errors import InputError, located
from heliotrope.ledger import Observation, Suggestion
from heliotrope.precision import NoiseColumns, values_and_precisions
from heliotrope.serialization.codec import register
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, Json, as_array, as_points, as_vector, short_repr

_MANY = 20  # coordinates
_CANDIDATES = 32  # more would favour the corners, which are farthest apart

_NAMED = "Create the optimizer over a SearchSpace to use values by name."


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
        choices, context = self.choices, self.context
        if isinstance(choices, Finite) and isinstance(context, Finite):
            left = np.repeat(choices.points, len(context), axis=0)
            return Finite(np.hstack([left, np.tile(context.points, (len(choices), 1))]))
        return self._box((*_lattices(choices, 0), *_lattices(context, choices.dimension)))

    def given(self, context: ArrayLike) -> Choices:
        """Return the choices in a context: places of ``joined``, or that Box fixed there."""
        values = self.checked(context)
        if isinstance(self.choices, Finite) and isinstance(self.context, Finite):
            first = self.context.places(values[None, :])
            return self.choices.indices * len(self.context) + first
        columns = range(self.choices.dimension, self.joined.dimension)
        held = Lattice(tuple(columns), values[None, :])
        return self._box((*_lattices(self.choices, 0), held))

    def points(self, X: ArrayLike, context: ArrayLike) -> Array:
        """Join choices X (n, d) to a context."""
        values = self.checked(context)
        chosen = as_points(X, "X", self.choices.dimension)
        return np.hstack([chosen, np.tile(values, (len(chosen), 1))])

    def context_of(self, x: Array) -> Array:
        """Return the context of a joined point."""
        return x[self.choices.dimension :]

    def checked(self, context: ArrayLike) -> Array:
        """Return the coordinates of one context, after a check of it."""
        with located("context"):
            values = as_vector(context, "a context")
            point: Array = self.context.at(self.context.places(values[None, :]))[0]
            return point

    def _box(self, lattices: tuple[Lattice, ...]) -> Box:
        ends = [_ends(domain) for domain in (self.choices, self.context)]
        lower, upper = (np.concatenate(column) for column in zip(*ends, strict=True))
        return Box(lower, upper, lattices)


class DomainAdapter:
    """Translates between a user's domain and the places of the joint domain."""

    def __init__(self, domain: Domain | Contextual) -> None:
        if not isinstance(domain, (Finite, Box, Contextual)):
            expected = "a Finite domain, a Box, a Contextual one, a SearchSpace or Options"
            raise InputError(expected, short_repr(domain))
        self.given = domain
        self.contextual = domain if isinstance(domain, Contextual) else None
        self.domain = domain.joined if isinstance(domain, Contextual) else domain

    @property
    def choice_domain(self) -> Domain:
        """The domain of the choices, without contexts."""
        return self.domain if self.contextual is None else self.contextual.choices

    def choices(self, context: ArrayLike | None) -> Choices | None:
        """Return the choices in a context; None if the problem has no contexts."""
        if self.contextual is None and context is None:
            return None
        if context is None:
            raise InputError("a context for a contextual problem", "none", "Pass context=...")
        return self._contextual(context).given(context)

    def context(self, context: ArrayLike | None) -> Array | None:
        """Return the coordinates of a context; None if the problem has no contexts."""
        if self.choices(context) is None or context is None:
            return None
        return self._contextual(context).checked(context)

    def places(self, X: Any, context: ArrayLike | None) -> Places:
        """Return the places of points X, of choices X in a context, or of a Finite domain."""
        if context is not None:
            X = self._in_context(X, context)
        if X is not None:
            points = as_points(X, "X", self.domain.dimension)
            indices = self.domain.find(points) if isinstance(self.domain, Finite) else None
            return points if indices is None else indices
        if isinstance(self.domain, Finite):
            return self.domain.indices
        raise InputError("points X for a belief over a Box", "none", "Call belief(t, X).")

    def observations(
        self, t: ArrayLike, x: Any, y: ArrayLike | None, **noise: Unpack[NoiseColumns]
    ) -> list[Observation]:
        """Return observations at times t (n,), points x (n, d) or indices, sorted by time."""
        times, places = as_array(t, "t", ndim=1), self.told_places(x)
        values = None if y is None else as_array(y, "y", ndim=1)
        count = len(times) if values is None else len(values)
        if not len(times) == count == len(places):
            raise InputError(
                "as many times as points and values",
                f"{len(times)} times, {len(places)} points, {count} values",
            )
        told = values_and_precisions(count, None if values is None else values.tolist(), **noise)
        points = self.domain.at(places)

        def observation(i: int) -> Observation:
            value, precision = told[i]
            index = self.index(places[i : i + 1])
            return Observation(float(times[i]), points[i], value, index, precision=precision)

        return [observation(i) for i in np.argsort(times, kind="stable").tolist()]

    def suggestion(self, key: int, t: float, place: Places) -> Suggestion:
        """Return a suggestion at a place, (1,) or (1, d)."""
        place = self.canonical(place)
        x = np.array(self.domain.at(place)[0])
        x.flags.writeable = False
        context = None if self.contextual is None else self.contextual.context_of(x)
        return Suggestion(key, t, x, self.index(place), context, **self.labels(place))

    def suggestion_at(self, key: int, t: float, x: PlaceLike) -> Suggestion:
        """Return a suggestion at a point or index, after a check of it."""
        return self.suggestion(key, t, self.place(x))

    def place(self, x: PlaceLike) -> Places:
        """Return the place of one point or index."""
        if isinstance(x, Mapping):
            raise InputError("a point or an index", repr(x)[:60], _NAMED)
        return one_place(self.domain, x)

    def choice(self, x: PlaceLike) -> Array:
        """Return the coordinates of one choice (d,), without a context."""
        if self.contextual is None:
            points = self.domain.at(self.canonical(self.place(x)))
        else:
            if isinstance(x, Mapping):
                raise InputError("a point or an index", short_repr(x), _NAMED)
            points = self.contextual.choices.at(one_place(self.contextual.choices, x))
        return np.asarray(points[0])

    def told_places(self, x: Any) -> Places:
        """Return the places of points (n, d) or indices that were measured."""
        if isinstance(x, (list, tuple)) and any(isinstance(point, Mapping) for point in x):
            raise InputError("points or indices", repr(x)[:60], _NAMED)
        return self.domain.places(x)

    def canonical(self, place: Places) -> Places:
        """Return the place to evaluate instead of a place; here the place itself."""
        return place

    def labels(self, place: Places) -> Json:
        """Return the names of a place in the user's space; there are none here."""
        return {}

    def index(self, place: Places) -> int | None:
        """Return the index of a place in a Finite domain."""
        return int(place[0]) if isinstance(self.domain, Finite) else None

    def _in_context(self, X: ArrayLike | None, context: ArrayLike) -> ArrayLike | None:
        """Join choices X, or all choices of a Finite domain, to a context."""
        problem = self._contextual(context)
        if X is None and isinstance(problem.choices, Finite):
            X = problem.choices.points
        return None if X is None else problem.points(X, context)

    def _contextual(self, context: ArrayLike) -> Contextual:
        if self.contextual is None:
            raise InputError(
                "no context, because the domain has none",
                repr(context)[:60],
                "Create the optimizer over Contextual(choices, context).",
            )
        return self.contextual


def _ends(domain: Domain) -> tuple[Array, Array]:
    """Corners of the box around a domain, which has some width in every coordinate."""
    if isinstance(domain, Box):
        return domain.lower, domain.upper
    lower, upper = domain.lower, domain.points.max(axis=0)
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
        taken_points = [self.domain.at(place) for place in taken]
        points = np.concatenate([*taken_points, np.empty((0, self.domain.dimension))])
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
