"""Every surface has every command: what is generated, and what is written by hand."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import typer

import heliotrope as ht
from heliotrope.cli.study import study_app
from heliotrope.client.asynchronous import AsyncService, AsyncStudy
from heliotrope.client.service import Service
from heliotrope.client.study import RemoteStudy
from heliotrope.errors import InputError
from heliotrope.optimizer import Optimizer
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import BY_VERB
from heliotrope.study.creation import CONFIG_KEYS, NEW_STUDY
from log_model import LogModel
from simulated_commands import Commands

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from measure_code import is_generated  # noqa: E402
from write_surfaces import surfaces  # noqa: E402

WRITTEN = surfaces()
OPENAPI = json.loads((ROOT / "clients" / "typescript" / "openapi.json").read_text())
PAGES = {
    name: "\n".join(path.read_text() for path in sorted(ROOT.glob(pattern)))
    for name, pattern in {
        "how-to": "docs/how-to/*.md",
        "guarantees": "docs/reference/studies.md",
        "reference": "docs/reference/fields.md",
        "notes": "changes/*.md",
        "changelog": "CHANGELOG.md",
        "page": "src/heliotrope/service/static/*.js",
        "typescript": "clients/typescript/src/verbs.ts",
        "typescript tests": "clients/typescript/tests/*.ts",
        "tests": "tests/**/test_*.py",
    }.items()
}
SUBJECTS = {"id": "ask", "option": "params"}  # fields that have another name in Python
ON_THE_OPTIMIZER = {"add": "begin", "retime": "set_back"}  # which has other names for these

Kind = type[Command[Any]]


def said(verb: str, *pages: str) -> bool:
    return any(re.search(rf"\b{verb}\b", PAGES[page]) for page in pages)


# ---- generated files


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_a_generated_file_is_what_the_fields_say(path: Path) -> None:
    assert path.read_text() == WRITTEN[path], "Run make surfaces."
    assert is_generated(WRITTEN[path])


# ---- a command is done when it is in every place


def asked_study() -> tuple[ht.Study, str]:
    """A study with a leased evaluation, and its id."""
    study = ht.Study.create("s", {"x": ht.Real(0, 1)}, baseline={"x": 0.25}, store="memory:")
    return study, study.ask(lease="1min").id


def carried_out(kind: Kind) -> tuple[int, bool]:
    """How many events the example of a command adds to a log, and whether it changes the export."""
    study, id = asked_study()
    events, exported = len(study.events()), study.export("json")
    here = {"id": id, "t": 0.5} if kind.verb == "retime" else {"id": id}  # a time that is earlier
    body = {**kind.example, **{name: here[name] for name in names_of(kind) if name in here}}
    body.pop("context", None)
    study.do(kind.from_json(body))
    return len(study.events()) - events, study.export("json") != exported


@cache
def simulated() -> set[tuple[str, str]]:
    """The fields of each command that the simulation gives a value."""
    of_params = ht.Study.create(
        "params", {"x": ht.Real(0, 1)}, context={"outside": ht.Real(0, 1)}, store="memory:"
    )
    of_options = ht.Study.create(
        "options", ["a", "b"], metrics={"y": "watch", "z": "maximize"}, store="memory:"
    )
    asks = {"params": of_params.ask(context={"outside": 0.5}), "options": of_options.ask()}
    studies = {study.name: study for study in (of_params, of_options)}
    models = {name: LogModel(study.config) for name, study in studies.items()}
    for name, study in studies.items():
        models[name].read(study.events())
    commands, drawn = Commands(Random(1), studies, models), set[tuple[str, str]]()
    for name in [*studies] * 500:
        client: Any = SimpleNamespace(mine={name: [asks[name]]})
        command = commands.draw(client, name)
        drawn |= {(command.verb, key) for key, value in vars(command).items() if value is not None}
    return drawn


def names_of(kind: Kind) -> list[str]:
    return [field.name for field in fields(kind)]


def shell_options(verb: str) -> set[str]:
    """The names of a shell command's arguments and options; none if it is missing."""
    group: Any = typer.main.get_command(study_app)
    command = group.get_command(None, verb)
    flags = [flag for option in command.params for flag in option.opts] if command else []
    return {flag.removeprefix("--").replace("-", "_") for flag in flags}


def operation(kind: Kind) -> Mapping[str, Any]:
    described: Mapping[str, Any] = OPENAPI["paths"][f"/api/studies/{{name}}/{kind.verb}"]["post"]
    return described


def has_examples(kind: Kind) -> bool:
    body = operation(kind)["requestBody"]["content"]["application/json"]["schema"]
    answer = operation(kind)["responses"]["200"]["content"]["application/json"]
    return kind.example in body["examples"] and answer["example"] == kind.example_answer


def in_camel_case(verb: str) -> str:
    return re.sub(r"_(\w)", lambda letter: letter[1].upper(), verb)


PLACES: Mapping[str, Callable[[Kind], bool]] = {
    "tests of its own": lambda kind: said(kind.__name__, "tests"),
    "optimizer": lambda kind: hasattr(Optimizer, ON_THE_OPTIMIZER.get(kind.verb, kind.verb)),
    "study": lambda kind: hasattr(ht.Study, kind.verb),
    "client": lambda kind: hasattr(RemoteStudy, kind.verb),
    "asynchronous client": lambda kind: hasattr(AsyncStudy, kind.verb),
    "TypeScript": lambda kind: f"async {in_camel_case(kind.verb)}(" in PAGES["typescript"],
    "TypeScript's tests": lambda kind: f".{in_camel_case(kind.verb)}(" in PAGES["typescript tests"],
    "OpenAPI's examples": has_examples,
    "command line": lambda kind: {"json", "at"} <= shell_options(kind.verb),
    "page": lambda kind: f"/{kind.verb}`" in PAGES["page"],
    "state machine": lambda kind: carried_out(kind)[0] > 0,
    "export": lambda kind: carried_out(kind)[1],
    "simulation": lambda kind: any(verb == kind.verb for verb, _ in simulated()),
    "how-to": lambda kind: said(kind.verb, "how-to"),
    "guarantees": lambda kind: f"`{kind.verb}(" in PAGES["guarantees"],
    "reference": lambda kind: f"\n## {kind.verb}\n" in PAGES["reference"],
    "change note": lambda kind: said(kind.verb, "notes", "changelog"),
}

_BY_PROGRAMS = "a program or the command line does it; people at the page look and measure"
EXCEPTIONS: Mapping[tuple[str, str], str] = {
    ("heartbeat", "optimizer"): "an optimizer in memory has no workers, hence no leases",
    ("add", "page"): _BY_PROGRAMS,
    ("applied", "page"): _BY_PROGRAMS,
    ("retime", "page"): "an operator repairs a clock, and then the study, at the command line",
    ("applied", "export"): "rows are evaluations; what runs is in the log alone",
    ("heartbeat", "export"): "a lease ends with its evaluation; its history is in the log alone",
    ("retime", "export"): "rows have the times of the asks; the correction is in the log alone",
}
"""Commands that are not in a place, with the reason."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("verb", BY_VERB)
def test_a_command_is_in_every_place(verb: str, place: str) -> None:
    is_excepted = (verb, place) in EXCEPTIONS
    assert PLACES[place](BY_VERB[verb]) != is_excepted, f"{verb}: {place}"


# ---- a field is done when every surface has it


FIELDS = [(kind, field.name) for kind in BY_VERB.values() for field in fields(kind)]
_NOISE = ("successes", "trials", "count", "exposure")
NOT_SIMULATED: Mapping[tuple[str, str], str] = {
    **{
        ("tell", name): "tests/study/test_study_noise.py has all forms of a result"
        for name in _NOISE
    },
    **{("add", name): "as for tell" for name in ("std", *_NOISE)},
    ("add", "t"): "results of the past are those of tests/study/test_study_add.py",
}
"""Fields that the simulation leaves out, with the reason."""


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda of: getattr(of, "verb", of))
def test_a_wrong_value_of_a_field_is_refused_by_name(kind: Kind, name: str) -> None:
    with pytest.raises(InputError) as caught:
        kind.from_json({**kind.example, name: [object()]})
    assert caught.value.field == name
    assert caught.value.expected
    assert caught.value.got


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda of: getattr(of, "verb", of))
def test_a_field_is_in_every_surface(kind: Kind, name: str) -> None:
    (field,) = [field for field in fields(kind) if field.name == name]
    body = operation(kind)["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"][name]["description"] == field.metadata["description"]
    assert (name in body["required"]) == (field.default is MISSING)
    by_client = field.metadata["by_client"]
    argument = SUBJECTS.get(name, name)
    for study in (ht.Study, RemoteStudy, AsyncStudy):
        method = getattr(study, kind.verb)
        text = inspect.getdoc(method) or ""
        taken = inspect.signature(method).parameters
        assert (argument not in taken) == by_client or argument == "ask"
        assert by_client or f"\n{argument}\n" in text
    assert (name in shell_options(kind.verb)) != by_client
    section = PAGES["reference"].partition(f"\n## {kind.verb}\n")[2].partition("\n## ")[0]
    assert f"| `{name}`" in section


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda of: getattr(of, "verb", of))
def test_the_simulation_draws_a_field(kind: Kind, name: str) -> None:
    assert ((kind.verb, name) in simulated()) != ((kind.verb, name) in NOT_SIMULATED)


@pytest.mark.parametrize("key", CONFIG_KEYS)
def test_what_a_study_is_created_with_is_in_every_surface(key: str) -> None:
    assert NEW_STUDY["properties"][key]["description"]
    methods = (ht.Study.create, Service.create, AsyncService.create)
    argument = {"options": "space"}.get(key, key)
    for create in methods:
        assert argument in inspect.signature(create).parameters
        assert f"\n{argument}\n" in (inspect.getdoc(create) or "")
    option = {"direction": "minimize", "moves": "move_cost"}.get(key, key)
    assert option in shell_options("create")
    section = PAGES["reference"].partition("\n## create\n")[2].partition("\n## ")[0]
    assert f"| `{key}` |" in section
    body = OPENAPI["paths"]["/api/studies"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["properties"][key] == json.loads(json.dumps(NEW_STUDY["properties"][key]))
