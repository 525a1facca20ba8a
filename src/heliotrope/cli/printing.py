"""Output of the study commands: JSON for scripts, tables for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from heliotrope.study.results import facts, when

if TYPE_CHECKING:
    from heliotrope.storage import StudyInfo


def print_out(data: object, table: Table | None = None) -> None:
    """Print the table on a terminal, JSON elsewhere."""
    console = Console()
    if table is not None and console.is_terminal:
        console.print(table)
    else:
        typer.echo(json.dumps(data))


def studies_table(studies: list[StudyInfo]) -> Table:
    """A table with one row per study."""
    table = Table()
    for heading in ("study", "created", "last event"):
        table.add_column(heading)
    table.add_column("events", justify="right")
    for info in studies:
        table.add_row(info.name, when(info.created), when(info.updated), f"{info.events:,}")
    return table


def summary_table(summary: Mapping[str, Any]) -> Table:
    """A table of a study's summary."""
    table = Table(title=Text(summary["name"]), show_header=False)
    for fact, words in facts(summary).items():
        if words:
            table.add_row(fact, Text(words))  # a name may look like markup
    return table
