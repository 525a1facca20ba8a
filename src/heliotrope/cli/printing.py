"""Output of the study commands: JSON for scripts, tables for people."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from heliotrope.storage import StudyInfo


def print_out(data: object, table: Table | None = None) -> None:
    """Print the table on a terminal, JSON elsewhere."""
    console = Console()
    if table is not None and console.is_terminal:
        console.print(table)
    else:
        typer.echo(json.dumps(data))


def studies_table(found: list[StudyInfo]) -> Table:
    """A table with one row per study."""
    table = Table()
    for heading in ("study", "created", "last event"):
        table.add_column(heading)
    table.add_column("events", justify="right")
    for info in found:
        table.add_row(info.name, _when(info.created), _when(info.updated), f"{info.events:,}")
    return table


def summary_table(summary: dict[str, Any]) -> Table:
    """A table of a study's summary."""
    best, waiting = summary["best"], summary["open"]
    rows = {
        "created": _when(summary["created"]),
        "time now": f"{summary['t']:.6g}",
        "told": f"{summary['told']:,} of {summary['asked']:,} asked",
        **({"context": _listing(summary["context"])} if "context" in summary else {}),
        "best now": "unknown" if best is None else _place(best),
        "its value": "" if best is None else f"{best['mean']:.4g} ± {best['std']:.2g}",
        "confidence": "" if best is None else _confidence(best),
        "drift": summary["drift"]["words"],
        "open": "\n".join(f"{ask['id']}: {_place(ask)}{_given(ask)}" for ask in waiting),
    }
    table = Table(title=Text(summary["name"]), show_header=False)
    for fact, words in rows.items():
        table.add_row(fact, Text(words))  # a name may look like markup
    return table


def _confidence(best: dict[str, Any]) -> str:
    if best["probability"] is None:
        return "unknown: too few results"
    rival = f"better by {best['margin']:.2g}" if best["margin"] else "better"
    return f"{best['probability']:.0%} that nothing is {rival}"


def _place(chosen: dict[str, Any]) -> str:
    """An option, or parameters and their values."""
    return str(chosen["option"]) if "option" in chosen else _listing(chosen["params"])


def _listing(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def _given(ask: dict[str, Any]) -> str:
    return f" (at {_listing(ask['context'])})" if "context" in ask else ""


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")
