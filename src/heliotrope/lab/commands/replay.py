"""The command ``heliotrope replay``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from heliotrope.cli.console import Seed, progress
from heliotrope.lab.commands import Jobs, OutFolder, lab_errors_as_messages, resumable

if TYPE_CHECKING:
    from heliotrope.lab.replay import ReplayResult


def replay_command(
    file: Annotated[Path, typer.Argument(help="A table: one row per time, one column per place.")],
    train: Annotated[float, typer.Option(help="Share of the rows used for training.")] = 0.6,
    locations: Annotated[
        Path | None, typer.Option(help="A table of the coordinates of the places.")
    ] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize/--maximize", help="Whether low or high values are good.")
    ] = False,
    policies: Annotated[
        str | None, typer.Option(help="Policy names, separated by commas. Default: all.")
    ] = None,
    out: OutFolder = Path("heliotrope-replay"),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each randomized policy.")] = 10,
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Train on the first part of a log, and compare the policies on the rest.

    Finished replays are kept in the output folder, so an interrupted run can continue.
    """
    with lab_errors_as_messages():
        from heliotrope.lab import replay as replays  # slow to load
        from heliotrope.lab.logs import read_log
        from heliotrope.lab.replay import CANDIDATES, report

        names = list(CANDIDATES) if policies is None else [n.strip() for n in policies.split(",")]
        log = read_log(file, locations)
        with _progress_bar() as tick:
            done = replays.replay_log(
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
        for path in report.write_replay(done, out):
            typer.echo(f"Wrote {path}")


@contextmanager
def _progress_bar() -> Iterator[Callable[[int, int], None]]:
    """A progress bar; after an interrupt, a message that the run can continue."""
    with progress() as bars:
        task = bars.add_task("learning", total=None)

        def tick(done: int, total: int) -> None:
            bars.update(task, description="playing", completed=done, total=total)

        with resumable(bars, "replays"):
            yield tick


def _scores(done: ReplayResult) -> Table:
    from heliotrope.lab.replay import CANDIDATES

    rows, places = len(done.rewards), len(done.log.names)
    table = Table(title=f"{rows} steps, {places} places, trained on the {done.trained} rows before")
    table.add_column("policy", no_wrap=True)
    for heading in ("average regret", "s.e.", "of the best possible", "of the gain over random"):
        table.add_column(heading, justify="right")
    for score in done.scores:
        cells = f"{score.regret:.4g}", f"{score.stderr:.2g}", _percent(score.share)
        table.add_row(CANDIDATES[score.policy], *cells, _percent(score.gain))
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
