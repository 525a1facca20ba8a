"""Named parameters as one domain, whose points are read as dictionaries, and its adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, product
from math import prod
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Box, Domain, DomainAdapter, Finite, Lattice, Places
from heliotrope.errors import InputError, located
from heliotrope.spaces.checks import COORDINATES, as_index, as_object, as_text, same_keys
from heliotrope.spaces.options import Options
from heliotrope.spaces.parameters import Boolean, Categorical, Integer, Parameter, Real, Value
from heliotrope.validation import Array, Json, short_repr

_PARAMETERS = 100
_COMBINATIONS = 5_000  # up to this many, a Finite domain lists them; a larger space is a Box
_LATTICE = 1_000  # values of a number; with more, rounding does not matter
_OPTIONAL = ("log", "step")
_TYPES: dict[str, tuple[type[Parameter], tuple[str, ...], tuple[str, ...]]] = {
    "real": (Real, ("low", "high"), _OPTIONAL),  # class, needed and optional fields in JSON
    "integer": (Integer, ("low", "high"), _OPTIONAL),
    "categorical": (Categorical, ("choices",), ()),
    "boolean": (Boolean, (), ()),
}


class SearchSpace:
    """Named parameters to tune; their order is that of the coordinates.

    A space of at most 5,000 configurations is a Finite domain that lists them all, with the last
    parameter varying fastest. Any other space is the unit cube. A real number, an integer and a
    boolean have one coordinate each, scaled to [0, 1], a categorical has one for each choice. A
    parameter with a single value has none, but is part of every configuration.

    At most 100 parameters with names of 1 to 100 printable characters, and 2,000 coordinates.

    Examples
    --------
    >>> import heliotrope as ht
    >>> space = ht.SearchSpace({"x": ht.Real(1, 100, log=True), "m": ht.Categorical(["a", "b"])})
    >>> space.params([0.5, 0.2, 0.7])
    {'x': 10.0, 'm': 'b'}
    >>> space.snap([0.5, 0.2, 0.7])
    array([0.5, 0. , 1. ])
    """

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        with located("space"):
            self._parameters = _checked(parameters)
            self._columns = _columns(self._parameters)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name, in order."""
        return dict(self._parameters)

    @cached_property
    def domain(self) -> Domain:
        """The domain of an optimizer: Finite, or the unit cube as a Box."""
        counts = [parameter.count for parameter in self._parameters.values()]
        if None in counts or prod(filter(None, counts)) > _COMBINATIONS:
            return self.cube
        return _listed(self._countable().values())

    @cached_property
    def cube(self) -> Box:
        """The unit cube with discrete parameters on lattices, also for few configurations."""
        width = max((columns.stop for columns in self._columns.values()), default=1)
        return Box(np.zeros(width), np.ones(width), _lattices(self._countable(), self._columns))

    def params(self, place: ArrayLike | int) -> dict[str, Value]:
        """Return the configuration at a point (d,), or at an index of a Finite domain.

        Integers are the nearest ones, categories those of the largest coordinate. The values are
        plain Python, as in JSON.
        """
        return self.decoded(self._at(place))

    def decoded(self, point: Array) -> dict[str, Value]:
        """Do the same for a point of the domain, unchecked."""
        parameters = self._parameters.items()
        return {name: p.decode(self._part(name, point[None])[0]) for name, p in parameters}

    def numbers(self, points: Array) -> Array:
        """Return the values of points (n, d) as numbers (n, parameters); of a choice its position.

        Coordinates after those of the space are ignored.
        """
        parameters = self._parameters.items()
        return np.column_stack([p.numbers(self._part(name, points)) for name, p in parameters])

    def point(self, params: Mapping[str, object]) -> Array:
        """Return the canonical coordinates (d,) of a configuration, in either kind of domain."""
        coordinates = {}
        with located("params"):
            values = as_object(params, "a value for every parameter")
            same_keys(values, tuple(self._parameters))
            for name, parameter in self._parameters.items():
                with located(name):
                    coordinates[name] = parameter.encode(values[name])
        return _joined([coordinates[name] for name in self._columns])

    def index(self, params: Mapping[str, object]) -> int:
        """Return the index of a configuration in a Finite domain."""
        _as_finite(self.domain)
        self.point(params)  # raises an InputError for a wrong configuration
        index = 0
        for name, parameter in self._countable().items():
            index = index * (parameter.count or 1) + parameter.position(params[name])
        return index

    def snap(self, x: ArrayLike) -> Array:
        """Return the canonical coordinates of the configuration at a point (d,).

        Integers and real numbers with a step go to their grid, booleans and categories to a corner,
        other real numbers stay. An array of points (n, d) is snapped row by row.
        """
        many = isinstance(x, np.ndarray) and x.ndim == 2
        points: Any = x if many else [x]
        snapped = self.snapped(self.cube.places(points))
        return snapped if many else snapped[0]

    def snapped(self, points: Array) -> Array:
        """Do the same for points (n, d) of the domain, unchecked."""
        snapped = np.zeros_like(points)
        for name, columns in self._columns.items():
            snapped[:, columns] = self._parameters[name].snap(points[:, columns])
        return snapped

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form, which :meth:`from_json` reads."""
        return {name: parameter.to_json() for name, parameter in self._parameters.items()}

    @classmethod
    def from_json(cls, data: Any) -> SearchSpace:
        """Read the parameters by name, each with its type and its fields.

        The types are real and integer (low, high, and optionally log and step), categorical
        (choices) and boolean.

        Examples
        --------
        >>> SearchSpace.from_json({"fan": {"type": "integer", "low": 1, "high": 8}})
        SearchSpace({'fan': Integer(low=1, high=8, log=False, step=1)})
        """
        return cls(_all_from_json(data))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchSpace):
            return NotImplemented
        return list(self._parameters.items()) == list(other._parameters.items())

    def __hash__(self) -> int:
        return hash(tuple(self._parameters.items()))

    def __repr__(self) -> str:
        return f"SearchSpace({self._parameters})"

    def _countable(self) -> dict[str, Parameter]:
        """The parameters with countably many values that have coordinates."""
        varying = ((name, self._parameters[name]) for name in self._columns)
        return {name: parameter for name, parameter in varying if parameter.count is not None}

    def _at(self, place: ArrayLike | int) -> Array:
        if isinstance(place, (int, np.integer)):
            points = _as_finite(self.domain).points
            return np.asarray(points[as_index(place, len(points))])
        listed: Any = [place]
        return np.asarray(self.cube.places(listed)[0])

    def _part(self, name: str, points: Array) -> Array:
        """The coordinates (n, width) of a parameter; zeros of one that has none."""
        if name in self._columns:
            return points[:, self._columns[name]]
        return np.zeros((len(points), self._parameters[name].width))


SpaceLike: TypeAlias = SearchSpace | Options | Mapping[str, Parameter] | Sequence[str]
"""A space, or what makes one: parameters by name, or the names of options."""


def as_space(space: SpaceLike) -> SearchSpace | Options:
    """Return the space of parameters by name, or of names of options; a space is unchanged."""
    if isinstance(space, (SearchSpace, Options)):
        return space
    if isinstance(space, Mapping):
        return SearchSpace(space)
    if isinstance(space, (str, Domain, Parameter)) or not isinstance(space, Iterable):
        expected = "parameters by name, or the names of options"
        advice = 'Such as {"x": Real(0, 1)}, or ["a", "b"].'
        raise InputError(expected, short_repr(space), advice, "space")
    return Options(space)


def is_space_like(space: object) -> TypeGuard[SpaceLike]:
    """Whether this is a space, a mapping, or a list of texts."""
    if isinstance(space, (list, tuple)):
        return bool(space) and all(isinstance(name, str) for name in space)
    return isinstance(space, (SearchSpace, Options, Mapping))


def _by_name(parameters: object) -> dict[str, Any]:
    """Return 1 to 100 entries with valid names, or raise an InputError."""
    entries = as_object(parameters, "parameters by name")
    if not 1 <= len(entries) <= _PARAMETERS:
        raise InputError(f"1 to {_PARAMETERS} parameters", f"{len(entries):,}")
    return {as_text(name, "a parameter's name"): item for name, item in entries.items()}


def _listed(parameters: Iterable[Parameter]) -> Finite:
    """All combinations of the values of countable parameters."""
    rows = product(*(parameter.table() for parameter in parameters))
    return Finite(np.array([_joined(row) for row in rows]))


def _as_finite(domain: Domain) -> Finite:
    """The domain, if it numbers its configurations; InputError."""
    if isinstance(domain, Finite):
        return domain
    raise InputError(
        f"a point of {domain.dimension} coordinate(s)",
        "an index",
        f"Only a space of at most {_COMBINATIONS:,} configurations numbers them.",
    )


def _all_from_json(data: Any) -> dict[str, Parameter]:
    parameters = {}
    with located("space"):
        for name, form in _by_name(data).items():
            with located(name):
                parameters[name] = _from_json(form)
    return parameters


def _from_json(data: object) -> Parameter:
    """Read a parameter; an InputError names the field at fault."""
    if not isinstance(data, Mapping):
        advice = 'Such as {"type": "real", "low": 0, "high": 1}.'
        raise InputError("a parameter's type and fields as a mapping", short_repr(data), advice)
    form = data
    kind = form.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        got = short_repr(kind) if "type" in form else "none"
        raise InputError(f"type to be one of {', '.join(_TYPES)}", got, field="type")
    parameter, needed, optional = _TYPES[kind]
    same_keys(form, ("type", *needed), optional)
    return parameter(**{key: value for key, value in form.items() if key != "type"})


def _checked(parameters: object) -> dict[str, Parameter]:
    named = _by_name(parameters)
    for name, parameter in named.items():
        if not isinstance(parameter, Parameter):
            raise InputError(
                "a Real, an Integer, a Categorical or a Boolean",
                short_repr(parameter),
                "Such as Real(0, 1). SearchSpace.from_json reads JSON.",
                field=name,
            )
    return named


def _columns(parameters: Mapping[str, Parameter]) -> dict[str, slice]:
    """The columns of each parameter; one with a single value has none."""
    widths = {name: p.width for name, p in parameters.items() if p.count != 1}
    if sum(widths.values()) > COORDINATES:
        raise InputError(
            f"at most {COORDINATES:,} coordinates (a categorical has one for each choice)",
            f"{sum(widths.values()):,}",
        )
    ends = accumulate(widths.values())
    return {name: slice(end - widths[name], end) for name, end in zip(widths, ends, strict=True)}


def _lattices(countable: Mapping[str, Parameter], columns: Mapping[str, slice]) -> list[Lattice]:
    """The coordinates of countable parameters; one with very many values is continuous."""
    if not columns:
        return [Lattice((0,), np.zeros((1, 1)))]
    few = {name: p for name, p in countable.items() if (p.count or 1) <= _LATTICE}
    return [
        Lattice(tuple(range(columns[name].start, columns[name].stop)), parameter.table())
        for name, parameter in few.items()
    ]


def _joined(rows: Sequence[Array]) -> Array:
    """Return one point; in a space of one configuration it is the origin of a line."""
    return np.concatenate(rows) if rows else np.zeros(1)


class NamedAdapter(DomainAdapter):
    """Translates configurations, or the names of options, to places of the space's domain.

    Points and indices of that domain are accepted as well.
    """

    def __init__(self, space: SearchSpace | Options) -> None:
        super().__init__(space.domain)
        self.space = space

    def canonical(self, place: Places) -> Places:
        """Return the place of the configuration that a place decodes to."""
        if isinstance(self.domain, Finite) or not isinstance(self.space, SearchSpace):
            return place
        return self.space.snapped(place)

    def labels(self, place: Places) -> Json:
        where = int(place[0]) if isinstance(self.domain, Finite) else place[0]
        if isinstance(self.space, Options):
            return {"option": self.space.name(int(where))}
        return {"params": self.space.params(where)}

    def place(self, x: Any) -> Places:
        return self._place(x) if _is_named(x) else super().place(x)

    def told_places(self, x: Any) -> Places:
        return self._listed(x) if _are_named(x) else super().told_places(x)

    def places(self, X: Any, context: ArrayLike | None) -> Places:
        if X is None or not _are_named(X):
            return super().places(X, context)
        self.choices(context)  # refuses a context
        return self._listed(X)

    def _listed(self, names: Iterable[Any]) -> Places:
        places = list[Places]()
        for i, name in enumerate(names):
            with located(str(i)):
                places.append(self._place(name))
        return np.concatenate(places)

    def _place(self, name: Any) -> Places:
        if isinstance(self.space, Options) or isinstance(self.domain, Finite):
            return np.array([self.space.index(name)])
        return self.space.point(name)[None]


def _is_named(x: object) -> bool:
    return isinstance(x, (Mapping, str))


def _are_named(x: object) -> bool:
    """Whether this is a list of configurations or of names; the space refuses mixtures."""
    return isinstance(x, (list, tuple)) and bool(x) and any(map(_is_named, x))
