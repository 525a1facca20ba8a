"""Reading files of separated values."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from heliotrope.errors import FormatError, InputError
from heliotrope.tables.sheets import Sheet

Record: TypeAlias = tuple[int, list[str]]
"""The line on which a row begins, and its fields."""

_SEPARATORS = "\t;,"  # on a tie the first one wins, which is rarer in names
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_ADVICE = "Save the table as text in UTF-8, separated by commas."


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Read a file of separated values."""
    text, source = _text(path), str(path)
    separator = _separator(text)
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


def _rectangle(records: list[Record], source: str) -> list[Record]:
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
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError("a whole gzip file", f"{path} ({error})", "Is it truncated?") from error
    if b"\0" in data:
        raise FormatError("a table as text", f"binary data in {path}", _ADVICE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"byte {data[error.start]:#04x} on line {line} of {path}"
        raise FormatError("text in UTF-8", got, _ADVICE) from error


def _separator(text: str) -> str:
    """Return the separator that splits the header into most fields."""
    first = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
    return max(_SEPARATORS, key=re.sub('"[^"]*"', "", first).count)


def _records(text: str, separator: str, source: str) -> Iterator[Record]:
    """Yield each record that is not a blank line, with its line number."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    line = 1
    try:
        for fields in reader:
            cells = [field.strip() for field in fields]
            if len(cells) > 1 or any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(
            "separated values, each quoted completely or not at all",
            f"line {line} of {source} ({error})",
        ) from error
