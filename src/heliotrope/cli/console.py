"""What the commands share: errors as messages, progress bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from heliotrope.errors import HeliotropeError


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn what a user can mend into one line on stderr and exit code 1."""
    try:
        yield
    except HeliotropeError as error:
        message = str(error)
    except OSError as error:
        message = (
            f"cannot use {error.filename}: {error.strerror}." if error.filename else str(error)
        )
    else:
        return
    typer.echo(f"heliotrope: {message}", err=True)
    raise typer.Exit(1)


def progress(*, counted: bool = False) -> Progress:
    """Bars on stderr with the time left, and if asked how many of how many are done."""
    counts = (MofNCompleteColumn(),) if counted else ()
    columns = (TextColumn("{task.description:<8}"), BarColumn(), *counts, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))
