"""The command ``heliotrope replay``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from heliotrope.cli.console import errors_as_messages, progress

if TYPE_CHECKING:
    from heliotrope.experiments.replays import Replay
    from heliotrope.logs import Log


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
    """Learn from the first part of a log, and see which policy tracks the rest best."""
    with errors_as_messages():
        from heliotrope.experiments.replays import POLICIES, report  # slow to load
        from heliotrope.logs import read_log

        log = read_log(file, locations)
        names = tuple(POLICIES) if policies is None else tuple(policies.split(","))
        done = _replay(log, train, minimize, names, seeds, seed, out, jobs)
        console = Console()
        console.print(_scores(done))
        for sentence in (report.drift_in_words(done), report.recommendation(done)):
            console.print(sentence, highlight=False, markup=False)
        for path in report.write(done, out):
            typer.echo(f"Wrote {path}")


def _replay(
    log: Log,
    train: float,
    minimize: bool,
    policies: tuple[str, ...],
    seeds: int,
    seed: int,
    out: Path,
    jobs: int,
) -> Replay:
    from heliotrope.experiments import replays

    with progress() as bars:
        task = bars.add_task("learning", total=None)

        def tick(done: int, total: int) -> None:
            bars.update(task, description="playing", completed=done, total=total)

        return replays.replay(
            log,
            train=train,
            minimize=minimize,
            policies=policies,
            seeds=seeds,
            seed=seed,
            out=out / "trials",
            jobs=jobs,
            tick=tick,
        )


def _scores(done: Replay) -> Table:
    from heliotrope.experiments.replays import POLICIES

    rows, places = len(done.episode.values), len(done.log.names)
    table = Table(title=f"{rows} steps, {places} places, learned from the {done.trained} before")
    table.add_column("policy")
    for heading in ("average regret", "s.e.", "of the best possible", "of the gain over random"):
        table.add_column(heading, justify="right")
    for score in done.scores:
        share = "-" if score.share is None else f"{score.share:.1%}"
        cells = f"{score.regret:.4g}", f"{score.stderr:.2g}", share, f"{score.gain:.1%}"
        table.add_row(POLICIES[score.policy], *cells)
    return table
