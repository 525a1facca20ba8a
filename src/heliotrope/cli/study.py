"""The commands ``heliotrope study ...``: those that read a study, import a table or delete a study.

The others (:mod:`heliotrope.cli.study_verbs`) are written from the fields of the commands. Each
prints one line of JSON for scripts. On a terminal, ``list`` and ``show`` print tables.
"""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from heliotrope.cli import study_verbs as study_verbs
from heliotrope.cli.backends import StoreBackend, open_backend
from heliotrope.cli.console import AsJson, errors_as_messages, progress
from heliotrope.cli.printing import print_out, studies_table, summary_table
from heliotrope.cli.study_options import AlwaysJson, At, Name, StudyCommands, TokenFile, command
from heliotrope.cli.values import read_values
from heliotrope.errors import InputError
from heliotrope.storage.protocol import DEFAULT_STORE

InContext = Annotated[
    str | None,
    typer.Option(
        metavar="VALUES", help="Context values by name: JSON, a JSON file, or NAME=VALUE,..."
    ),
]


class ExportKind(StrEnum):
    """File formats of an export."""

    csv = "csv"
    json = "json"


study_app = typer.Typer(name="study", cls=StudyCommands, no_args_is_help=True, add_completion=False)


@study_app.callback()
def study() -> None:
    """Use studies in a store or at a service."""


@command("front")
def front_command(
    name: Name,
    context: InContext = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Show the best trade-offs between several objectives."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        front = studies.open(name).front(context=read_values(context, "--context"))
    print_out(front)


@command("import")
def import_command(
    name: Name,
    table: Annotated[Path, typer.Argument(dir_okay=False, help="A CSV file.")],
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Add the new results of a table. Its columns are those of an export."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        from heliotrope.study.tables import add_results, new_results, read_results, setup_of

        study = studies.open(name)
        log = study.events()
        setup = setup_of(log)
        results = read_results(table, setup)
        new = new_results(results, log)
        with progress(counted=True) as bars:
            for _ in bars.track(add_results(new, study, setup), len(new), description="results"):
                pass
    print_out({"added": len(new), "known": len(results) - len(new)})


@command("show")
def show_command(
    name: Name,
    context: InContext = None,
    as_json: AsJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Show the current best, the drift, and the open evaluations."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        summary = studies.open(name).summary(context=read_values(context, "--context"))
    print_out(summary, None if as_json else summary_table(summary))


@command("list")
def list_command(
    as_json: AsJson = False, at: At = DEFAULT_STORE, token_file: TokenFile = None
) -> None:
    """List all studies."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        listed = studies.studies()
    print_out([asdict(info) for info in listed], None if as_json else studies_table(listed))


@command("export")
def export_command(
    name: Name,
    kind: Annotated[ExportKind, typer.Option(help="File format.")] = ExportKind.csv,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Output file. Default: print.")
    ] = None,
    as_json: AsJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Export all evaluations and results."""
    with errors_as_messages():
        with open_backend(at, token_file) as studies:
            text = studies.open(name).export("json" if as_json else kind.value)
        if out is not None:
            out.write_text(text, encoding="utf-8", newline="")
    typer.echo(text if out is None else f"Wrote {out}\n", nl=False)


@command("save")
def save_command(
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Output file.")],
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Write a study with its events to a file."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        studies.open(name).save(path)
    print_out({"saved": str(path)})


@command("load")
def load_command(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A file of a study or optimizer.")],
    name: Name,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
) -> None:
    """Create a study from a file. It continues the saved study or optimizer."""
    with errors_as_messages(), open_backend(at, None) as studies:
        if not isinstance(studies, StoreBackend):
            raise InputError("a store", at, "Load it into the store of the service.", "at")
        studies.load(path, name)
    print_out({"loaded": name})


@command("delete")
def delete_command(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Delete a study with all its events."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        study = studies.open(name)
        if not yes:
            typer.confirm(f"Delete {name} with all its events?", abort=True, err=True)
        study.delete()
    print_out({"deleted": name})
