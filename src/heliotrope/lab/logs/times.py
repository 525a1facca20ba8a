"""Parse times: numbers, timestamps, clock times, or a day and a clock time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from heliotrope.tables import GAPS, Sheet, normalized_name
from heliotrope.validation import Array

TIME_NAMES = re.compile(
    "time|time_?stamp|date_?time|date|day|clock|t|epoch|step|round|trial|iteration|index|"
    "second|minute|hour|week|month|year"
)

_DAY = 86400.0
_UNITS = {"day": _DAY, "hour": 3600.0, "minute": 60.0, "second": 1.0}

_CLOCK = re.compile(r"(?:(\d+) days? )?(\d\d?):(\d\d)(?::(\d\d(?:\.\d+)?))?(?: ?([ap])m)?", re.I)
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d\d?)\2(\d\d?)(?!\d)(.*)")
_YEAR_LAST = re.compile(r"(\d\d?)([-/.])(\d\d?)\2(\d{4})(?!\d)(.*)")
_COMPACT = re.compile(r"((?:19|20)\d\d)(0[1-9]|1[0-2])([0-3]\d)(?:(\d\d)(\d\d)(\d\d)?)?")
_YEAR_MONTH = re.compile(r"\d{4}-\d\d(?!\d)")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_ZONE = re.compile(r":\d\d.*(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)$", re.I)
_MONTH = re.compile(
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|"
    "oct(ober)?|nov(ember)?|dec(ember)?"
)
_WORD = re.compile(f"{_MONTH.pattern}|(mon|tue|wed|thu|fri|sat|sun)[a-z]*|[ap]m|t|z|utc|gmt")

_LONGEST = 100  # characters of a time: some patterns take the square of it
TIMESTAMP_ADVICE = "Write timestamps as 2020-04-03 06:05:00."


@dataclass(frozen=True, eq=False)
class Times:
    """The time of each row, in seconds, or unchanged where times are plain numbers."""

    values: Array
    seconds: bool


def time_columns(sheet: Sheet) -> list[str]:
    """Return the columns that hold times, by name or by content."""
    return [
        name
        for name in sheet.names
        if TIME_NAMES.fullmatch(normalized_name(name)) or _holds_times(sheet, name)
    ]


def read_times(sheet: Sheet, names: Sequence[str]) -> Times:
    """Return the times of all rows from one column, or from a day and a clock column.

    Equal cells, as in long tables, are parsed once.
    """
    cells = list(zip(*(sheet.columns[name] for name in names), strict=True))
    first: dict[tuple[str, ...], int] = {}
    for row, cell in enumerate(cells):
        first.setdefault(cell, row)
    columns = {name: sheet.columns[name] for name in names}
    times = _parsed(replace(sheet, columns=columns).take(list(first.values())), names)
    place = {cell: at for at, cell in enumerate(first)}
    return Times(times.values[[place[cell] for cell in cells]], times.seconds)


def step_as_text(step: float, seconds: bool) -> str:
    """Return a step as text, in the largest unit of which it is a whole multiple.

    Examples
    --------
    >>> step_as_text(600.0, seconds=True), step_as_text(1.5, seconds=False)
    ('10 minutes', '1.5')
    """
    if not seconds:
        return f"{step:g}"
    unit = next((unit for unit, length in _UNITS.items() if step % length == 0.0), "second")
    count = step / _UNITS[unit]
    return f"{count:g} {unit}" + ("" if count == 1.0 else "s")


def _holds_times(sheet: Sheet, name: str) -> bool:
    if not sheet.is_text(name):
        return False
    first = next(cell for cell in sheet.columns[name] if cell.lower() not in GAPS)
    if len(first) > _LONGEST:
        return False
    forms = (_CLOCK.fullmatch, _YEAR_FIRST.match, _YEAR_LAST.match)
    return any(form(first) for form in forms) or _is_plain(first)


def _parsed(sheet: Sheet, names: Sequence[str]) -> Times:
    for name in names:
        for row, cell in enumerate(sheet.columns[name]):
            if cell.lower() in GAPS or len(cell) > _LONGEST:
                raise sheet.bad_cell("a time in each row", name, row)
    if len(names) == 1:
        return _of_one(sheet, names[0])
    clocks = [name for name in names if _CLOCK.fullmatch(sheet.columns[name][0])]
    if len(names) > 2 or len(clocks) != 1:
        raise sheet.error(
            "one column of times, or one of days and one of clock times",
            f"times in {', '.join(map(repr, names))} of {sheet.source}",
            "Remove or rename the others.",
        )
    (day,) = set(names) - set(clocks)
    return Times(_days(sheet, day) + _clocks(sheet, clocks[0]), seconds=True)


def _of_one(sheet: Sheet, name: str) -> Times:
    """Return the times of one column; its first cell determines their kind."""
    cells = sheet.columns[name]
    if all(map(_COMPACT.fullmatch, cells)):
        return Times(_stamps(sheet, name), seconds=True)
    if sheet.is_number(cells[0]):
        return Times(sheet.numbers(name), seconds=False)
    if not _CLOCK.fullmatch(cells[0]):
        return Times(_stamps(sheet, name), seconds=True)
    clocks = _clocks(sheet, name)
    falls = np.flatnonzero(np.diff(clocks) < 0.0)
    if len(falls):
        raise sheet.bad_cell(
            "increasing clock times of one day",
            name,
            int(falls[0]) + 1,
            "Add a column of days or dates.",
        )
    return Times(clocks, seconds=True)


def _days(sheet: Sheet, name: str) -> Array:
    """Return the start of each day in seconds."""
    found = _of_one(sheet, name)
    days = found.values / _DAY if found.seconds else found.values
    broken = np.flatnonzero(days != np.floor(days))
    if len(broken):
        raise sheet.bad_cell(
            "a date or a whole number next to the clock time", name, int(broken[0])
        )
    return days * _DAY


def _clocks(sheet: Sheet, name: str) -> Array:
    """Return clock times such as 06:05, 06:05:30 and 6:05 PM in seconds."""
    values = np.empty(len(sheet.rows))
    for row, cell in enumerate(sheet.columns[name]):
        found = _CLOCK.fullmatch(cell)
        seconds = np.inf if found is None else _seconds(*found.groups())
        if not np.isfinite(seconds):
            raise sheet.bad_cell("a clock time such as 06:05 or 06:05:30", name, row)
        values[row] = seconds
    return values


def _seconds(
    days: str | None, hour: str, minute: str, second: str | None, half: str | None
) -> float:
    """Return a clock time in seconds, or infinity if it is invalid."""
    h, m, s = int(hour), int(minute), float(second or 0.0)
    if m > 59 or s >= 60.0 or (half and not 1 <= h <= 12) or 3600 * h + 60 * m + s > _DAY:
        return np.inf
    if half:
        h = h % 12 + 12 * (half.lower() == "p")
    return _DAY * int(days or 0) + 3600.0 * h + 60.0 * m + s


def _stamps(sheet: Sheet, name: str) -> Array:
    """Return timestamps in seconds since the start of the first day."""
    cells = _year_first(sheet, name)
    zoned = [_ZONE.search(cell) is not None for cell in cells]
    if any(zoned) and not all(zoned):
        raise sheet.bad_cell("a time zone in every row or in none", name, zoned.index(False))
    cells = [cell if _is_plain(cell) else "" for cell in cells]
    stamps = pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce")
    if stamps.isna().any():
        stamps = pd.to_datetime(cells, format="mixed", utc=True, errors="coerce")
    wrong = np.flatnonzero(stamps.isna())
    if len(wrong):
        raise sheet.bad_cell("a time", name, int(wrong[0]), TIMESTAMP_ADVICE)
    since = stamps - stamps.min().normalize()
    return np.asarray(since.total_seconds(), dtype=np.float64)


def _year_first(sheet: Sheet, name: str) -> list[str]:
    """Return the cells with numeric dates in ISO format."""
    cells = list(sheet.columns[name])
    last = {row: found for row, cell in enumerate(cells) if (found := _YEAR_LAST.match(cell))}
    swap = bool(last) and _month_comes_first(sheet, name, last)
    for row, cell in enumerate(cells):
        if row in last:
            day, _, month, year, rest = last[row].groups()
            if swap:
                day, month = month, day
        elif found := _YEAR_FIRST.match(cell):
            year, _, month, day, rest = found.groups()
        elif found := _COMPACT.fullmatch(cell):
            year, month, day, *clock = found.groups()
            rest = " " + ":".join(filter(None, clock))
        else:
            continue
        cells[row] = f"{year}-{month:0>2}-{day:0>2}{rest}".strip()
    return cells


def _month_comes_first(sheet: Sheet, name: str, dates: dict[int, re.Match[str]]) -> bool:
    """Whether the month comes first in dates such as 03/04/2020; reject unclear columns."""
    day_first = [row for row, found in dates.items() if int(found[1]) > 12]
    month_first = [row for row, found in dates.items() if int(found[3]) > 12]
    if day_first and month_first:
        raise sheet.error(
            f"one order of days and months in column {name!r}",
            f"both orders on {sheet.where(*sorted((day_first[0], month_first[0])))}",
            TIMESTAMP_ADVICE,
        )
    doubtful = [row for row, found in dates.items() if int(found[1]) != int(found[3])]
    pointed = all(found[2] == "." for found in dates.values())  # 03.04.2020 starts with the day
    if doubtful and not (day_first or month_first or pointed):
        raise sheet.bad_cell(
            "dates that show which number is the day", name, doubtful[0], TIMESTAMP_ADVICE
        )
    return bool(month_first)


def _is_plain(cell: str) -> bool:
    """Whether a timestamp is unambiguous: its year comes first, or its month is named."""
    words = re.findall("[a-z]+", cell.lower())
    named = _YEAR.search(cell) and any(map(_MONTH.fullmatch, words))
    return bool(_YEAR_MONTH.match(cell) or named) and all(map(_WORD.fullmatch, words))
