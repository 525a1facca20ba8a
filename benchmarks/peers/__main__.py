"""Our policies and the peers on the same problems: ``python -m benchmarks.peers``."""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.peers.adapters import PEERS
from benchmarks.peers.timing import COUNTS, Timing, timings
from heliotrope.cli.console import progress
from heliotrope.lab.environments.suite import playable_problems
from heliotrope.lab.league import COMPETITORS, CommandCompetitor, Standings, Tournament
from heliotrope.lab.league.report import Report, report_as_markdown, write_report

_SERVER = Path(__file__).parent / "server.py"


def main(
    python: Annotated[Path, typer.Option(help="Python of the peers' environment.")] = Path(
        ".venv-peers/bin/python"
    ),
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("out/peers"),
    names: Annotated[
        str, typer.Option("--peers", help="Comma-separated names of peers.")
    ] = ",".join(PEERS),
    problems: Annotated[
        str | None,
        typer.Option(help="Comma-separated ids or first parts of ids. Default: all."),
    ] = None,
    trials: Annotated[int, typer.Option(min=1)] = 1,
    horizon: Annotated[int, typer.Option(min=2)] = 150,
    limit: Annotated[float, typer.Option(help="Maximum processor seconds per trial.")] = 180.0,
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 is one per core.")] = -1,
    data: Annotated[
        Path | None, typer.Option(envvar="HELIOTROPE_DATA", help="Folder of the measured tables.")
    ] = None,
) -> None:
    """Run a tournament of our policies and the peers, then time their steps."""
    peers = tuple(
        CommandCompetitor(name, (str(python), str(_SERVER), name))
        for name in _known(names.split(","))
    )
    ids, skipped = playable_problems(problems, data)
    for reason in skipped:
        print(reason)
    tournament = Tournament(
        ids,
        (*COMPETITORS.values(), *peers),
        trials,
        horizon,
        limit=limit,
        data=data,
    )
    started = time.time()
    report = Report(tournament, _played(tournament, out, jobs), time.time() - started, out)
    write_report(report)
    print(report_as_markdown(report))
    _show(list(timings(peers, limit)), out / "timing.csv")


def _known(names: Sequence[str]) -> Sequence[str]:
    unknown = set(names) - set(PEERS)
    if unknown:
        raise typer.BadParameter(f"Expected some of {', '.join(PEERS)}; got {', '.join(unknown)}.")
    return names


def _played(tournament: Tournament, out: Path, jobs: int) -> Standings:
    with progress(counted=True) as bars:
        task = bars.add_task("league", total=tournament.matches)

        def tick(name: str, done: int) -> None:
            bars.update(task, description=name, completed=done)

        return tournament.run(out / "matches", jobs=jobs, tick=tick)


def _show(timed: list[Timing], file: Path) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow([field.name for field in fields(Timing)])
        writer.writerows(map(astuple, timed))
    table = Table("ms per step after", *(f"{count} told" for count in COUNTS))
    for name in dict.fromkeys(one.name for one in timed):
        table.add_row(name, *(str(one) for one in timed if one.name == name))
    Console(width=120).print(table)


if __name__ == "__main__":
    typer.run(main)
