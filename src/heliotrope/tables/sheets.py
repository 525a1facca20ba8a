"""A table as text: named columns of cells, with the position of each row for error messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heliotrope.errors import HeliotropeError
from heliotrope.validation import LARGEST, Array

GAPS = frozenset(("", "-", "--", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none"))


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of stripped cells; ``rows`` has the position of each row, such as "line 17"."""

    source: str
    columns: dict[str, tuple[str, ...]]
    rows: tuple[str, ...]
    refusal: type[HeliotropeError]
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.columns)

    def where(self, *rows: int) -> str:
        """The position of rows in the source."""
        return f"{' and '.join(self.rows[row] for row in rows)} of {self.source}"

    def error(self, expected: str, got: str, advice: str = "") -> HeliotropeError:
        """Return the error to raise about this table."""
        return self.refusal(expected, got, advice)

    def bad_cell(self, expected: str, name: str, row: int, advice: str = "") -> HeliotropeError:
        """Return the error to raise about one cell."""
        got = f"{_short(self.columns[name][row])} on {self.where(row)}"
        return self.error(f"{expected} in column {_short(name)}", got, advice)

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
            got = f"{len(names)} in {self.source}"
            advice = "Separate columns by comma, semicolon or tab."
            raise self.error("at least 2 columns", got, advice)
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            got = f"{times} called {_short(name)} in {self.source}"
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
        """Whether a cell holds a number."""
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


def normalized_name(name: str) -> str:
    """Return a column's name in lower case, without bracketed unit and plural.

    Examples
    --------
    >>> normalized_name("Date/Time (UTC)"), normalized_name("Steps")
    ('date_time', 'step')
    """
    bare = re.sub(r"[(\[].*", "", name.lower()).strip()
    return re.sub(r"[\s\-/]+", "_", bare).removesuffix("s")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
