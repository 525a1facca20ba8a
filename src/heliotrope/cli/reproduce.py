"""The command ``heliotrope reproduce``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from heliotrope.cli.console import lab_errors_as_messages, progress

if TYPE_CHECKING:
    from heliotrope.lab.reproduction import Figure
    from heliotrope.lab.reproduction.run import Reproduction


class FigureName(StrEnum):
    """The figures of the paper."""

    fig1 = "fig1"
    fig2a = "fig2a"
    fig2b = "fig2b"
    fig2c = "fig2c"
    fig2d = "fig2d"
    temperature = "temperature"
    traffic = "traffic"
    all = "all"


def reproduce(
    figure: Annotated[FigureName, typer.Argument(help="Which figure.")],
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the files, made if missing.")
    ] = Path("heliotrope-reproduction"),
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials; 200, 46 sensors or 20 by the paper.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Steps of a trial.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one a core.")] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Which worlds to draw.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, envvar="HELIOTROPE_DATA", help="Folder of the measured tables."
        ),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask scheduler to run on, tcp://host:port.")
    ] = None,
) -> None:
    """Make a figure of the paper anew, and judge the paper's claims by it.

    Finished trials are kept in the folder: an interrupted run goes on where it was.
    """
    with lab_errors_as_messages():
        from heliotrope.lab.reproduction import FIGURES, Options  # slow to load

        options = Options(trials, horizon, seed, data)
        names = list(FIGURES) if figure == FigureName.all else [figure.value]
        for name in names:
            _show(_make(FIGURES[name](options), out, jobs, cluster))


def _make(figure: Figure, out: Path, jobs: int, cluster: str | None) -> Reproduction:
    from heliotrope.lab.reproduction.run import reproduce

    with progress(counted=True) as bars:
        task = bars.add_task(figure.name, total=figure.trials)
        try:
            return reproduce(
                figure,
                out,
                jobs=jobs,
                cluster=cluster,
                tick=lambda done: bars.update(task, completed=done),
            )
        except KeyboardInterrupt:
            bars.stop()
            typer.echo("Stopped. Finished trials are kept: run the same again to go on.", err=True)
            raise typer.Exit(130) from None


def _show(made: Reproduction) -> None:
    console = Console()
    console.print(_claims(made))
    for note in made.notes:
        console.print(note, highlight=False, markup=False)
    typer.echo(f"{made.figure}: {made.trials} trial(s), {made.seconds:.0f} s")
    for kind in ("png", "pdf", "csv", "json", "md"):
        typer.echo(f"Wrote {made.file(kind)}")


def _claims(made: Reproduction) -> Table:
    table = Table(title=f"{made.figure}: what is claimed, and what was measured")
    for heading in ("claim", "source", "measured", "holds"):
        table.add_column(heading)
    for claim in made.claims:
        verdict = "yes" if claim.holds else "[bold red]no[/]"
        table.add_row(claim.sentence, claim.source, claim.measured, verdict)
    return table
