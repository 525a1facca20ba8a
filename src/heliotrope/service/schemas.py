"""JSON schemas of the answers, and of the description of a new study.

Other request bodies are commands (:mod:`heliotrope.study.commands`), which have their own schemas.
"""

from __future__ import annotations

from collections.abc import Sequence

from heliotrope.validation import Json


def _object(description: str, *, optional: Sequence[str] = (), **fields: str | Json) -> Json:
    """An object; a field is a schema, or the name of a type."""
    return {
        "type": "object",
        "description": description,
        "properties": {
            name: {"type": schema} if isinstance(schema, str) else schema
            for name, schema in fields.items()
        },
        "required": [name for name in fields if name not in optional],
    }


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _or_null(kind: str) -> Json:
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


def reference(name: str) -> Json:
    """A reference to an answer."""
    return {"$ref": f"#/components/schemas/{name}"}


_RECORDS = _list({"type": "object"})
_ERROR = _object(
    "`code` is for programs. `message` is for people and consists of the fields after it; `field` "
    "is the field at fault, such as space.x.low.",
    code="string",
    message="string",
    field="string",
    expected="string",
    got="string",
    advice="string",
)
_STUDY = _object(
    "A study.", name="string", uid="string", created="number", updated="number", events="integer"
)

SCHEMAS = {
    "Error": _object("An error.", error=_ERROR),
    "Evaluation": _object(
        "What to measure: parameters or an option, and the context if the study has contexts.",
        optional=["params", "option", "context"],
        id="string",
        t="number",
        params="object",
        option="string",
        context="object",
    ),
    "Told": _object(
        "A result was recorded. `ask` is the next evaluation, if the request asked for one.",
        optional=["ask"],
        told="string",
        ask=reference("Evaluation"),
    ),
    "Cancelled": _object("An evaluation was cancelled.", cancelled="string"),
    "Listing": _object(
        "Studies by name, and the name after which the next page starts.",
        studies=_list(_STUDY),
        next=_or_null("string"),
    ),
    "Summary": _object(
        "The state of a study. `best` applies to `context`, if the study has contexts.",
        optional=["context"],
        name="string",
        uid="string",
        setup="object",
        created="number",
        t="number",
        context="object",
        events="integer",
        asked="integer",
        told="integer",
        open=_list(reference("Evaluation")),
        model="object",
        best=_or_null("object"),
        drift="object",
    ),
    "Belief": _object(
        "The belief at a time. `view` says which other fields there are.",
        optional=["context"],
        t="number",
        context="object",
        view="string",
    ),
    "Track": _object(
        "Results over time, and the best as it was believed then.", results=_RECORDS, best=_RECORDS
    ),
    "EventPage": _object(
        "Events, and the number of the study's last event.",
        events=_list(_object("An event.", seq="integer", at="number", kind="string")),
        last="integer",
    ),
    "Export": _object("All evaluations.", setup="object", results=_RECORDS),
    "Health": _object("The service works.", status="string", version="string"),
    "Demo": _object("A demo study was started.", name="string"),
}
"""Answers by name."""

_PARAMETER = {
    "oneOf": [
        _object(
            "A number; `step` is for integers.",
            optional=["scale", "step"],
            type={"enum": ["real", "integer"]},
            low="number",
            high="number",
            scale={"enum": ["linear", "log"]},
            step="integer",
        ),
        _object("A choice.", type={"const": "categorical"}, choices="array"),
        _object("True or false.", type={"const": "boolean"}),
    ]
}
_PARAMETERS = {"type": "object", "additionalProperties": _PARAMETER}
_OPTION = _object("An option.", optional=["features"], name="string", features={})

NEW_STUDY = {
    **_object(
        "A study to create: its name, and either a space or options.",
        optional=["space", "options", "context", "policy", "direction", "clock", "seed"],
        name={
            "type": "string",
            "maxLength": 100,
            "pattern": "^[A-Za-z0-9_-]([A-Za-z0-9 ._-]*[A-Za-z0-9_-])?$",
            "description": "Letters, digits, spaces and . _ -",
        },
        space={**_PARAMETERS, "description": "Parameters by name."},
        options=_list({"oneOf": [{"type": "string"}, _OPTION]}),
        context={**_PARAMETERS, "description": "Parameters by name that every ask provides."},
        policy=_object("Kind of policy, and known parameters.", optional=["kind"], kind="string"),
        direction={"enum": ["maximize", "minimize"]},
        clock=_object(
            "A counter of asks, or the wall clock in a unit.",
            optional=["unit"],
            kind={"enum": ["steps", "wall"]},
            unit="string",
        ),
        seed={"type": "integer", "minimum": 0, "description": "Random seed."},
    ),
    "additionalProperties": False,
}
"""The body that creates a study; :class:`heliotrope.study.StudyConfig` checks it."""
