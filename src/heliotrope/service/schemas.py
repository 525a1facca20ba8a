"""JSON schemas of the answers, and of the description of a new study.

Other request bodies are commands (:mod:`heliotrope.study.commands`), which have their own schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heliotrope.study.commands import Json

_TEXT, _NUMBER, _INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_OBJECT = {"type": "object"}
_RECORDS = {"type": "array", "items": _OBJECT}


def _object(
    description: str,
    required: Mapping[str, Any],
    optional: Mapping[str, Any] | None = None,
) -> Json:
    return {
        "type": "object",
        "description": description,
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


def reference(name: str) -> Json:
    """A reference to an answer."""
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(schema: Json) -> Json:
    return {"type": "array", "items": schema}


SCHEMAS = {
    "Error": _object(
        "An error. The message consists of the other fields.",
        {
            "error": _object(
                "The reason.",
                {
                    "code": {**_TEXT, "description": "Kind of error, for programs."},
                    "message": {**_TEXT, "description": "One or two sentences, for people."},
                    "field": {**_TEXT, "description": "The field at fault, such as space.x.low."},
                    "expected": _TEXT,
                    "got": _TEXT,
                    "advice": {**_TEXT, "description": "How to correct it; may be empty."},
                },
            )
        },
    ),
    "Evaluation": _object(
        "What to measure: parameters or an option, and the context if the study has contexts.",
        {"id": _TEXT, "t": _NUMBER},
        {"params": _OBJECT, "option": _TEXT, "context": _OBJECT},
    ),
    "Told": _object(
        "A result was recorded. `ask` is the next evaluation, if the request asked for one.",
        {"told": _TEXT},
        {"ask": reference("Evaluation")},
    ),
    "Cancelled": _object("An evaluation was cancelled.", {"cancelled": _TEXT}),
    "Listing": _object(
        "Studies by name, and the name after which the next page starts.",
        {
            "studies": _list(
                _object(
                    "A study.",
                    {
                        "name": _TEXT,
                        "uid": _TEXT,
                        "created": _NUMBER,
                        "updated": _NUMBER,
                        "events": _INTEGER,
                    },
                )
            ),
            "next": _or_null(_TEXT),
        },
    ),
    "Summary": _object(
        "The state of a study. `best` applies to `context`, if the study has contexts.",
        {
            "name": _TEXT,
            "uid": _TEXT,
            "setup": _OBJECT,
            "created": _NUMBER,
            "t": _NUMBER,
            "events": _INTEGER,
            "asked": _INTEGER,
            "told": _INTEGER,
            "open": _list(reference("Evaluation")),
            "model": _OBJECT,
            "best": _or_null(_OBJECT),
            "drift": _OBJECT,
        },
        {"context": _OBJECT},
    ),
    "Belief": _object(
        "The belief at a time. `view` says which other fields there are.",
        {"t": _NUMBER, "view": _TEXT},
        {"context": _OBJECT},
    ),
    "Track": _object(
        "Results over time, and the best as it was believed then.",
        {"results": _RECORDS, "best": _RECORDS},
    ),
    "EventPage": _object(
        "Events, and the number of the study's last event.",
        {
            "events": _list(
                _object("An event.", {"seq": _INTEGER, "at": _NUMBER, "kind": _TEXT}),
            ),
            "last": _INTEGER,
        },
    ),
    "Export": _object("All evaluations.", {"setup": _OBJECT, "results": _RECORDS}),
    "Health": _object("The service works.", {"status": _TEXT, "version": _TEXT}),
    "Demo": _object("A demo study was started.", {"name": _TEXT}),
}
"""Answers by name."""

_PARAMETER = {
    "oneOf": [
        _object(
            "A number.",
            {"type": {"enum": ["real", "integer"]}, "low": _NUMBER, "high": _NUMBER},
            {
                "scale": {"enum": ["linear", "log"]},
                "step": {**_INTEGER, "description": "Of an integer."},
            },
        ),
        _object("A choice.", {"type": {"const": "categorical"}, "choices": {"type": "array"}}),
        _object("True or false.", {"type": {"const": "boolean"}}),
    ]
}
_PARAMETERS = {"type": "object", "additionalProperties": _PARAMETER}
_OPTION = {"oneOf": [_TEXT, _object("An option.", {"name": _TEXT}, {"features": {}})]}

NEW_STUDY = {
    **_object(
        "A study to create: its name, and either a space or options.",
        {
            "name": {
                "type": "string",
                "maxLength": 100,
                "pattern": "^[A-Za-z0-9_-]([A-Za-z0-9 ._-]*[A-Za-z0-9_-])?$",
                "description": "Letters, digits, spaces and . _ -",
            }
        },
        {
            "space": {**_PARAMETERS, "description": "Parameters by name."},
            "options": {**_list(_OPTION), "description": "Options to choose from."},
            "context": {
                **_PARAMETERS,
                "description": "Parameters by name that every ask provides.",
            },
            "policy": {
                "type": "object",
                "properties": {"kind": _TEXT},
                "description": "Kind of policy and its known parameters.",
            },
            "direction": {
                "enum": ["maximize", "minimize"],
                "description": "Whether high or low values are good.",
            },
            "clock": {
                **_object("", {"kind": {"enum": ["steps", "wall"]}}, {"unit": _TEXT}),
                "description": "A counter of asks, or the wall clock in a unit.",
            },
            "seed": {"type": "integer", "minimum": 0, "description": "Random seed."},
        },
    ),
    "additionalProperties": False,
}
"""The body that creates a study; :class:`heliotrope.study.StudyConfig` checks it."""
