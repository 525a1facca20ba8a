"""The command ``heliotrope reproduce``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from heliotrope.cli.console import AsJson, Seed, progress
from heliotrope.lab.commands import (
    Cluster,
    DataFolder,
    Jobs,
    OutFolder,
    lab_errors_as_messages,
    resumable,
    show,
)

if TYPE_CHECKING:
    from heliotrope.lab.reproduction import Figure, Reproduction


class FigureName(StrEnum):
    """Figures of the paper."""

    fig1 = "fig1"
    fig2a = "fig2a"
    fig2b = "fig2b"
    fig2c = "fig2c"
    fig2d = "fig2d"
    temperature = "temperature"
    traffic = "traffic"
    all = "all"


def reproduce_command(
    figure: Annotated[FigureName, typer.Argument(help="The figure to reproduce.")],
    out: OutFolder = Path("heliotrope-reproduction"),
    trials: Annotated[
        int | None, typer.Option(min=1, help="Number of trials. Default: as in the paper.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Steps per trial.")] = None,
    jobs: Jobs = -1,
    seed: Seed = 0,
    data: DataFolder = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a figure of the paper, and check the paper's claims against it.

    Finished trials are kept in the output folder, so an interrupted run can continue.
    """
    with lab_errors_as_messages():
        from heliotrope.lab.reproduction import FIGURES, FigureOptions  # slow to load

        options = FigureOptions(trials, horizon, seed, data)
        names = list(FIGURES) if figure == FigureName.all else [figure.value]
        for name in names:
            _show(_make(FIGURES[name](options), out, jobs, cluster), as_json)


def _make(figure: Figure, out: Path, jobs: int, cluster: str | None) -> Reproduction:
    from heliotrope.lab.reproduction import reproduce_figure

    with progress(counted=True) as bars:
        task = bars.add_task(figure.name, total=figure.trials)
        with resumable(bars, "trials"):
            return reproduce_figure(
                figure,
                out,
                jobs=jobs,
                cluster=cluster,
                tick=lambda done: bars.update(task, completed=done),
            )


def _show(made: Reproduction, as_json: bool) -> None:
    count = f"{made.figure}: {made.trials} trial(s), {made.seconds:.0f} s"
    files = [made.file(kind) for kind in ("png", "pdf", "csv", "json", "md")]
    show([_claims(made)], [*made.notes, count], files, as_json)


def _claims(made: Reproduction) -> Table:
    table = Table(title=f"{made.figure}: claims and measurements")
    for heading in ("claim", "source", "measured", "holds"):
        table.add_column(heading)
    for claim in made.claims:
        answer = claim.answer if claim.holds else f"[bold red]{claim.answer}[/]"
        table.add_row(claim.sentence, claim.source, claim.measured, answer)
    return table
