"""The command line: it parses arguments, calls the library and prints the results."""

from __future__ import annotations

from typing import Annotated

import typer

from heliotrope import __version__
from heliotrope.cli.bounds import bounds_command
from heliotrope.cli.console import Commands
from heliotrope.cli.demo import demo_command
from heliotrope.cli.league import league_command
from heliotrope.cli.replay import replay_command
from heliotrope.cli.reproduce import reproduce_command
from heliotrope.cli.serve import serve_command
from heliotrope.cli.study import study_app

app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
app.command("demo")(demo_command)
app.command("reproduce")(reproduce_command)
app.command("replay")(replay_command)
app.command("league")(league_command)
app.command("bounds")(bounds_command)
app.command("serve")(serve_command)
app.add_typer(study_app, name="study")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heliotrope {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Track the optimum of a noisy function that changes over time."""
