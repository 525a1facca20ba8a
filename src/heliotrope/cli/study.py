"""The commands ``heliotrope study ...``: studies from the shell.

Whatever is printed is JSON in one line, for scripts; on a terminal ``list`` and ``show`` print
tables.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from heliotrope.cli.console import errors_as_messages, progress
from heliotrope.cli.places import DEFAULT, studies_at
from heliotrope.cli.printing import facts, listed, print_out
from heliotrope.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Use studies, in a store or at a service.")

Name = Annotated[str, typer.Argument(help="The study's name.")]
Id = Annotated[str, typer.Argument(help="The id that ask gave.")]
At = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="HELIOTROPE_STORE",
        help="A store (sqlite:///..., postgresql://...) or a service (http://..., https://...).",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="The token of a service; else $HELIOTROPE_TOKEN."
    ),
]
InContext = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="Values of the context by name, or a file of them."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON also on a terminal.")]


class Kind(StrEnum):
    """What an export is written as."""

    csv = "csv"
    json = "json"


@app.command()
def create(
    name: Name,
    space: Annotated[
        str | None, typer.Option(metavar="JSON", help="Parameters by name, or a file of them.")
    ] = None,
    options: Annotated[
        str | None, typer.Option(help="Names with commas between them, or a list as JSON.")
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Parameters that every ask gives, or a file of them."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="JSON", help="Kind and parameters, or a file of them.")
    ] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize/--maximize", help="Whether low or high values are good.")
    ] = False,
    clock: Annotated[
        str | None, typer.Option(help="Unit of wall time, such as 10min; else asks are counted.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Where its random choices come from.")] = 0,
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Begin a study of parameters (--space) or of named options (--options)."""
    form: dict[str, Any] = {"direction": "minimize" if minimize else "maximize", "seed": seed}
    with errors_as_messages():
        from heliotrope.study import Setup  # slow to load

        if space is not None:
            form["space"] = _read(space, "--space")
        if options is not None:
            form["options"] = _names(options)
        if context is not None:
            form["context"] = _read(context, "--context")
        if policy is not None:
            form["policy"] = _read(policy, "--policy")
        if clock is not None:
            form["clock"] = {"kind": "wall", "unit": clock}
        setup = Setup.from_json(form)
        with studies_at(at, token_file, make=True) as studies:
            studies.create_from(name, setup)
    print_out({"created": name})


@app.command()
def ask(
    name: Name,
    t: Annotated[float | None, typer.Option(help="Its time; by default now.")] = None,
    context: InContext = None,
    key: Annotated[
        str | None, typer.Option(help="The same key again gives the same open ask.")
    ] = None,
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Suggest what to measure now: {"id", "t", "params"} or {"id", "t", "option"}."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        made = studies.open(name).ask(t, context=_values(context), key=key)
    print_out(made.to_json())


@app.command(context_settings={"ignore_unknown_options": True})  # or -1.5 would be one
def tell(
    name: Name,
    id: Id,
    value: Annotated[float, typer.Argument(help="What was measured.")],
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Take a result; the same again is accepted, another value for it is refused."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        studies.open(name).tell(id, value)
    print_out({"told": id})


@app.command(context_settings={"ignore_unknown_options": True})  # as for tell
def add(
    name: Name,
    value: Annotated[float, typer.Argument(help="What was measured.")],
    params: Annotated[
        str | None, typer.Option(metavar="JSON", help="Parameters by name, or a file of them.")
    ] = None,
    option: Annotated[str | None, typer.Option(help="The option, of a study of options.")] = None,
    t: Annotated[float | None, typer.Option(help="Its time; by default now.")] = None,
    context: InContext = None,
    key: Annotated[
        str | None, typer.Option(help="By the same key the same result is taken once.")
    ] = None,
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Take the value of what somebody else chose: --params or an --option."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        chosen = _chosen(params, option)
        made = studies.open(name).add(chosen, value, t, context=_values(context), key=key)
    print_out(made.to_json())


@app.command("import")
def import_results(
    name: Name,
    table: Annotated[Path, typer.Argument(dir_okay=False, help="A file of separated values.")],
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Add all results of a table that are not in the study: columns as in an export."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        from heliotrope.study.tables import added, read_results, unknown

        study = studies.open(name)
        results = read_results(table, study.setup)
        new = unknown(results, study)
        with progress(counted=True) as bars:
            for _ in bars.track(added(new, study), len(new), description="results"):
                pass
    print_out({"added": len(new), "known": len(results) - len(new)})


@app.command()
def cancel(name: Name, id: Id, at: At = DEFAULT, token_file: TokenFile = None) -> None:
    """Give up an ask whose measurement failed."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        studies.open(name).cancel(id)
    print_out({"cancelled": id})


@app.command()
def show(
    name: Name,
    context: InContext = None,
    as_json: AsJson = False,
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Show what is best now, how fast it drifts, and what is open."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        summary = studies.open(name).summary(context=_values(context))
    print_out(summary, None if as_json else facts(summary))


@app.command("list")
def list_studies(as_json: AsJson = False, at: At = DEFAULT, token_file: TokenFile = None) -> None:
    """List the studies."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        found = studies.studies()
    print_out([asdict(info) for info in found], None if as_json else listed(found))


@app.command()
def export(
    name: Name,
    kind: Annotated[Kind, typer.Option(help="What to write.")] = Kind.csv,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="A file to write, instead of printing.")
    ] = None,
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Print or write all results."""
    with errors_as_messages():
        with studies_at(at, token_file) as studies:
            text = studies.open(name).export(kind.value)
        if out is not None:
            out.write_text(text, encoding="utf-8", newline="")
    typer.echo(text if out is None else f"Wrote {out}\n", nl=False)


@app.command()
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether to.")] = False,
    at: At = DEFAULT,
    token_file: TokenFile = None,
) -> None:
    """Remove a study with all its events."""
    with errors_as_messages(), studies_at(at, token_file) as studies:
        study = studies.open(name)
        if not yes:
            typer.confirm(f"Remove {name} with all its events?", abort=True, err=True)
        study.delete()
    print_out({"deleted": name})


def _read(text: str, option: str) -> Any:
    """What an option says as JSON, or the file that it names."""
    try:
        return json.loads(text if text.lstrip().startswith(("{", "[")) else Path(text).read_text())
    except (ValueError, RecursionError) as error:
        got = f"something else ({error})"
        raise InputError(f"JSON, or a file of it, for {option}", got) from error


def _values(context: str | None) -> Any:
    return None if context is None else _read(context, "--context")


def _chosen(params: str | None, option: str | None) -> Any:
    if (params is None) == (option is None):
        got = "neither" if option is None else "both"
        raise InputError("either --params or --option", got)
    return option if params is None else _read(params, "--params")


def _names(text: str) -> Any:
    if text.lstrip().startswith("["):
        return _read(text, "--options")
    return [name.strip() for name in text.split(",")]
