"""The command ``heliotrope replay``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from heliotrope.cli.console import AsJson, Seed, progress
from heliotrope.lab.commands import Jobs, OutFolder, lab_errors_as_messages, resumable, show

if TYPE_CHECKING:
    from heliotrope.lab.logs import Log
    from heliotrope.lab.replay import ReplayResult


def replay_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="A table: one row per time, one column per place. Or a study's export."
        ),
    ],
    train: Annotated[float, typer.Option(help="Share of the rows used for training.")] = 0.6,
    locations: Annotated[
        Path | None, typer.Option(help="A table of the coordinates of the places.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="Name of the column of times.")] = None,
    place: Annotated[str | None, typer.Option(help="Name of the column of places.")] = None,
    value: Annotated[str | None, typer.Option(help="Name of the column of values.")] = None,
    ignore: Annotated[
        str | None, typer.Option(help="Names of columns to ignore, separated by commas.")
    ] = None,
    minimize: Annotated[
        bool | None,
        typer.Option(
            "--minimize/--maximize",
            help="Whether low or high values are good. Default: high, or as in the study.",
        ),
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help="Policy names, separated by commas. Default: all.")
    ] = None,
    out: OutFolder = Path("heliotrope-replay"),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each randomized policy.")] = 10,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: AsJson = False,
) -> None:
    """Train on the first part of a log, compare the policies on the rest, and recommend one.

    The log is a table, or the export of a study. The recommendation comes with code to paste.
    Finished replays are kept in the output folder, so an interrupted run can continue.
    """
    with lab_errors_as_messages():
        from heliotrope.lab import replay as replays  # slow to load
        from heliotrope.lab.logs import Columns, read_log
        from heliotrope.lab.replay import CANDIDATES, advice, report

        names = list(CANDIDATES) if policies is None else [n.strip() for n in policies.split(",")]
        ignored = () if ignore is None else tuple(name.strip() for name in ignore.split(","))
        log = read_log(file, locations, Columns(time, place, value, ignored))
        with _progress_bar() as tick:
            done = replays.replay_log(
                log,
                train=train,
                minimize=_is_cost(log) if minimize is None else minimize,
                policies=names,
                seeds=seeds,
                seed=seed,
                out=out / "trials",
                jobs=jobs,
                tick=tick,
            )
        files = report.write_replay(done, out)
        code = advice.write_advice(done, out)
    if as_json:
        files_written = [str(path) for path in files]
        typer.echo(json.dumps({**report.record(done), "code": code, "files": files_written}))
        return
    show([_scores(done)], report.sentences(done), files, as_json)
    typer.echo(f"\nTo continue, paste this into Python:\n\n{code}")


def _is_cost(log: Log) -> bool:
    return log.study is not None and log.study.direction == "minimize"


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
