"""What the commands share: errors and wrong usage as messages, progress bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from heliotrope.errors import HeliotropeError, requires_extra

_LAB = ("joblib", "matplotlib", "pandas", "threadpoolctl")  # the packages of the extra
_LONGEST = 60  # characters of a wrong value that are shown

UsageError = cast(type[Exception], typer.BadParameter.__base__)
"""Of values, options and commands alike; typer does not export it."""


class Commands(TyperGroup):
    """Commands that tell wrong usage, of themselves and of all below, in one line."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments that stand before the command."""
        with _usage_as_message():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's own arguments, and do what it does."""
        with _usage_as_message():
            return super().invoke(ctx)


@contextmanager
def _usage_as_message() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        message = _in_one_line(error)
        if not message:  # the help was printed, for want of arguments
            raise
    else:
        return
    typer.echo(f"heliotrope: {message}", err=True)
    raise typer.Exit(2)


def _in_one_line(error: Any) -> str:
    """What was wrong, what came, and where more is said."""
    message = " ".join(error.format_message().split())
    if not message or error.ctx is None:
        return message
    found: list[Any] = getattr(error.__cause__, "errors", list)()  # pydantic knows what came
    came = f"; got {str(found[0]['input'])[:_LONGEST]!r}" if found else ""
    return f"{message.removesuffix('.')}{came}. Try {error.ctx.command_path} --help."


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn what a user can mend into one line on stderr and exit code 1."""
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


@contextmanager
def lab_errors_as_messages() -> Iterator[None]:
    """Do the same for a command of the lab, and check first that its packages are installed."""
    with errors_as_messages():
        with requires_extra("lab"):
            missing = [name for name in _LAB if find_spec(name) is None]
            if missing:
                raise ImportError(f"no package {missing[0]}")
        yield


def progress(*, counted: bool = False) -> Progress:
    """Bars on stderr with the time left, and if asked how many of how many are done."""
    counts = (MofNCompleteColumn(),) if counted else ()
    columns = (TextColumn("{task.description:<8}"), BarColumn(), *counts, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))
