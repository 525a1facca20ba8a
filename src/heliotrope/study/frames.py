"""The evaluations of a study as a pandas or a polars table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from heliotrope.errors import requires_extra
from heliotrope.validation import Json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_TIMES = ["asked_at", "told_at"]


def frame_of(export: str) -> pd.DataFrame:
    """Read an export as JSON into a table with the columns of an export as CSV.

    Wall times become times in UTC.
    """
    with requires_extra("lab"):
        import pandas as pd
    names, rows, numbers = _table(export)
    frame = pd.DataFrame(rows, columns=names)
    for name in _TIMES:
        frame[name] = pd.to_datetime(frame[name].astype(float), unit="s", utc=True)
    return frame.astype(dict.fromkeys(numbers, float))


def polars_frame_of(export: str) -> pl.DataFrame:
    """The same as a polars table."""
    with requires_extra("polars"):
        import polars as pl
    names, rows, numbers = _table(export)
    columns = {name: [row.get(name) for row in rows] for name in names}
    frame = pl.DataFrame(columns, strict=False)
    seconds = [pl.col(name).cast(pl.Float64) * 1e6 for name in _TIMES]
    moment = pl.Datetime("us", "UTC")
    return frame.with_columns(
        pl.col(*numbers).cast(pl.Float64), *(s.cast(pl.Int64).cast(moment) for s in seconds)
    )


def _table(export: str) -> tuple[list[str], list[Json], list[str]]:
    """The names of the columns, the rows, and the columns that are numbers even if empty."""
    from heliotrope.study import StudyConfig, exports  # slow to load

    data = json.loads(export)
    config = StudyConfig.from_json(data["setup"])
    return *exports.table(config, data["results"]), ["t", *exports.value_columns(config)]
