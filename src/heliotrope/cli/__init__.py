"""The command line: parses, calls and renders; what is done stands elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from heliotrope import __version__
from heliotrope.cli.bounds import bounds
from heliotrope.cli.console import Commands
from heliotrope.cli.demo import demo
from heliotrope.cli.league import league
from heliotrope.cli.replay import replay
from heliotrope.cli.reproduce import reproduce
from heliotrope.cli.serve import serve
from heliotrope.cli.study import app as study

app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
for command in (demo, reproduce, replay, league, bounds, serve):
    app.command()(command)
app.add_typer(study, name="study")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heliotrope {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print it and exit."
        ),
    ] = False,
) -> None:
    """Find what is best now, of a noisy function that keeps changing."""
