"""The command ``heliotrope league``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
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
    from heliotrope.lab.league import Competitor, Standings, Tournament

_MATCHES = "matches"  # folder of the finished matches


def league_command(
    problems: Annotated[
        str | None,
        typer.Option(help="Problem ids or their prefixes, separated by commas. Default: all."),
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help="Policy names, separated by commas. Default: all.")
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(help="Another optimizer, NAME=COMMAND, that speaks JSON. May be repeated."),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials of each problem.")] = 4,
    horizon: Annotated[int, typer.Option(min=2, help="Steps per trial.")] = 150,
    limit: Annotated[
        float, typer.Option(help="Limit of processor time per optimizer and trial, in seconds.")
    ] = 120.0,
    seed: Seed = 0,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    data: DataFolder = None,
    out: OutFolder = Path("heliotrope-league"),
    as_json: AsJson = False,
) -> None:
    """Compare all policies on all problems of the suite.

    Problems with measured data need --data; by default those whose files are not there are skipped.
    Finished matches are kept in the output folder, so an
    interrupted run can continue. Failures are listed in the table. The exit code is 1 only if a
    peer did not play a single step.
    """
    with lab_errors_as_messages():
        from heliotrope.lab.environments.suite import playable_problems
        from heliotrope.lab.league import Tournament

        ids, skipped = playable_problems(problems, data)
        for reason in skipped:
            typer.echo(reason, err=True)
        played = Tournament(
            problems=ids,
            competitors=(*_competitors(policies), *(_command(text) for text in peer or ())),
            trials=trials,
            horizon=horizon,
            seed=seed,
            limit=limit,
            data=data,
        )
        _show(played, out, jobs, cluster, as_json)


def _competitors(wanted: str | None) -> tuple[Competitor, ...]:
    from heliotrope.lab.league import COMPETITORS, PolicyCompetitor
    from heliotrope.policies.registry import BASELINE

    names = list(COMPETITORS) if wanted is None else [*_parts(wanted), BASELINE.name]
    return tuple(PolicyCompetitor(name) for name in dict.fromkeys(names))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _command(text: str) -> Competitor:
    from heliotrope.errors import InputError
    from heliotrope.lab.league import CommandCompetitor

    name, _, command = text.partition("=")
    try:
        words = tuple(shlex.split(command))
    except ValueError:  # an unclosed quote
        words = ()
    if not name or not words:
        raise InputError("a peer as NAME=COMMAND", repr(text))
    return CommandCompetitor(name, words)


def _show(played: Tournament, out: Path, jobs: int, cluster: str | None, as_json: bool) -> None:
    from heliotrope.lab.league.report import Report, failures, summarize_standings, write_report

    started = time.time()
    standings = _run(played, out, jobs, cluster)
    report = Report(played, standings, time.time() - started, out)
    count = f"{played.matches} matches, {report.seconds:.0f} s"
    said = [*summarize_standings(standings), *failures(standings), count]
    show([_table(standings)], said, write_report(report), as_json)
    _refuse_absent(played, standings, out / _MATCHES)


def _refuse_absent(played: Tournament, standings: Standings, kept: Path) -> None:
    """Exit with code 1 if a peer did not play a single step."""
    from heliotrope.lab.league import CommandCompetitor

    peers = [one.name for one in played.competitors if isinstance(one, CommandCompetitor)]
    absent = [name for name in peers if not standings.has_played(name)]
    if absent:
        advice = f"Correct the command, delete {kept / absent[0]} and try again."
        typer.echo(f"heliotrope: did not play a step: {', '.join(absent)}. {advice}", err=True)
        raise typer.Exit(1)


def _run(played: Tournament, out: Path, jobs: int, cluster: str | None) -> Standings:
    with progress(counted=True) as bars:
        task = bars.add_task("league", total=played.matches)
        with resumable(bars, "matches"):
            return played.run(
                out / _MATCHES,
                jobs=jobs,
                cluster=cluster,
                tick=lambda name, done: bars.update(task, description=name, completed=done),
            )


def _table(standings: Standings) -> Table:
    from heliotrope.lab.league.report import HEADINGS, cells

    rows: Sequence[tuple[str, ...]] = [cells(standing) for standing in standings.ranking]
    table = Table(title=f"The league: {len(standings.problems)} problem(s)")
    table.add_column(HEADINGS[0], no_wrap=True)
    for heading in HEADINGS[1:]:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    return table
