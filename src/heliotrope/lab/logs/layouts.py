"""Wide tables (one column per place) and long tables (one row per measurement) as a matrix."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heliotrope.lab.logs.times import TIMESTAMP_ADVICE, Times, read_times, time_columns
from heliotrope.tables import GAPS, Sheet, normalized_name
from heliotrope.validation import Array, Indices

PLACES = re.compile(
    "(place|sensor|station|location|site|node|mote|detector|device|channel|arm|option|action|"
    "variant|item)(_?id|_?name)?|variable|name|id"
)
VALUES = re.compile("value|reward|y|measurement|reading|result|score")

_ADVICE = "Name the columns time, place, value if each row is one measurement."
_MOST = 10**8  # cells: 0.8 GB


@dataclass(frozen=True, eq=False)
class Matrix:
    """Values (T, M) at T distinct times, sorted, of M named places; NaN is a gap."""

    times: Times
    names: tuple[str, ...]
    values: Array


@dataclass(frozen=True)
class Columns:
    """Names of columns that the rules need not find, and of columns to ignore."""

    time: str | None = None
    place: str | None = None
    value: str | None = None
    ignore: tuple[str, ...] = ()


BY_RULES = Columns()


def laid_out(sheet: Sheet, given: Columns = BY_RULES) -> Matrix:
    """Recognize the layout of a table by the rules in the package's docstring."""
    if given != BY_RULES:
        return _as_given(sheet, given)
    found = [name for name in time_columns(sheet) if not _is_place(name)] or _left_over(sheet)
    others = [name for name in sheet.names if name not in found]
    times = read_times(sheet, found) if found else _counted(sheet)
    repeated = _repeated(times.values)
    if found and len(others) == 2 and (repeated or any(map(_is_place, others))):
        roles = _roles(sheet, *others)
        if roles:
            return _long(sheet, times, *roles)
    return _wide(sheet, _once(sheet, times), others)


def _as_given(sheet: Sheet, given: Columns) -> Matrix:
    """Lay out a table whose columns are named; the rules find those that are not."""
    for name in (given.time, given.place, given.value, *given.ignore):
        if name is not None and name not in sheet.names:
            listed = ", ".join(map(repr, sheet.names))[:200]
            raise sheet.error(f"a column {name!r}", f"{listed} in {sheet.source}")
    kept = {name: cells for name, cells in sheet.columns.items() if name not in given.ignore}
    sheet = replace(sheet, columns=kept)
    if given.time is None and given.place is None and given.value is None:
        return laid_out(sheet)
    found = time_columns(sheet) if given.time is None else [given.time]
    found = [name for name in found if name not in (given.place, given.value)]
    times = read_times(sheet, found) if found else _counted(sheet)
    others = [name for name in kept if name not in found]
    if given.place is None and given.value is None:
        return _wide(sheet, _once(sheet, times), others)
    place, value = (
        given.place or _only(sheet, others, given.value, "place"),
        given.value or _only(sheet, others, given.place, "value"),
    )
    return _long(sheet, times, place, value)


def _only(sheet: Sheet, others: Sequence[str], taken: str | None, role: str) -> str:
    """The one column that is left for a role."""
    left = [name for name in others if name != taken]
    if len(left) != 1:
        raise sheet.error(
            f"one column left for the {role}", f"{len(left)}", f"Name it with --{role}."
        )
    return left[0]


def _once(sheet: Sheet, times: Times) -> Times:
    repeated = _repeated(times.values)
    if repeated:
        raise sheet.error("each time once", f"the same time on {sheet.where(*repeated)}", _ADVICE)
    return times


def _is_place(name: str) -> bool:
    return PLACES.fullmatch(normalized_name(name)) is not None


def _is_value(name: str) -> bool:
    return VALUES.fullmatch(normalized_name(name)) is not None


def _left_over(sheet: Sheet) -> list[str]:
    """Return the third column next to one named as a place and one named as a value."""
    places = [name for name in sheet.names if _is_place(name)]
    values = [name for name in sheet.names if _is_value(name)]
    left = [name for name in sheet.names if name not in places + values]
    return left if len(places) == len(values) == len(left) == 1 else []


def _counted(sheet: Sheet) -> Times:
    """Return 1, 2, 3, ...; reject a table that may have times under another name."""
    _reject_text(sheet, sheet.names)
    first = sheet.names[0]
    numbers = sheet.numbers(first)
    steps = np.diff(numbers[~np.isnan(numbers)])
    if np.all(steps >= 0.0) and np.any(steps > 0.0):
        raise sheet.error(
            "a column of times, or a first column that sometimes decreases",
            f"{first!r}, which never decreases, in {sheet.source}",
            "Name it time if it holds times; if it holds values, put a time column before it.",
        )
    return Times(np.arange(1.0, len(sheet.rows) + 1.0), seconds=False)


def _reject_text(sheet: Sheet, names: Sequence[str]) -> None:
    for name in names:
        if sheet.is_text(name):
            cells = sheet.columns[name]
            row = next(row for row, cell in enumerate(cells) if cell.lower() not in GAPS)
            advice = f"{TIMESTAMP_ADVICE} {_ADVICE} Remove other columns without numbers."
            raise sheet.bad_cell("numbers", name, row, advice)


def _roles(sheet: Sheet, a: str, b: str) -> tuple[str, str] | None:
    """Return the place and the value of two columns, or None if they cannot be told apart."""
    for is_place in (_is_place, lambda name: not _is_value(name), sheet.is_text):
        first, second = is_place(a), is_place(b)
        if first != second:
            return (a, b) if first else (b, a)
    return None


def _wide(sheet: Sheet, times: Times, others: Sequence[str]) -> Matrix:
    _reject_text(sheet, others)
    order = np.argsort(times.values)
    values = np.empty((len(order), len(others)))
    for at, name in enumerate(others):
        values[:, at] = sheet.numbers(name)[order]
    return Matrix(Times(times.values[order], times.seconds), tuple(others), values)


def _long(sheet: Sheet, times: Times, place: str, value: str) -> Matrix:
    cells = sheet.columns[place]
    if "" in cells:
        raise sheet.bad_cell("the name of a place", place, cells.index(""))
    names = _sorted(set(cells))
    if 2 * len(names) > len(cells):
        got = f"{len(names)} in {len(cells)} rows of {sheet.source}"
        raise sheet.error(f"places that repeat in column {place!r}", got, _ADVICE)
    column = {name: at for at, name in enumerate(names)}
    columns = np.array([column[cell] for cell in cells])
    moments, rows = np.unique(times.values, return_inverse=True)
    if len(moments) * len(names) > _MOST:
        got = f"{len(moments)} x {len(names)} in {sheet.source}"
        raise sheet.error(f"times and places with at most {_MOST:g} cells", got)
    same = _repeated(rows * len(names) + columns)
    if same:
        got = f"{cells[same[0]]!r} twice at one time, on {sheet.where(*same)}"
        raise sheet.error("each place at most once per time", got)
    values = np.full((len(moments), len(names)), np.nan)
    values[rows, columns] = sheet.numbers(value)
    return Matrix(Times(moments, times.seconds), names, values)


def _repeated(keys: Array | Indices) -> tuple[int, int] | None:
    """Return the first two rows with the same key."""
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    return (int(order[same[0]]), int(order[same[0] + 1])) if len(same) else None


def _sorted(names: set[str]) -> tuple[str, ...]:
    """Sort s2 before s10, independently of the order of the rows."""
    return tuple(sorted(names, key=lambda name: (_parts(name), name)))


def _parts(name: str) -> list[str | int]:
    """Split a name into alternating strings and integers."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"(\d+)", name))]
