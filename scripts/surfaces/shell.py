"""The shell commands that create and change studies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, replace
from inspect import getdoc
from textwrap import indent, wrap
from typing import Any

from heliotrope.study.command_fields import own_first
from heliotrope.study.commands import BY_VERB
from heliotrope.study.creation import NewStudy
from surfaces.arguments import Kind, docstring


@dataclass(frozen=True)
class Form:
    """How a command line gives a value: its type, and the source that reads it."""

    type: str
    read: str = "{name}"
    settings: str = ""
    written: str = ""


_VALUES = 'metavar="VALUES"'
_READ_VALUES = 'read_values({name}, "--{option}")'
_AS_VALUES = "JSON, a JSON file, or NAME=VALUE,..."
_AS_PARAMETERS = 'JSON or a file, as {"x": {"type": "real", "low": 0, "high": 1}}.'
_FORMS = {
    "number": Form("float | None"),
    "integer": Form("int | None"),
    "string": Form("str | None"),
    "array": Form("list[str] | None", "{name} or None", written="May be repeated."),
    "object": Form("str | None", _READ_VALUES, _VALUES, _AS_VALUES),
    "parameters": Form("str | None", _READ_VALUES, 'metavar="JSON"', _AS_PARAMETERS),
    "names": Form(
        "str | None", "read_names({name})", written="Separated by commas, or a JSON list."
    ),
    "clock": Form("str | None", "read_clock({name})"),
    "choice": Form("str | None", 'read_choice({name}, "--{option}")', _VALUES, _AS_VALUES),
    "choices": Form("list[str] | None", 'read_choices({name}, "--{option}")', _VALUES, _AS_VALUES),
    "limits": Form(
        "str | None",
        "read_limits({name})",
        'metavar="LIMITS"',
        "JSON, or such as p99<200,throughput>95%.",
    ),
    "numbers": Form(
        "str | None",
        "read_numbers({name})",
        'metavar="NUMBER|METRIC=NUMBER,...", callback=check_numbers',
    ),
    "result": Form(
        "list[str] | None",
        "read_numbers({name})",
        'metavar="[VALUE|METRIC=VALUE...]", show_default=False, callback=check_numbers',
    ),
}


@dataclass(frozen=True)
class Option:
    """A parameter of a shell command."""

    name: str
    declared: str
    field: str = ""
    read: str = ""


def shell_commands() -> str:
    """The module with the shell commands that create and change studies."""
    commands = "\n\n".join([shell_create(), *(shell_command(kind) for kind in BY_VERB.values())])
    return f'''"""The commands ``heliotrope study ...`` that create and change studies."""

from typing import Annotated

import typer

from heliotrope.cli.backends import open_backend
from heliotrope.cli.console import errors_as_messages
from heliotrope.cli.printing import print_out
from heliotrope.cli.study_options import (
    AlwaysJson, At, ExistOk, Name, TokenFile, carry_out, command, create,
)
from heliotrope.cli.values import (
    check_numbers, read_choice, read_choices, read_clock, read_limits, read_moves, read_names,
    read_numbers, read_values,
)
from heliotrope.storage.protocol import DEFAULT_STORE


{commands}'''


def shell_command(kind: Kind) -> str:
    """The shell command of a command."""
    taken = [
        option
        for field in own_first(kind)
        if not field.metadata["by_client"]
        for option in shell_options(field)
    ]
    settings = ', context_settings={"ignore_unknown_options": True}'  # such as -1.5
    listed = settings if any(option.field == "value" for option in taken) else ""
    about = f"{getdoc(kind)}\n\nPrints JSON such as {json.dumps(kind.example_answer)}"
    return _shell_function(
        f'"{kind.verb}"{listed}',
        kind.verb,
        about,
        sorted(taken, key=lambda option: " = None" in option.declared),
        f'carry_out(studies, name, "{kind.verb}", fields)',
    )


def shell_create() -> str:
    """The shell command that creates a study."""
    taken = [
        option
        for field in own_first(NewStudy)
        if field.name != "name"
        for option in shell_options(field)
    ]
    carried_out = "create(studies, name, fields, exist_ok=exist_ok)"
    exist_ok = Option("exist_ok", "exist_ok: ExistOk = False")
    about = (getdoc(NewStudy) or "").partition("\n")[0]
    return _shell_function('"create"', "create", about, [*taken, exist_ok], carried_out)


def _shell_function(
    decorated: str, verb: str, about: str, taken: Sequence[Option], carried_out: str
) -> str:
    """The source of a shell command."""
    declared = "".join(f"{option.declared},\n" for option in taken)
    read = "".join(f'"{option.field}": {option.read},\n' for option in taken if option.field)
    options = [option.name for option in taken if "typer.Option" in option.declared]
    named = re.sub(r"``(\w+)``", lambda name: "--" * (name[1] in options) + name[1], about)
    said = docstring(named, ())
    return f"""@command({decorated})
def {verb}_command(
    name: Name,
{declared}    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
{indent(said, "    ")}
    with errors_as_messages(), open_backend(at, token_file) as studies:
        fields = {{
{read}
        }}
        print_out({carried_out})
"""


def shell_options(field: Field[Any]) -> list[Option]:
    """The options of a field: moves have two."""
    name, about, schema = field.name, field.metadata["description"], field.metadata["schema"]
    named = field.metadata["form"] or _form_of(schema)
    if named == "moves":
        parts = schema["properties"]
        largest = _option("largest", _FORMS["object"], _by_parameter(parts["largest"]))
        cost = _option("move_cost", _FORMS["object"], _by_parameter(parts["cost"]))
        return [largest, Option(cost.name, cost.declared, name, "read_moves(largest, move_cost)")]
    if named == "direction":
        flags = f'typer.Option("--minimize/--maximize", help={_in_lines(about)})'
        read = '"minimize" if minimize else "maximize"'
        return [Option("minimize", f"minimize: Annotated[bool, {flags}] = False", name, read)]
    form, option = _FORMS[named], name.replace("_", "-")
    if named == "integer" and field.metadata["check"] is None:
        form = replace(form, settings=f"min={schema['minimum']}")
    if field.default is MISSING or named == "result":
        settings = f"{form.settings}, " if form.settings else ""
        argument = f"typer.Argument({settings}help={_in_lines(about)})"
        kind, default = (form.type, " = None") if named == "result" else ("str", "")
        declared = f"{name}: Annotated[{kind}, {argument}]{default}"
    else:
        declared = _option(name, form, about).declared
    return [Option(name, declared, name, form.read.format(name=name, option=option))]


def _option(name: str, form: Form, about: str) -> Option:
    said = f"{about} {form.written}".strip()
    settings = f"{form.settings}, " if form.settings else ""
    declared = f"typer.Option({settings}help={_in_lines(said)})"
    return Option(name, f"{name}: Annotated[{form.type}, {declared}] = None")


def _in_lines(text: str) -> str:
    """The source of a text, in lines that are not too long; a shell has no names of errors."""
    said = re.sub(r" \(\w+Error\)", "", text)
    parts = wrap(said, 72, drop_whitespace=False, break_on_hyphens=False, break_long_words=False)
    return " ".join(json.dumps(part) for part in parts)


def _form_of(schema: Mapping[str, Any]) -> str:
    """The form of a value with a schema: several types are those of numbers by metric."""
    return "numbers" if "anyOf" in schema else str(schema["type"])


def _by_parameter(part: Mapping[str, Any]) -> str:
    return f"{part['description'].removesuffix('.')}, by parameter."
