"""The export of a study as a log: its choices are the places, most of them gaps at most times.

Configurations of a large space hardly repeat. They are grouped around some of the early ones, which
lie apart, so that every place was measured in the first half.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.directions import Direction
from heliotrope.errors import FormatError
from heliotrope.lab.logs.layouts import Matrix
from heliotrope.lab.logs.times import Times
from heliotrope.spaces import Boolean, Categorical, Integer, Options, Parameter, Real, SearchSpace
from heliotrope.study.config import StudyConfig
from heliotrope.study.results import listing
from heliotrope.tables import GAPS, Sheet
from heliotrope.validation import Array, Indices

_COLUMNS = {"id", "t", "value", "state", "asked_at", "told_at"}
_PARAMS, _CONTEXT = "params.", "context."
_MOST = 30  # places
_PER_PLACE = 8  # results, on average
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, eq=False)
class StudyExport:
    """A study's space, its direction if it is known, and the choice at each place of the log."""

    space: SearchSpace | Options
    direction: Direction | None
    choices: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class _Results:
    """The told results: times (n,), choices and values (n,)."""

    t: Array
    choices: Sequence[Any]
    y: Array


def is_export(sheet: Sheet) -> bool:
    """Whether a table is the export of a study."""
    return set(sheet.names) >= _COLUMNS


def read_export(path: str | os.PathLike[str]) -> tuple[Matrix, Array | None, StudyExport]:
    """Read an export as JSON: the log, the coordinates of its places, and the study."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        config = StudyConfig.from_json(data["setup"])
        rows = [row for row in data["results"] if row["state"] == "told"]
        results = [(row["t"], row.get("params", row.get("option")), row["value"]) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError("the export of a study as JSON", f"{path} ({error})") from error
    if config.context is not None:
        raise _with_contexts()
    t, choices, y = zip(*results, strict=True) if results else ((), (), ())
    return _log(_Results(np.array(t), choices, np.array(y)), config.space, config.direction)


def export_of(sheet: Sheet) -> tuple[Matrix, Array | None, StudyExport]:
    """The same from an export as CSV, which shows the ranges of the results alone."""
    if any(name.startswith(_CONTEXT) for name in sheet.names):
        raise _with_contexts()
    told = [i for i, state in enumerate(sheet.columns["state"]) if state == "told"]
    known = sheet.take(told)
    t, y = known.numbers("t"), known.numbers("value")
    if "option" in known.names:
        names = known.columns["option"]
        return _log(_Results(t, names, y), Options(sorted(set(names))), None)
    columns = [name for name in known.names if name.startswith(_PARAMS)]
    space, cells = {}, {}
    for name in columns:
        short = name.removeprefix(_PARAMS)
        space[short], cells[short] = _parameter(known, name)
    choices = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return _log(_Results(t, choices, y), SearchSpace(space), None)


def _with_contexts() -> FormatError:
    return FormatError("the export of a study without contexts", "one with contexts")


def _parameter(sheet: Sheet, name: str) -> tuple[Parameter, Sequence[Any]]:
    """A parameter whose range is that of a column, and the column's values."""
    cells = sheet.columns[name]
    if all(cell.lower() in _TRUTHS for cell in cells):
        return Boolean(), [_TRUTHS[cell.lower()] for cell in cells]
    if sheet.is_text(name) or any(cell.lower() in GAPS for cell in cells):
        return Categorical(sorted(set(cells))), cells
    numbers: list[float] = sheet.numbers(name).tolist()
    if all(number == int(number) for number in numbers):
        whole = [int(number) for number in numbers]
        return Integer(min(whole), max(whole)), whole
    return Real(min(numbers), max(numbers)), numbers


def _log(
    results: _Results, space: SearchSpace | Options, direction: Direction | None
) -> tuple[Matrix, Array | None, StudyExport]:
    order = np.argsort(results.t, kind="stable")
    in_time = [results.choices[i] for i in order.tolist()]
    points = None
    if isinstance(space, Options):
        names = tuple(name for name in space.names if name in set(in_time))
        at = np.array([names.index(name) for name in in_time], dtype=np.intp)
        places: tuple[Any, ...] = names
    else:
        everywhere = np.array([space.point(one) for one in in_time]).reshape(len(in_time), -1)
        centres = _centres(everywhere)
        places = tuple(in_time[i] for i in centres)
        points = everywhere[centres]
        at = _nearest(everywhere, points)
        names = tuple(listing(one) for one in places)
    matrix = _matrix(results.t[order], at, results.y[order], names)
    return matrix, points, StudyExport(space, direction, places)


def _centres(points: Array) -> list[int]:
    """Rows of the first half that lie apart: all distinct ones, or a limited number."""
    early = points[: (len(points) + 1) // 2]
    most = max(2, min(_MOST, len(points) // _PER_PLACE))
    found, away = [0], np.linalg.norm(early - early[0], axis=1)
    while len(found) < most and away.max() > 0.0:
        found.append(int(away.argmax()))
        away = np.minimum(away, np.linalg.norm(early - early[found[-1]], axis=1))
    return found


def _nearest(points: Array, centres: Array) -> Indices:
    apart = np.linalg.norm(points[:, None] - centres[None], axis=2)
    nearest: Indices = apart.argmin(axis=1)
    return nearest


def _matrix(t: Array, at: Indices, y: Array, names: Sequence[str]) -> Matrix:
    """The mean of the values of each place at each time."""
    moments, rows = np.unique(t, return_inverse=True)
    sums, counts = np.zeros((2, len(moments), len(names)))
    np.add.at(sums, (rows, at), y)
    np.add.at(counts, (rows, at), 1.0)
    values = np.where(counts > 0.0, sums / np.maximum(counts, 1.0), np.nan)
    return Matrix(Times(moments, seconds=False), _distinct(names), values)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names that differ, also if their numbers are equal to four digits."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(distinct)
