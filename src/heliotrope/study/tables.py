"""Import results from a table, with a row for each result.

Columns have the names of an export: ``params.NAME`` (or NAME) or ``option``, ``context.NAME`` (or
NAME), ``value`` and the optional ``t``. Results with their own noise also have ``std`` or ``n``.
Instead of a value they may have ``successes`` and ``trials``, or ``count`` and ``exposure``. With
named metrics the values are in ``metrics.NAME`` (or NAME), their errors in ``std.NAME``. Other
columns are ignored, and so are rows without a result. :mod:`heliotrope.tables` reads the table.
"""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from math import isclose
from typing import Any

import numpy as np

from heliotrope.errors import FormatError, InputError
from heliotrope.precision import CHECKS
from heliotrope.spaces import Boolean, Categorical, Parameter, SearchSpace
from heliotrope.storage.protocol import Event
from heliotrope.study.clocks import Wall, clock_from_json
from heliotrope.study.commands import Add, Evaluation
from heliotrope.study.space_adapter import SpaceAdapter
from heliotrope.study.verbs import StudyVerbs
from heliotrope.tables import DataFrame, Sheet, as_sheet, unescaped
from heliotrope.validation import Json

_VALUE, _TIME, _OPTION = _OWN = ("value", "t", "option")
_BESIDE = ("std", "n")  # a value
_INSTEAD = (("successes", "trials"), ("count", "exposure"))  # of a value
_ROUNDED = 0.05  # relative: a value beside counts may be rounded to two digits
_SMALL = 1e-9  # absolute
_BOOLEANS = {"true": True, "false": False}


def setup_of(log: Sequence[Event]) -> Json:
    """The configuration of a study as JSON, from its first event."""
    if log and isinstance(log[0].body.get("setup"), Mapping):
        return dict(log[0].body["setup"])
    raise FormatError("a created event first", "another log")


def read_results(table: DataFrame | str | os.PathLike[str], setup: Json) -> list[Add]:
    """Read results that fit a study from a data frame or from the file at a path.

    An error names a row that does not fit: a FormatError in a file, an InputError in a data frame.
    """
    sheet, adapter = as_sheet(table), SpaceAdapter.from_json(setup)
    metrics = list(setup.get("metrics") or [_VALUE])
    is_plain = metrics == [_VALUE]
    told = _told(sheet, adapter) if is_plain else _told_metrics(sheet, adapter, metrics)
    sheet = sheet.take([row for row, form in enumerate(told) if form])
    chosen, contexts = _choices(sheet, adapter), _contexts(sheet, adapter)
    times, stated = _times(sheet), _stated(sheet)
    results = []
    for row, form in enumerate(filter(None, told)):
        with _on_row(sheet, row):
            result = Add.of(chosen[row], **form, t=times[row], context=contexts[row])
            result.check()
            if is_plain:
                _check_value(result, stated[row])
            adapter.place_of(result.chosen, result.context)
        results.append(result)
    return results


def result_keys(results: Sequence[Add]) -> Iterator[str]:
    """A key for each result: a hash of it and of the number of equal results before it.

    So a table with additional rows keeps the keys of its earlier rows.
    """
    seen = Counter[str]()
    for result in results:
        said: Json = {"params": result.chosen, "value": result.value, "t": result.t}
        text = json.dumps({**said, "context": result.context, **result.noise}, sort_keys=True)
        yield sha256(f"{seen[text]} {text}".encode()).hexdigest()
        seen[text] += 1


def new_results(results: Sequence[Add], log: Sequence[Event]) -> dict[str, Add]:
    """The results that are not yet in the log of a study, by key."""
    keys = {event.body.get("key") for event in log}
    pairs = zip(result_keys(results), results, strict=True)
    return {key: result for key, result in pairs if key not in keys}


def add_results(results: Mapping[str, Add], study: StudyVerbs, setup: Json) -> Iterator[Evaluation]:
    """Add results one after another, with their keys.

    With a wall clock, all results without a time get the time of the first one.
    """
    now, by_wall = None, isinstance(clock_from_json(setup.get("clock")), Wall)
    for key, result in results.items():
        t = now if result.t is None else result.t
        made = study.do(replace(result, t=t, key=key))
        now = made.t if by_wall else None
        yield made


def _told(sheet: Sheet, adapter: SpaceAdapter) -> list[Json]:
    """The fields of each row's result; empty for a row without a result.

    Proportions and rates come before values, since an export has the value of these as well.
    """
    noise = {name for name in CHECKS if _is_noise(name, sheet, adapter)}
    forms = [_forms(sheet, pair) for pair in _INSTEAD if noise.issuperset(pair)]
    if _VALUE in sheet.columns or not forms:
        beside = [name for name in _BESIDE if name in noise]
        values = _forms(sheet, [_named(sheet, _VALUE), *beside])
        forms.append([form if _VALUE in form else {} for form in values])
    return [next(filter(None, row), {}) for row in zip(*forms, strict=True)]


def _told_metrics(sheet: Sheet, adapter: SpaceAdapter, metrics: Sequence[str]) -> list[Json]:
    """The fields of each row's result with values by metric; empty for a row without a result."""
    taken = {*_OWN, *_parameters(adapter)}
    named = {name: (f"metrics.{name}", *{name} - taken) for name in metrics}
    column_of = {
        name: column
        for name, columns in named.items()
        if (column := next(filter(sheet.columns.__contains__, columns), None)) is not None
    }
    if not column_of:
        _named(sheet, *named[metrics[0]])  # raises the error
    values = _numbers_by(sheet, column_of)
    errors = _numbers_by(sheet, {name: f"std.{name}" for name in metrics})
    repeats = _forms(sheet, ["n"]) if _is_noise("n", sheet, adapter) else [{}] * len(sheet.rows)
    return [
        {"value": value, **({"std": std} if std else {}), **n} if value else {}
        for value, std, n in zip(values, errors, repeats, strict=True)
    ]


def _numbers_by(sheet: Sheet, columns: Mapping[str, str]) -> list[Json]:
    """The numbers of the existing columns in each row by name, without missing ones."""
    names = {column: name for name, column in columns.items() if column in sheet.columns}
    if not names:
        return [{} for _ in sheet.rows]
    return [
        {names[column]: cell for column, cell in row.items()} for row in _forms(sheet, [*names])
    ]


def _parameters(adapter: SpaceAdapter) -> set[str]:
    """The names of all parameters that columns may have."""
    spaces = (adapter.space, adapter.context)
    return {name for space in spaces if isinstance(space, SearchSpace) for name in space.parameters}


def _stated(sheet: Sheet) -> list[float]:
    """The value of each row; NaN where there is none."""
    if _VALUE not in sheet.columns:
        return [np.nan] * len(sheet.rows)
    values: list[float] = sheet.numbers(_VALUE).tolist()
    return values


def _check_value(result: Add, stated: float) -> None:
    """Raise an InputError for a proportion or a rate beside a value that contradicts it."""
    value, _ = result.measured[_VALUE]
    if not (np.isnan(stated) or isclose(value, stated, rel_tol=_ROUNDED, abs_tol=_SMALL)):
        parts = " and ".join(f"{name} {number:g}" for name, number in result.noise.items())
        raise InputError(f"the value {value:g} of {parts}", f"{stated:g}", field=_VALUE)


def _forms(sheet: Sheet, names: Sequence[str]) -> list[Json]:
    """The numbers of some columns in each row, without missing ones."""
    rows = zip(*(sheet.numbers(name).tolist() for name in names), strict=True)
    return [
        {name: cell for name, cell in zip(names, row, strict=True) if not np.isnan(cell)}
        for row in rows
    ]


def _is_noise(name: str, sheet: Sheet, adapter: SpaceAdapter) -> bool:
    """Whether a column holds the noise of results rather than a parameter of the same name."""
    spaces = {"params": adapter.space, "context": adapter.context}
    return name in sheet.columns and not any(
        isinstance(space, SearchSpace)
        and name in space.parameters
        and f"{outer}.{name}" not in sheet.columns
        for outer, space in spaces.items()
    )


@contextmanager
def _on_row(sheet: Sheet, row: int) -> Iterator[None]:
    """Raise an InputError as the table's error that names the row."""
    try:
        yield
    except InputError as error:
        got = f"{error.got} on {sheet.where(row)}"
        raise sheet.error(error.expected, got, error.advice, error.field) from error


def _times(sheet: Sheet) -> Sequence[float | None]:
    """The times of all rows in the unit of the study's clock; None without a column of times."""
    if _TIME not in sheet.columns:
        return [None] * len(sheet.rows)
    times = sheet.numbers(_TIME)
    gaps, backwards = np.flatnonzero(np.isnan(times)), np.flatnonzero(np.diff(times) < 0.0)
    if len(gaps):
        raise sheet.bad_cell("a time in every row", _TIME, int(gaps[0]))
    if len(backwards):
        advice = "Sort the rows."
        raise sheet.bad_cell("times that never fall", _TIME, int(backwards[0]) + 1, advice)
    numbers: list[float | None] = times.tolist()
    return numbers


def _choices(sheet: Sheet, adapter: SpaceAdapter) -> Sequence[dict[str, Any] | str]:
    if isinstance(adapter.space, SearchSpace):
        return _records(sheet, "params", adapter.space, _OWN)
    return [unescaped(cell) for cell in sheet.columns[_named(sheet, _OPTION)]]


def _contexts(sheet: Sheet, adapter: SpaceAdapter) -> Sequence[dict[str, Any] | None]:
    if adapter.context is None:
        return [None] * len(sheet.rows)
    chosen = adapter.space.parameters if isinstance(adapter.space, SearchSpace) else [_OPTION]
    return _records(sheet, "context", adapter.context, {*_OWN, *chosen})


def _records(
    sheet: Sheet, outer: str, space: SearchSpace, taken: Collection[str]
) -> list[dict[str, Any]]:
    """The parameters of each row; a name in ``taken`` means another column."""
    columns = [
        _cells(sheet, _named(sheet, f"{outer}.{name}", *{name} - {*taken}), parameter)
        for name, parameter in space.parameters.items()
    ]
    return [dict(zip(space.parameters, row, strict=True)) for row in zip(*columns, strict=True)]


def _cells(sheet: Sheet, column: str, parameter: Parameter) -> Sequence[Any]:
    """A column as values of a parameter; the space refuses other values later."""
    if isinstance(parameter, Boolean):
        return [_BOOLEANS.get(cell.lower(), cell) for cell in sheet.columns[column]]
    if isinstance(parameter, Categorical):
        choices = {str(choice): choice for choice in parameter.choices}
        cells = map(unescaped, sheet.columns[column])
        return [choices.get(cell, cell) for cell in cells]
    numbers: list[float] = sheet.numbers(column).tolist()
    return numbers


def _named(sheet: Sheet, *names: str) -> str:
    """The first of these names that is a column."""
    for name in names:
        if name in sheet.columns:
            return name
    wanted = " or ".join(map(repr, names))
    raise sheet.error(f"a column {wanted}", f"{list(sheet.names)} in {sheet.source}"[:200])
