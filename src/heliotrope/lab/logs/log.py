"""Logged rewards for replay."""

import os
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from heliotrope.errors import FormatError, InputError
from heliotrope.lab.logs.exports import StudyExport, export_of, is_export, read_export
from heliotrope.lab.logs.layouts import BY_RULES, Columns, Matrix, laid_out
from heliotrope.lab.logs.locations import points_of
from heliotrope.lab.logs.times import step_as_text
from heliotrope.tables import DataFrame, Sheet, read_sheet, sheet_of
from heliotrope.validation import Array

_FEWEST = 10  # times
_LONGEST = 1e15  # steps; beyond that, adjacent times are equal numbers


@dataclass(frozen=True, eq=False)
class Log:
    """The measured rewards (T, M) of M places at T times; NaN is a gap.

    ``times`` (T,) increase from 1 in units of the median ``step``, which is a text ("10 minutes",
    or "1" where times are plain numbers). ``points`` (M, d), if locations were given, start at 0
    along each axis and are scaled to a largest extent of 1.
    """

    times: Array
    step: str
    names: tuple[str, ...]
    values: Array
    points: Array | None = None
    study: StudyExport | None = None


def read_log(
    path: str | os.PathLike[str],
    locations: str | os.PathLike[str] | None = None,
    columns: Columns = BY_RULES,
) -> Log:
    """Read a log from a file of separated values, wide or long, plain or gzip.

    The export of a study, as CSV or JSON, is a log as well.

    Parameters
    ----------
    path
        Rows of times by columns of places, or three columns time, place, value in any order;
        the package's docstring has the rules.
    locations
        One row per place: a column with the log's names, and coordinates named x, y (and z), or
        latitude and longitude (projected to kilometres), or position, milepost, postmile, km
        along a line. Other rows and columns are ignored.
    columns
        Names of columns that the rules would not find.

    Raises
    ------
    InputError
        If the file does not exist.
    FormatError
        If a file is not such a table; the message says where.
    """
    if str(path).endswith(".json"):
        return _of_study(Sheet(str(path), {}, (), FormatError), *read_export(path))
    sheet = read_sheet(path)
    if is_export(sheet) and columns == BY_RULES:
        return _of_study(sheet, *export_of(sheet))
    return _log(sheet, None if locations is None else read_sheet(locations), columns)


def log_of(
    frame: DataFrame,
    locations: DataFrame | None = None,
    columns: Columns = BY_RULES,
) -> Log:
    """Return the log in a pandas or polars table, by the rules of :func:`read_log`.

    In pandas an index with a name or without numbers counts as the first column.

    Examples
    --------
    >>> days = pd.date_range("2020-01-01", periods=12, name="date")
    >>> log = log_of(pd.DataFrame({"a": range(12), "b": 3.0}, index=days))
    >>> log.step, log.names, log.times[:3].tolist(), log.values[1].tolist()
    ('1 day', ('a', 'b'), [1.0, 2.0, 3.0], [1.0, 3.0])
    """
    return _log(_sheet(frame), None if locations is None else _sheet(locations), columns)


def _sheet(frame: DataFrame) -> Sheet:
    """Return a table as text; in pandas an index that is more than row numbers is a column."""
    if not isinstance(frame, pd.DataFrame):
        return sheet_of(frame)
    if frame.columns.nlevels > 1:
        raise InputError("a pandas table with one row of column names", type(frame).__name__)
    rows = tuple(f"row {label}" for label in frame.index)
    series = [frame.iloc[:, at] for at in range(frame.shape[1])]
    labels = zip(frame.columns, frame.columns.isna(), strict=True)
    header = ["" if missing else str(name).strip() for name, missing in labels]
    for level in reversed(range(frame.index.nlevels)):
        index = frame.index.get_level_values(level)
        if index.name is not None or not pd.api.types.is_numeric_dtype(index):
            series.insert(0, index.to_series())
            header.insert(0, "index" if index.name is None else str(index.name).strip())
    empty = Sheet("the table", {}, rows, InputError)
    return empty.filled(header, [_cells(one) for one in series])


def _cells(series: pd.Series) -> tuple[str, ...]:
    gaps = series.isna().tolist()
    pairs = zip(series.tolist(), gaps, strict=True)
    return tuple("" if gap else str(value).strip() for value, gap in pairs)


def _of_study(sheet: Sheet, matrix: Matrix, points: Array | None, study: StudyExport) -> Log:
    return replace(_in_log(sheet, matrix), points=points, study=study)


def _log(sheet: Sheet, locations: Sheet | None, columns: Columns) -> Log:
    log = _in_log(sheet, laid_out(sheet, columns))
    return log if locations is None else replace(log, points=points_of(locations, log.names))


def _in_log(sheet: Sheet, matrix: Matrix) -> Log:
    _check(sheet, matrix)
    times, step = _in_steps(sheet, matrix.times.values)
    values = matrix.values
    values.flags.writeable = times.flags.writeable = False
    return Log(times, step_as_text(step, matrix.times.seconds), matrix.names, values)


def _check(sheet: Sheet, matrix: Matrix) -> None:
    """Reject a matrix from which nothing can be learned."""
    times, places = matrix.values.shape
    if places < 2:
        got = f"{places}, {', '.join(map(repr, matrix.names)) or 'no name'}, in {sheet.source}"
        raise sheet.error("at least 2 places", got)
    if times < _FEWEST:
        raise sheet.error(f"at least {_FEWEST} times", f"{times} in {sheet.source}")
    empty = np.flatnonzero(np.isnan(matrix.values).all(axis=0))
    if len(empty):
        got = f"none for {matrix.names[empty[0]]!r} in {sheet.source}"
        raise sheet.error("at least one value per place", got, "Remove that place.")
    if np.nanmin(matrix.values) == np.nanmax(matrix.values):
        got = f"{np.nanmin(matrix.values):g} everywhere in {sheet.source}"
        raise sheet.error("values that are not all equal", got)


def _in_steps(sheet: Sheet, times: Array) -> tuple[Array, float]:
    """Return increasing times in units of their median step, from 1, and that step.

    Differences of decimal times have rounding errors. Within these, steps are rounded to whole
    numbers and the median step to its shortest decimal.
    """
    rounding = 4.0 * np.finfo(float).eps * float(np.abs(times).max())
    step = _shortest(float(np.median(np.diff(times))), rounding)
    if float(times[-1] - times[0]) / step < _LONGEST:
        steps = 1.0 + (times - times[0]) / step
        whole = np.rint(steps)
        steps = np.where(np.abs(steps - whole) * step <= rounding, whole, steps)
        if np.all(np.diff(steps) > 0.0):
            return steps, step
    raise sheet.error(
        f"distinct times in units of the median step, {step:g}",
        f"some that are too close or too far apart in {sheet.source}",
    )


def _shortest(number: float, slack: float) -> float:
    """Return the decimal with the fewest digits within ``slack`` of a number."""
    decimals = (float(f"{number:.{digits}g}") for digits in range(1, 18))
    return next(decimal for decimal in decimals if abs(decimal - number) <= slack)
