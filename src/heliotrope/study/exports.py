"""Export the evaluations of a study with their results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from heliotrope.errors import InputError
from heliotrope.spaces import Options
from heliotrope.storage import Event
from heliotrope.study.config import StudyConfig
from heliotrope.validation import Json

_ASKED = ("id", "t", "option", "params", "context")
_NESTED = ("params", "context")


def export(config: StudyConfig, events: Sequence[Event], kind: str) -> str:
    """All evaluations with their results, in the order of asking, as CSV or JSON."""
    rows = _rows(events)
    if kind == "json":
        return json.dumps({"setup": config.to_json(), "results": rows}, indent=2)
    if kind != "csv":
        raise InputError("csv or json", repr(kind)[:60], "", "kind")
    text = io.StringIO()
    names = ["id", "t", *_columns(config), "value", "state", "asked_at", "told_at"]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(row) for row in rows)
    return text.getvalue()


def _rows(events: Sequence[Event]) -> list[Json]:
    rows: dict[str, Json] = {}
    for event in events:
        body = event.body
        if body["kind"] == "asked":
            rows[body["id"]] = {name: body[name] for name in _ASKED if name in body}
            rows[body["id"]] |= {"value": None, "state": "open"}
            rows[body["id"]] |= {"asked_at": event.at, "told_at": None}
        elif body["kind"] == "told":
            rows[body["id"]] |= {"value": body["value"], "state": "told", "told_at": event.at}
        elif body["kind"] == "cancelled":
            rows[body["id"]] |= {"state": "cancelled"}
    return list(rows.values())


def _flat(row: Json) -> Json:
    """A row with a column for each parameter, prefixed because other columns may have its name."""
    flat = {name: value for name, value in row.items() if name not in _NESTED}
    for outer in _NESTED:
        flat |= {f"{outer}.{name}": value for name, value in row.get(outer, {}).items()}
    return flat


def _columns(config: StudyConfig) -> list[str]:
    chosen = (
        ["option"]
        if isinstance(config.space, Options)
        else [f"params.{name}" for name in config.space.parameters]
    )
    given = {} if config.context is None else config.context.parameters
    return [*chosen, *(f"context.{name}" for name in given)]
