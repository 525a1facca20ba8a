"""The command ``heliotrope replay``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from heliotrope.cli.console import lab_errors_as_messages, progress

if TYPE_CHECKING:
    from heliotrope.lab.replay import Replay


def replay(
    file: Annotated[Path, typer.Argument(help="A table: rows are times, columns are places.")],
    train: Annotated[float, typer.Option(help="Share of the rows to learn from.")] = 0.6,
    locations: Annotated[
        Path | None, typer.Option(help="A table of the places' coordinates.")
    ] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize/--maximize", help="Whether low or high values are good.")
    ] = False,
    policies: Annotated[
        str | None, typer.Option(help="Names with commas between them; all if not given.")
    ] = None,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the files, made if missing.")
    ] = Path("heliotrope-replay"),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of policies that draw lots.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Where their seeds come from.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one a core.")] = -1,
) -> None:
    """Learn from the first part of a log, and see which policy tracks the rest best.

    Finished replays are kept in the folder: an interrupted run goes on where it was.
    """
    with lab_errors_as_messages():
        from heliotrope.lab import replay as replays  # slow to load
        from heliotrope.lab.logs import read_log
        from heliotrope.lab.replay import POLICIES, report

        names = list(POLICIES) if policies is None else [n.strip() for n in policies.split(",")]
        log = read_log(file, locations)
        with _watched() as tick:
            done = replays.replay(
                log,
                train=train,
                minimize=minimize,
                policies=names,
                seeds=seeds,
                seed=seed,
                out=out / "trials",
                jobs=jobs,
                tick=tick,
            )
        console = Console()
        console.print(_scores(done))
        for sentence in report.sentences(done):
            console.print(sentence, highlight=False, markup=False)
        for path in report.write(done, out):
            typer.echo(f"Wrote {path}")


@contextmanager
def _watched() -> Iterator[Callable[[int, int], None]]:
    """Show how far a replay is; when it is stopped, say that it can go on."""
    with progress() as bars:
        task = bars.add_task("learning", total=None)

        def tick(done: int, total: int) -> None:
            bars.update(task, description="playing", completed=done, total=total)

        try:
            yield tick
        except KeyboardInterrupt:
            bars.stop()
            typer.echo("Stopped. Finished replays are kept: run the same again to go on.", err=True)
            raise typer.Exit(130) from None


def _scores(done: Replay) -> Table:
    from heliotrope.lab.replay import POLICIES

    rows, places = len(done.rewards), len(done.log.names)
    table = Table(title=f"{rows} steps, {places} places, learned from the {done.trained} before")
    table.add_column("policy", no_wrap=True)
    for heading in ("average regret", "s.e.", "of the best possible", "of the gain over random"):
        table.add_column(heading, justify="right")
    for score in done.scores:
        cells = f"{score.regret:.4g}", f"{score.stderr:.2g}", _percent(score.share)
        table.add_row(POLICIES[score.policy], *cells, _percent(score.gain))
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
