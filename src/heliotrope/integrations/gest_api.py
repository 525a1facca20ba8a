"""gest-api: a generator for Xopt, libEnsemble and blop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from math import isnan, nan
from numbers import Real
from typing import Any

import heliotrope as ht
from heliotrope.directions import Direction
from heliotrope.errors import InputError, UnknownSuggestionError, requires_extra
from heliotrope.integrations.keyed import ForeignParameter, KeyedOptimizer, Listed
from heliotrope.study.clocks import Clock, Steps, Wall
from heliotrope.surroundings import REAL, Now
from heliotrope.tables import DataFrame, as_rows
from heliotrope.validation import as_whole, short_repr

with requires_extra("gest-api"):
    from gest_api import Generator
    from gest_api.vocs import (
        VOCS,
        BaseConstraint,
        BaseVariable,
        ContextualVariable,
        ContinuousVariable,
        DiscreteVariable,
        GreaterThanConstraint,
        LessThanConstraint,
        MaximizeObjective,
        MinimizeObjective,
    )

__all__ = ["HeliotropeGenerator"]

_ID = "_id"


class HeliotropeGenerator(Generator):  # type: ignore[misc]  # gest-api has no types
    """Suggests the points that are best now with ``heliotrope.auto``.

    It also follows blop's optimizer protocol. Points carry an ``_id``; points from elsewhere have
    none. A result without a finite objective, such as NaN from a failed evaluation, closes its
    suggestion.

    Parameters
    ----------
    vocs
        Continuous and discrete variables, and one objective to minimize or maximize. Discrete
        numbers are ordered, other discrete values are not.
    seed
        Random seed.
    clock
        A unit of wall time such as "10min". By default time counts the points.
    now
        The wall clock; tests replace it.

    Examples
    --------
    >>> vocs = VOCS(variables={"x": [0.0, 1.0]}, objectives={"f": "MAXIMIZE"})
    >>> generator = HeliotropeGenerator(vocs)
    >>> points = generator.suggest(2)
    >>> generator.ingest([{**point, "f": point["x"]} for point in points])
    >>> generator.finalize()
    """

    returns_id = True
    name = "heliotrope"  # in Xopt's files

    def __init__(
        self, vocs: VOCS, *, seed: int = 0, clock: str | None = None, now: Now = REAL.now
    ) -> None:
        super().__init__(vocs)
        self.vocs = vocs
        self._clock: Clock = Steps() if clock is None else Wall(clock)
        self._now, self._created = now, now()
        parameters = {name: _as_parameter(variable) for name, variable in vocs.variables.items()}
        ((self._objective, direction),) = _directions(vocs).items()
        self._keyed = KeyedOptimizer(parameters, direction, seed)
        self._told: dict[int, dict[str, Any]] = {}  # results by id
        self._ids = count()

    def _validate_vocs(self, vocs: VOCS) -> None:
        if not isinstance(vocs, VOCS):
            raise InputError("the VOCS of gest-api", short_repr(vocs), "", "vocs")
        if not len(_directions(vocs)) == len(vocs.objectives) == 1:
            raise InputError("one objective to minimize or maximize", repr(dict(vocs.objectives)))
        for name, variable in vocs.variables.items():
            if isinstance(variable, ContextualVariable):
                raise InputError("variables to choose", f"the contextual variable {name!r}")

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Suggest points, by default one, with the constants and an ``_id``."""
        wanted = 1 if num_points is None else as_whole(num_points, "num_points", least=0)
        return [self._suggestion(next(self._ids)) for _ in range(wanted)]

    def ingest(self, results: DataFrame | Iterable[Mapping[str, Any]]) -> None:
        """Take results of suggestions, and of other points, which then have no ``_id``.

        The results are dictionaries or the rows of a pandas or polars table.
        """
        rows = as_rows(results)
        for row in rows:
            self._check(row)
        for row in rows:
            id = _id_of(row)
            self._take(self._opened(row) if id is None else id, row)

    add_data = ingest  # Xopt's name for the data that it starts with

    # ---- blop's protocols beside suggest and ingest

    def register_suggestions(
        self, suggestions: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Open evaluations of points that were chosen elsewhere; return them with an ``_id``."""
        for point in suggestions:
            self._keyed.check(point)
        return [{**point, _ID: self._opened(point)} for point in suggestions]

    def register_failures(self, suggestions: Sequence[Mapping[str, Any]]) -> None:
        """Close suggestions without a result."""
        for id in [self._open_id(point.get(_ID)) for point in suggestions]:
            self._keyed.cancel(id)

    def get_best_points(self) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
        """Return the result that is believed best now: its id, parameters and outcomes."""
        if not self._told:
            return []
        ids = list(self._told)
        id = ids[self._keyed.rank([self._told[id] for id in ids])[0]]
        told, vocs = self._told[id], self.vocs
        outcomes = [*vocs.objectives, *vocs.constraints, *vocs.observables]
        return [(id, _part(told, vocs.variables), _part(told, outcomes))]

    # ---- private

    def _suggestion(self, id: int) -> dict[str, Any]:
        params = self._keyed.ask(id, self._time())
        constants = {name: constant.value for name, constant in self.vocs.constants.items()}
        return {**params, **constants, _ID: id}

    def _opened(self, point: Mapping[str, Any]) -> int:
        id = next(self._ids)
        self._keyed.begin(id, point, self._time())
        return id

    def _take(self, id: int, row: Mapping[str, Any]) -> None:
        value = _number(row, self._objective)
        if isnan(value):
            self._keyed.cancel(id)
        else:
            self._told[id] = {**row, **self._keyed.params(id)}
            self._keyed.tell(id, value, self._violations(row))

    def _check(self, row: Mapping[str, Any]) -> None:
        """Raise an error for a row that cannot be taken, before any is."""
        for name in (self._objective, *self.vocs.constraints):
            _number(row, name)
        id = _id_of(row)
        if id is None:
            self._keyed.check(row)
        else:
            self._open_id(id)

    def _open_id(self, id: Any) -> int:
        if not self._keyed.is_open(id):
            raise UnknownIdError("the _id of an open suggestion", repr(id))
        return int(id)

    def _violations(self, row: Mapping[str, Any]) -> dict[str, float]:
        limits: Mapping[str, BaseConstraint] = self.vocs.constraints
        return {name: _violation(limit, _number(row, name)) for name, limit in limits.items()}

    def _time(self) -> float | None:
        return self._clock.at(self._now(), self._created)


class UnknownIdError(UnknownSuggestionError, ValueError):
    """A result has an ``_id`` that no open suggestion has."""


def _as_parameter(variable: BaseVariable) -> ForeignParameter:
    if isinstance(variable, DiscreteVariable):
        ordered = all(isinstance(value, Real) for value in variable.values)
        return Listed(sorted(variable.values, key=None if ordered else repr), ordered)
    if isinstance(variable, ContinuousVariable):
        return ht.Real(*variable.domain)
    raise InputError("a continuous or a discrete variable", repr(variable))


def _directions(vocs: VOCS) -> dict[str, Direction]:
    directions: dict[str, Direction] = {}
    for name, objective in vocs.objectives.items():
        if isinstance(objective, (MinimizeObjective, MaximizeObjective)):
            minimizes = isinstance(objective, MinimizeObjective)
            directions[name] = "minimize" if minimizes else "maximize"
    return directions


def _violation(constraint: BaseConstraint, value: float) -> float:
    """The value of a constraint that is satisfied by at most 0."""
    if isinstance(constraint, LessThanConstraint):
        return value - float(constraint.value)
    if isinstance(constraint, GreaterThanConstraint):
        return float(constraint.value) - value
    low, high = constraint.range
    return float(max(low - value, value - high))


def _id_of(row: Mapping[str, Any]) -> int | None:
    """The id of a row; a table has NaN in rows without an id."""
    id = row.get(_ID)
    return None if id is None or id != id else int(id)


def _number(row: Mapping[str, Any], name: str) -> float:
    """An outcome of a row; NaN if Xopt says that the evaluation failed."""
    value = row.get(name)
    if isinstance(value, Real):
        return float(value)
    if row.get("xopt_error"):
        return nan
    raise InputError(f"a number as {name!r}", repr(value))


def _part(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}
