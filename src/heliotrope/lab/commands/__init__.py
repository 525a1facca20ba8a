"""The lab's commands: demo, reproduce, replay, league and bounds, and their shared parts."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from heliotrope.cli.console import errors_as_messages
from heliotrope.errors import requires_extra

_PACKAGES = ("joblib", "matplotlib", "pandas")  # of the extra lab

Jobs = Annotated[int, typer.Option(help="Number of processes; -1: one per core.")]
Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://host:port.")]
DataFolder = Annotated[
    Path | None,
    typer.Option(file_okay=False, envvar="HELIOTROPE_DATA", help="Folder of the measured data."),
]
OutFolder = Annotated[
    Path, typer.Option(file_okay=False, help="Output folder; created if missing.")
]


@contextmanager
def lab_errors_as_messages() -> Iterator[None]:
    """Report errors of a lab command as messages, including that the extra is not installed."""
    with errors_as_messages():
        with requires_extra("lab"):
            missing = [name for name in _PACKAGES if find_spec(name) is None]
            if missing:
                raise ImportError(f"no package {missing[0]}")
        yield


def show(
    tables: Sequence[Table], sentences: Sequence[str], files: Sequence[Path], as_json: bool
) -> None:
    """Print tables, sentences and the files written; or all as one line of JSON."""
    if as_json:
        shown = {"tables": [table_to_json(table) for table in tables], "sentences": [*sentences]}
        typer.echo(json.dumps({**shown, "files": [str(path) for path in files]}))
        return
    console = Console()
    for table in tables:
        console.print(table)
    for sentence in sentences:
        console.print(sentence, highlight=False, markup=False)
    for path in files:
        typer.echo(f"Wrote {path}")


def table_to_json(table: Table) -> dict[str, Any]:
    """A table as JSON: its title, and one object for each row."""
    names = [_plain(column.header) for column in table.columns]
    cells = [[_number(_plain(cell)) for cell in column.cells] for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
    return {"title": _plain(table.title), "rows": rows}


def _plain(cell: object) -> str:
    """The text of a cell, without markup."""
    return Text.from_markup(cell).plain if isinstance(cell, str) else str(cell or "")


def _number(text: str) -> float | str:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


@contextmanager
def resumable(bars: Progress, what: str) -> Iterator[None]:
    """After an interrupt, say that the run can continue; exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        bars.stop()
        message = f"Stopped. Finished {what} are kept. Run the same command to continue."
        typer.echo(message, err=True)
        raise typer.Exit(130) from None
