"""What the commands ``heliotrope study ...`` share: their options, and how they are carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import typer

from heliotrope.cli.backends import StoreBackend, default_backend, open_backend
from heliotrope.cli.console import LazyCommands
from heliotrope.errors import HeliotropeError, StudyExistsError
from heliotrope.validation import Json

if TYPE_CHECKING:
    from heliotrope.client.service import Service

_Function = TypeVar("_Function", bound=Callable[..., None])


def _study_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of studies that complete a word in the shell."""
    try:
        with open_backend(str(ctx.params.get("at") or default_backend()), None) as studies:
            return [info.name for info in studies.studies() if info.name.startswith(incomplete)]
    except (HeliotropeError, OSError):
        return []


Name = Annotated[str, typer.Argument(help="Name of the study.", autocompletion=_study_names)]
At = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="HELIOTROPE_STORE",
        help="URL of a store (sqlite:, postgresql:) or of a service (http:, https:).",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Token file of the service. Default: $HELIOTROPE_TOKEN.",
    ),
]
AlwaysJson = Annotated[
    bool, typer.Option("--json", help="Print JSON, as this command always does.")
]
ExistOk = Annotated[
    bool, typer.Option("--exist-ok", help="Continue an existing study of the same description.")
]


class StudyCommands(LazyCommands):
    """The commands by their names."""

    apps: ClassVar[dict[str, Callable[[], typer.Typer]]] = {}


def command(name: str, **settings: Any) -> Callable[[_Function], _Function]:
    """Add a function to the commands, as a separate application."""

    def add(function: _Function) -> _Function:
        only = typer.Typer(add_completion=False)
        paragraphs = (getdoc(function) or "").split("\n\n")
        help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        only.command(name, help=help, **settings)(function)
        StudyCommands.apps[name] = lambda: only
        return function

    return add


def carry_out(
    studies: StoreBackend | Service, name: str, verb: str, fields: Mapping[str, Any]
) -> Json:
    """Carry out a command with these fields; return the answer of a service to it."""
    from heliotrope.study.commands import BY_VERB  # not needed to list studies

    command = BY_VERB[verb].from_json(fields)
    return command.answer(studies.open(name).do(command))


def create(
    studies: StoreBackend | Service, name: str, fields: Mapping[str, Any], *, exist_ok: bool
) -> Json:
    """Create a study from the fields that are not None, or continue it."""
    described = {key: value for key, value in fields.items() if value is not None}
    try:
        studies.create_from(name, described)
    except StudyExistsError:
        if not exist_ok:
            raise
        studies.create_from(name, described, exist_ok=True)
        return {"continued": name}
    return {"created": name}
