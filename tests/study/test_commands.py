"""Commands as data: read strictly, written back, described."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.study.command_fields import Command, json_schema
from heliotrope.study.commands import BY_VERB, Add, Ask, Cancel, Evaluation, Tell

FORMS: list[tuple[type[Command[Any]], dict[str, Any]]] = [
    (Ask, {}),
    (Ask, {"t": 2.0, "context": {"outside": 20}, "key": "mine", "uid": "a1"}),
    (Tell, {"id": "a-1", "value": 1.5}),
    (Tell, {"id": "a-1", "value": 1.5, "ask": {"t": 2.0, "key": "mine"}}),
    (Tell, {"id": "a-1", "value": 1.5, "std": 0.5}),
    (Tell, {"id": "a-1", "value": 1.5, "n": 4, "ask": {}}),
    (Tell, {"id": "a-1", "successes": 3, "trials": 10}),
    (Add, {"count": 0, "exposure": 2.5, "option": "hall"}),
    (Add, {"value": 1.5, "option": "hall"}),
    (
        Add,
        {"value": 1.5, "params": {"x": 1}, "t": 2.0, "context": {}, "key": "k", "uid": "u"},
    ),
    (Cancel, {"id": "a-1"}),
]


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_a_command_is_read_and_written(kind: type[Command[Any]], form: dict[str, Any]) -> None:
    assert kind.from_json(form).to_json() == form
    assert kind.from_json({**dict.fromkeys(optional(kind)), **form}) == kind.from_json(form)


def optional(kind: type[Command[Any]]) -> set[str]:
    schema = json_schema(kind)
    return set(schema["properties"]) - set(schema["required"])


@pytest.mark.parametrize(
    ("kind", "form", "field"),
    [
        (Ask, [], "body"),
        (Ask, {"t": "soon"}, "t"),
        (Ask, {"t": True}, "t"),
        (Ask, {"t": float("nan")}, "t"),
        (Ask, {"key": ""}, "key"),
        (Ask, {"key": "k" * 201}, "key"),
        (Ask, {"uid": ""}, "uid"),
        (Ask, {"context": []}, "context"),
        (Ask, {"colour": "red"}, "colour"),
        (Tell, {"value": 1.0}, "id"),
        (Tell, {"id": "a"}, "value"),
        (Tell, {"id": None, "value": 1.0}, "id"),
        (Tell, {"id": "a", "value": None}, "value"),
        (Tell, {"id": "a", "value": 1e50}, "value"),
        (Tell, {"id": "a", "value": 1.0, "std": 0.0}, "std"),
        (Tell, {"id": "a", "value": 1.0, "std": float("nan")}, "std"),
        (Tell, {"id": "a", "value": 1.0, "n": 0}, "n"),
        (Tell, {"id": "a", "value": 1.0, "n": True}, "n"),
        (Tell, {"id": "a", "value": 1.0, "successes": 1, "trials": 2}, "value"),
        (Tell, {"id": "a", "successes": 3, "trials": 2}, "successes"),
        (Tell, {"id": "a", "successes": 1}, "value"),
        (Tell, {"id": "a", "count": 1, "exposure": 1e-50}, "exposure"),
        (Tell, {"id": "a" * 101, "value": 1.0}, "id"),
        (Tell, {"id": "a", "value": 1.0, "ask": 7}, "ask"),
        (Tell, {"id": "a", "value": 1.0, "ask": {"t": []}}, "ask.t"),
        (Tell, {"id": "a", "value": 1.0, "ask": {"why": 1}}, "ask.why"),
        (Add, {"value": 1.0}, ""),
        (Add, {"value": 1.0, "option": "a", "params": {}}, ""),
        (Add, {"value": 1.0, "option": 7}, "option"),
        (Add, {"value": 1.0, "params": []}, "params"),
        (Cancel, {"id": "a", "why": "no"}, "why"),
    ],
)
def test_a_wrong_field_is_named(kind: type[Command[Any]], form: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        kind.from_json(form)
    assert caught.value.field == field


def test_a_command_is_checked_when_it_is_carried_out() -> None:
    study = ht.Study.create("s", ["a", "b"], store="memory:")
    ask = study.ask()
    wrong: list[tuple[Command[Any], str]] = [
        (Tell(ask.id, float("nan")), "value"),
        (Tell(ask.id, 1.0, n=0), "n"),
        (Tell(ask.id, 1.0, Ask(t=float("nan"))), "ask.t"),
        (Add(float("inf"), option="a"), "value"),
        (Ask(lease="soon"), "lease"),
    ]
    outcomes = study.do_all([command for command, _ in wrong])
    assert [outcome.field for outcome in outcomes] == [field for _, field in wrong]
    assert study.summary().events == 2
    with pytest.raises(InputError, match="a command"):
        study.do("tell")  # type: ignore[arg-type]


def test_numbers_of_numpy_are_written_as_json() -> None:
    command = Add(np.float64(1.5), {"x": np.int64(2)}, t=np.float64(2.0))
    assert command.to_json() == {"value": 1.5, "params": {"x": 2}, "t": 2.0}
    assert {type(command.value), type(command.t)} == {float}


def test_a_command_is_described() -> None:
    schema = json_schema(Tell)
    assert schema["required"] == ["id"]
    assert list(schema["properties"])[:3] == ["id", "value", "ask"]
    assert not schema["additionalProperties"]
    assert schema["properties"]["id"] == {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "description": "The id of the evaluation.",
    }
    following, nothing = schema["properties"]["ask"]["anyOf"]
    assert following == json_schema(Ask)
    assert nothing == {"type": "null"}


def test_an_answer_is_read_as_the_result() -> None:
    asked = Evaluation("a-1", 2.0, {"x": 0.5}, context={"n": 1})
    commands: list[Command[Any]] = [Ask(), Tell("a-0", 1.0, Ask()), Add(1.0, {"x": 0.5})]
    for command in commands:
        assert command.result(command.answer(asked)) == asked
    for command in (Tell("a-0", 1.0), Cancel("a-0")):
        assert command.result(command.answer(None)) is None


@pytest.mark.parametrize("kind", BY_VERB.values())
def test_the_example_of_a_command_is_one(kind: type[Command[Any]]) -> None:
    command = kind.from_json(kind.example)
    assert command.to_json() == kind.example
    assert command.answer(command.result(kind.example_answer)) == kind.example_answer


def test_commands_need_no_optimizer() -> None:
    code = "import sys, heliotrope.study.verbs; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert not {b"scipy", b"sklearn", b"heliotrope.optimizer"} & set(modules.split())
