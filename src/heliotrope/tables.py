"""Tables: files of separated values as text, and the rows of data frames.

Each row of a file keeps its position in the file for error messages. A data frame is a table of
pandas, polars or another package whose columns have names; none of these packages is needed here.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from heliotrope.errors import FormatError, HeliotropeError, InputError
from heliotrope.validation import LARGEST, Array, short_repr

GAPS = frozenset(("", "-", "--", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none"))
_SEPARATORS = "\t;,"  # on a tie the first one wins, which is rarer in names
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
LARGEST_TEXT = 500_000_000  # bytes of a table
LARGEST_CELLS = 50_000_000
_SMALL, _EXPANSION = 1_000_000, 100  # bytes, and bytes for each byte of a compressed table
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_ADVICE = "Save the table as text in UTF-8, separated by commas."

_Record: TypeAlias = tuple[int, list[str]]  # the line on which a row begins, and its fields


@runtime_checkable
class DataFrame(Protocol):
    """A table of pandas or polars: names of columns, and columns by name."""

    @property
    def columns(self) -> Any:
        """The names."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return a column."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of stripped cells; ``rows`` has the position of each row, such as "line 17".

    ``error`` is the kind of error to raise about the table.
    """

    source: str
    columns: dict[str, tuple[str, ...]]
    rows: tuple[str, ...]
    error: type[HeliotropeError]
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def where(self, *rows: int) -> str:
        return f"{' and '.join(self.rows[row] for row in rows)} of {self.source}"

    def bad_cell(self, expected: str, name: str, row: int, advice: str = "") -> HeliotropeError:
        """Return the error to raise about one cell."""
        got = f"{_shortened(self.columns[name][row])} on {self.where(row)}"
        return self.error(f"{expected} in column {_shortened(name)}", got, advice)

    def filled(self, header: Sequence[str], columns: Sequence[tuple[str, ...]]) -> Sheet:
        """Return the sheet with these columns, whose names must exist and differ.

        A first column without a name is the row numbers, or the index that pandas wrote.
        """
        names, cells = list(header), list(columns)
        if names and not names[0]:
            names[0] = "index"
            if cells[0] == tuple(map(str, range(len(self.rows)))):
                names, cells = names[1:], cells[1:]
        if "" in names:
            got = f"none for number {header.index('', 1) + 1} in {self.source}"
            raise self.error("a name for every column", got)
        if len(names) < 2:
            advice = "Separate columns by comma, semicolon or tab."
            raise self.error("at least 2 columns", f"{len(names)} in {self.source}", advice)
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            got = f"{times} called {_shortened(name)} in {self.source}"
            raise self.error("distinct column names", got)
        if not self.rows:
            raise self.error("rows of values below the header", f"none in {self.source}")
        return replace(self, columns=dict(zip(names, cells, strict=True)))

    def take(self, rows: Sequence[int]) -> Sheet:
        """Return the given rows, in the given order."""
        columns = {name: tuple(cells[row] for row in rows) for name, cells in self.columns.items()}
        return replace(self, columns=columns, rows=tuple(self.rows[row] for row in rows))

    def numbers(self, name: str) -> Array:
        """Return a column as numbers, with NaN in gaps."""
        cells = self.columns[name]
        values = np.empty(len(cells))
        for row, cell in enumerate(cells):
            try:
                values[row] = self._number(cell)
            except ValueError:
                raise self.bad_cell("a number or a gap", name, row) from None
        large = np.flatnonzero(np.abs(values) > LARGEST)
        if len(large):
            raise self.bad_cell(f"numbers below {LARGEST:g} in size", name, int(large[0]))
        return values

    def is_number(self, cell: str) -> bool:
        try:
            return not np.isnan(self._number(cell))
        except ValueError:
            return False

    def is_text(self, name: str) -> bool:
        """Whether a column has cells that are not gaps, and no number among them."""
        filled = (cell for cell in self.columns[name] if cell.lower() not in GAPS)
        return next(filled, None) is not None and not any(map(self.is_number, self.columns[name]))

    def _number(self, cell: str) -> float:
        if cell.lower() in GAPS:
            return np.nan
        if self.decimal == ",":
            cell = cell.translate({ord(","): ".", ord("."): "?"})
        return float(cell.replace("_", "?"))  # Python alone would accept 1_000


def _shortened(value: str) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def normalized_name(name: str) -> str:
    """Return a column's name in lower case, without bracketed unit and plural.

    Examples
    --------
    >>> normalized_name("Date/Time (UTC)"), normalized_name("Steps")
    ('date_time', 'step')
    """
    bare = re.sub(r"[(\[].*", "", name.lower()).strip()
    return re.sub(r"[\s\-/]+", "_", bare).removesuffix("s")


def escaped(value: object) -> object:
    """A cell that no spreadsheet takes for a formula; numbers stay as they are.

    Examples
    --------
    >>> escaped("=1+1"), escaped("fan"), escaped(-1.5)
    ("'=1+1", 'fan', -1.5)
    """
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return value


def unescaped(cell: str) -> str:
    """The text that :func:`escaped` changed."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def frame_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame, with plain Python values by the names of their columns.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_rows(pd.DataFrame({"x": [0.5, 1.5], "mode": ["a", "b"]}))
    [{'x': 0.5, 'mode': 'a'}, {'x': 1.5, 'mode': 'b'}]
    """
    if not isinstance(frame, DataFrame):
        raise InputError("a pandas or polars table", type(frame).__name__)
    names = list(frame.columns)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise InputError("a table whose columns have distinct names", f"{names}"[:200])
    columns = [frame[name].to_list() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def sheet_of(frame: DataFrame) -> Sheet:
    """Return a data frame as text, like a file with the same columns.

    Examples
    --------
    >>> import polars as pl
    >>> sheet_of(pl.DataFrame({"x": [0.5, None], "mode": ["a", "b"]})).columns
    {'x': ('0.5', 'None'), 'mode': ('a', 'b')}
    """
    rows = frame_rows(frame)
    names = list(frame.columns)
    cells = [tuple(str(row[name]).strip() for row in rows) for name in names]
    empty = Sheet("the table", {}, tuple(f"row {i}" for i in range(len(rows))), InputError)
    return empty.filled(names, cells)


def as_sheet(table: DataFrame | str | os.PathLike[str]) -> Sheet:
    """Return a data frame, or the file at a path, as text."""
    return sheet_of(table) if isinstance(table, DataFrame) else read_sheet(table)


def as_rows(table: DataFrame | Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a data frame or of a list of rows; InputError for anything else."""
    if isinstance(table, DataFrame):
        return [*frame_rows(table)]
    rows = list(table) if isinstance(table, Iterable) else [table]
    if not all(isinstance(row, Mapping) for row in rows):
        raise InputError("rows as dictionaries, or a table", short_repr(table))
    return rows


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Read a file of separated values."""
    text, source = _text(path), str(path)
    first = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
    separator = max(_SEPARATORS, key=re.sub('"[^"]*"', "", first).count)  # most fields
    (line, header), *body = _rectangle(list(_records(text, separator, source)), source)
    columns = list(zip(*(fields for _, fields in body), strict=True)) or [()] * len(header)
    comma = separator == ";" and any(
        "," in cell and _DECIMAL_COMMA.fullmatch(cell) for cells in columns for cell in cells
    )
    rows = tuple(f"line {number}" for number, _ in body)
    empty = Sheet(source, {}, rows, FormatError, "," if comma else ".")
    if all(map(empty.is_number, header)):
        got = f"only numbers on line {line} of {source}"
        advice = "Start the file with a row such as time,a,b."
        raise FormatError("a header that names the columns", got, advice)
    return empty.filled(header, columns)


def _rectangle(records: list[_Record], source: str) -> list[_Record]:
    """Return the header and the rows, all with the same number of fields."""
    while len(records) > 1 and not any(records[-1][1]):  # spreadsheets often end with empty rows
        records.pop()
    if not records:
        raise FormatError("a table with a header", f"nothing in {source}")
    width = len(records[0][1])
    for number, fields in records:
        if len(fields) != width:
            got = f"{len(fields)} on line {number} of {source}"
            raise FormatError(f"{width} fields, as in the header", got)
    return records


def _text(path: str | os.PathLike[str]) -> str:
    """Return a file's text, decompressed and without byte order mark."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError("a file to read", f"{path} ({error.strerror})") from error
    except (TypeError, ValueError) as error:
        raise InputError("the path of a file", repr(path)) from error
    try:
        if data.startswith(b"\x1f\x8b"):
            data = _decompressed(data, path)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError("a whole gzip file", f"{path} ({error})", "Is it truncated?") from error
    if len(data) > LARGEST_TEXT:
        got = f"{len(data):,} in {path}"
        raise FormatError(f"a table of at most {LARGEST_TEXT:,} bytes", got, "Divide it.")
    if b"\0" in data:
        raise FormatError("a table as text", f"binary data in {path}", _ADVICE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"byte {data[error.start]:#04x} on line {line} of {path}"
        raise FormatError("text in UTF-8", got, _ADVICE) from error


def _decompressed(data: bytes, path: str | os.PathLike[str]) -> bytes:
    """Decompress a file up to the limits; real tables shrink to a tenth at most."""
    most = min(LARGEST_TEXT, _SMALL + _EXPANSION * len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        text = file.read(most + 1)
    if len(text) > most:
        got = f"more in {path}, which has {len(data):,}"
        raise FormatError(f"a table of at most {most:,} bytes when decompressed", got)
    return text


def _records(text: str, separator: str, source: str) -> Iterator[_Record]:
    """Yield each record that is not a blank line, with its line number."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    line, cells = 1, 0
    try:
        for fields in reader:
            cells += len(fields)
            if cells > LARGEST_CELLS:
                raise FormatError(f"at most {LARGEST_CELLS:,} cells", f"more in {source}")
            stripped = [field.strip() for field in fields]
            if len(stripped) > 1 or any(stripped):
                yield line, stripped
            line = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(
            "separated values, each quoted completely or not at all",
            f"line {line} of {source} ({error})",
        ) from error
