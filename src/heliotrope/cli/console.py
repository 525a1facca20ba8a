"""Error messages and progress bars of the commands."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from heliotrope.errors import HeliotropeError

_LONGEST = 60  # shown characters of a wrong value

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, also on a terminal.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
UsageError = cast(type[Exception], typer.BadParameter.__base__)
"""Base class of all usage errors; typer does not export it."""


class LazyCommands(TyperGroup):
    """Commands that are built on first use, so that each starts fast."""

    apps: ClassVar[Mapping[str, Callable[[], typer.Typer]]]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.apps)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Build a command; for an unknown name build all, so that typer can suggest one."""
        for name in (cmd_name,) if cmd_name in self.apps else self.apps:
            if name not in self.commands:
                self.add_command(typer.main.get_command(self.apps[name]()), name)
        return super().get_command(ctx, cmd_name)


class Commands(LazyCommands):
    """Commands that report usage errors, also of their subcommands, in one line."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments before the command."""
        with _usage_as_message():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse the command's arguments, and run it."""
        with _usage_as_message():
            return super().invoke(ctx)


@contextmanager
def _usage_as_message() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        message = _in_one_line(error)
        if not message:  # without arguments, the help was printed instead
            raise
    else:
        return
    typer.echo(f"heliotrope: {message}", err=True)
    raise typer.Exit(2)


def _in_one_line(error: Any) -> str:
    """The error, the wrong value, and a pointer to the help."""
    message = " ".join(error.format_message().split())
    if not message or error.ctx is None:
        return message
    causes: list[Any] = getattr(error.__cause__, "errors", list)()  # pydantic has the wrong value
    got = f"; got {str(causes[0]['input'])[:_LONGEST]!r}" if causes else ""
    end = "" if message.endswith("?") and not got else "."
    return f"{message.removesuffix('.')}{got}{end} Try {error.ctx.command_path} --help."


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Report an error that the user can correct in one line on stderr, with exit code 1."""
    try:
        yield
    except HeliotropeError as error:
        message = str(error)
    except OSError as error:
        message = (
            f"cannot use {error.filename}: {error.strerror}." if error.filename else str(error)
        )
    else:
        return
    typer.echo(f"heliotrope: {message}", err=True)
    raise typer.Exit(1)


def progress(*, counted: bool = False) -> Progress:
    """Progress bars on stderr with the remaining time, and optionally the counts."""
    counts = (MofNCompleteColumn(),) if counted else ()
    columns = (TextColumn("{task.description:<8}"), BarColumn(), *counts, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))
