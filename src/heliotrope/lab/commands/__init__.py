"""The lab's commands: demo, reproduce, replay, league and bounds, and their shared parts."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from heliotrope.cli.console import errors_as_messages
from heliotrope.errors import requires_extra

_PACKAGES = ("joblib", "matplotlib", "pandas", "threadpoolctl")  # of the extra lab

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
