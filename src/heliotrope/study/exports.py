"""The evaluations of a study with their results, as CSV, JSON or a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heliotrope.errors import InputError, requires_extra
from heliotrope.precision import CHECKS
from heliotrope.spaces import Options
from heliotrope.storage import Event
from heliotrope.study.commands import THE_VALUE
from heliotrope.study.config import StudyConfig
from heliotrope.tables import escaped
from heliotrope.validation import Json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_ASKED = ("id", "t", "option", "params", "context", "reason")
_NESTED = ("params", "context", "metrics", "std")
_TIMES = ["asked_at", "told_at"]


def export(config: StudyConfig, events: Sequence[Event], kind: str) -> str:
    """All evaluations with their results, in the order of asking, as CSV or JSON."""
    rows = _rows(config, events)
    if kind == "json":
        return json.dumps({"setup": config.to_json(), "results": rows}, indent=2)
    if kind != "csv":
        raise InputError("csv or json", repr(kind)[:60], "", "kind")
    text = io.StringIO()
    names, flat = table(config, rows)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escaped(value) for name, value in row.items()} for row in flat)
    return text.getvalue()


def table(config: StudyConfig, rows: Sequence[Json]) -> tuple[list[str], list[Json]]:
    """The names of the columns, and the rows, of all evaluations as a table."""
    flat = [_flat(row) for row in rows]
    present = {name for row in flat for name in row}
    noise = [*CHECKS, *(f"std.{name}" for name in config.metrics)]
    told = [*value_columns(config), *(name for name in noise if name in present)]
    more = [name for name in ("fault", "reason") if name in present]
    return ["id", "t", *_columns(config), *told, "state", *more, "asked_at", "told_at"], flat


def value_columns(config: StudyConfig) -> list[str]:
    """The columns of the values: one for each metric."""
    if not are_named(config):
        return [THE_VALUE]
    return [f"metrics.{name}" for name in config.metrics]


def are_named(config: StudyConfig) -> bool:
    """Whether values have the names of metrics."""
    return list(config.metrics) != [THE_VALUE]


def _rows(config: StudyConfig, events: Sequence[Event]) -> list[Json]:
    rows: dict[str, Json] = {}
    blank: Json = {"metrics": {}} if are_named(config) else {THE_VALUE: None}
    # an optimizer's file has its evaluations in one event
    bodies = ((e.at, body) for e in events for body in e.body.get("evaluations", [e.body]))
    for at, body in bodies:
        if body["kind"] == "asked":
            rows[body["id"]] = {name: body[name] for name in _ASKED if name in body}
            rows[body["id"]] |= {**blank, "state": "open", "asked_at": at, "told_at": None}
        elif body["kind"] == "told":
            rows[body["id"]] |= {**_told(config, body), "state": "told", "told_at": at}
        elif body["kind"] in ("cancelled", "expired"):
            rows[body["id"]] |= {"state": body["kind"]}
        elif body["kind"] == "judged":
            _judge(rows, body)
    return list(rows.values())


def _judge(rows: Mapping[str, Json], body: Mapping[str, Any]) -> None:
    """Note which results are taken for faults, and which no longer."""
    for name, is_fault in (("faults", True), ("plausible", False)):
        for id in body[name]:
            rows[id]["fault"] = is_fault


def _told(config: StudyConfig, body: Mapping[str, Any]) -> Json:
    """The value or the values of an event, and their noise."""
    noise = {name: body[name] for name in CHECKS if name in body}
    if are_named(config):
        return {"metrics": body["value"], **noise}
    own = {"std": noise["std"][THE_VALUE]} if noise.get("std") else {}
    return {THE_VALUE: body["value"][THE_VALUE], **noise, **own}


def _flat(row: Json) -> Json:
    """A row with a column for each parameter, prefixed because other columns may have its name."""
    nested = [name for name in _NESTED if isinstance(row.get(name), Mapping)]
    flat = {name: value for name, value in row.items() if name not in nested}
    for outer in nested:
        flat |= {f"{outer}.{name}": value for name, value in row[outer].items()}
    return flat


def _columns(config: StudyConfig) -> list[str]:
    parameters = {} if config.context is None else config.context.parameters
    columns = [f"context.{name}" for name in parameters]
    if isinstance(config.space, Options):
        return ["option", *columns]
    return [*(f"params.{name}" for name in config.space.parameters), *columns]


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
    data = json.loads(export)
    config = StudyConfig.from_json(data["setup"])
    return *table(config, data["results"]), ["t", *value_columns(config)]
