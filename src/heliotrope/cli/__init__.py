"""The command line: it parses arguments, calls the library and prints the results."""

from functools import partial
from importlib import import_module
from typing import Annotated, ClassVar

import typer

from heliotrope import __version__
from heliotrope.cli.console import Commands

_LAB = ("demo", "reproduce", "replay", "league", "bounds")
_NAMES = (*_LAB, "serve", "estimate", "study")


def _app(name: str) -> typer.Typer:
    """The commands of a module, or its only one."""
    package = "lab.commands" if name in _LAB else "cli"
    module = import_module(f"heliotrope.{package}.{name}")
    if name == "study":
        return module.study_app  # type: ignore[no-any-return]
    only = typer.Typer(add_completion=False)
    only.command(name)(getattr(module, f"{name}_command"))
    return only


class _MainCommands(Commands):
    apps: ClassVar = {name: partial(_app, name) for name in _NAMES}


app = typer.Typer(cls=_MainCommands, no_args_is_help=True, pretty_exceptions_enable=False)


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
