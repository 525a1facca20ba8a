"""The command ``heliotrope league``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from heliotrope.cli.console import lab_errors_as_messages, progress

if TYPE_CHECKING:
    from heliotrope.lab.league import Contestant, League, Standings

_MATCHES = "matches"  # folder of those that are finished


def league(
    problems: Annotated[
        str | None,
        typer.Option(help="Ids, or their first parts, with commas between them; all if not given."),
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help="Names with commas between them; all if not given.")
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(help="NAME=COMMAND of another optimizer, spoken to in JSON; again for more."),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Worlds drawn of each problem.")] = 4,
    horizon: Annotated[int, typer.Option(min=2, help="Steps of a trial.")] = 150,
    limit: Annotated[
        float, typer.Option(help="Most processor seconds of one in one trial.")
    ] = 120.0,
    seed: Annotated[int, typer.Option(min=0, help="Which worlds to draw.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one a core.")] = -1,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask scheduler to run on, tcp://host:port.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, envvar="HELIOTROPE_DATA", help="Folder of the measured tables."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the files, made if missing.")
    ] = Path("heliotrope-league"),
) -> None:
    """Let every policy play every problem of the suite, and see which is best at what.

    Without a folder of measured tables their problems are left out. Finished matches are kept in
    the folder: an interrupted run goes on where it was. Who fails is in the table; only a peer that
    never played a step makes the exit code 1.
    """
    with lab_errors_as_messages():
        from heliotrope.lab.environments.suite import chosen
        from heliotrope.lab.league import League

        played = League(
            problems=chosen(problems, measured=data is not None),
            contestants=(*_entrants(policies), *(_command(text) for text in peer or ())),
            trials=trials,
            horizon=horizon,
            seed=seed,
            limit=limit,
            data=data,
        )
        _show(played, out, jobs, cluster)


def _entrants(wanted: str | None) -> tuple[Contestant, ...]:
    from heliotrope.lab.league import ENTRANTS, entrant
    from heliotrope.lab.league.standings import YARDSTICK

    names = list(ENTRANTS) if wanted is None else [*_parts(wanted), YARDSTICK]
    return tuple(entrant(name) for name in dict.fromkeys(names))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _command(text: str) -> Contestant:
    from heliotrope.errors import InputError
    from heliotrope.lab.league import Command

    name, _, command = text.partition("=")
    try:
        words = tuple(shlex.split(command))
    except ValueError:  # quotes that are not closed
        words = ()
    if not name or not words:
        raise InputError("a peer as NAME=COMMAND", repr(text))
    return Command(name, words)


def _show(played: League, out: Path, jobs: int, cluster: str | None) -> None:
    from heliotrope.lab.league.report import Report, failures, verdict, write

    started = time.time()
    standings = _run(played, out, jobs, cluster)
    report = Report(played, standings, time.time() - started, out)
    console = Console()
    console.print(_table(standings))
    for line in [*verdict(standings), *failures(standings)]:
        console.print(line, highlight=False, markup=False)
    typer.echo(f"{played.matches} matches, {report.seconds:.0f} s")
    for path in write(report):
        typer.echo(f"Wrote {path}")
    _refuse_absent(played, standings, out / _MATCHES)


def _refuse_absent(played: League, standings: Standings, kept: Path) -> None:
    """Fail if a peer, which somebody asked for by its command, never played."""
    from heliotrope.lab.league import Command

    peers = [one.name for one in played.contestants if isinstance(one, Command)]
    absent = [name for name in peers if not standings.has_played(name)]
    if absent:
        message = f"heliotrope: never played a step: {', '.join(absent)}. To try again, mend the "
        typer.echo(f"{message}command and delete {kept / absent[0]}.", err=True)
        raise typer.Exit(1)


def _run(played: League, out: Path, jobs: int, cluster: str | None) -> Standings:
    with progress(counted=True) as bars:
        task = bars.add_task("league", total=played.matches)
        try:
            return played.run(
                out / _MATCHES,
                jobs=jobs,
                cluster=cluster,
                tick=lambda name, done: bars.update(task, description=name, completed=done),
            )
        except KeyboardInterrupt:
            bars.stop()
            typer.echo("Stopped. Finished matches are kept: run the same again to go on.", err=True)
            raise typer.Exit(130) from None


def _table(standings: Standings) -> Table:
    from heliotrope.lab.league.report import HEADINGS, cells

    rows: Sequence[tuple[str, ...]] = [cells(place) for place in standings.places]
    table = Table(title=f"The league: {len(standings.problems)} problem(s)")
    table.add_column(HEADINGS[0], no_wrap=True)
    for heading in HEADINGS[1:]:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    return table
