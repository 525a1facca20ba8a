"""JSON schemas of the answers.

Those of requests are made of the fields of commands (:mod:`heliotrope.study.commands`) and of a new
study (:mod:`heliotrope.study.creation`).
"""

from collections.abc import Sequence
from typing import Any

from heliotrope.study.command_fields import Command
from heliotrope.study.commands import BY_VERB
from heliotrope.validation import Json


def _object(description: str, fields: Json, optional: Sequence[str] = ()) -> Json:
    return {
        "type": "object",
        "description": description,
        "properties": fields,
        "required": [name for name in fields if name not in optional],
    }


def _typed(**names: str) -> Json:
    """Fields of plain types: their names by type."""
    return {name: {"type": kind} for kind, listed in names.items() for name in listed.split()}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _or_null(kind: str) -> Json:
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


def _acknowledgement(kind: type[Command[Any]]) -> Json:
    """The answer of a command that has no result, as its example shows."""
    types = {str: "string", bool: "boolean"}
    fields = {name: {"type": types[type(value)]} for name, value in kind.example_answer.items()}
    return _object(f"The command `{kind.verb}` was carried out.", fields)


def reference(name: str) -> Json:
    """A reference to an answer."""
    return {"$ref": f"#/components/schemas/{name}"}


_RECORDS = _list({"type": "object"})
_ERROR = _object(
    "`code` is for programs. `message` is for people and consists of the fields after it; `field` "
    "is the field at fault, such as space.x.low.",
    _typed(string="code message field expected got advice"),
)
_STUDY = _object("A study.", _typed(string="name uid", number="created updated", integer="events"))
_EVENT = _object("An event.", _typed(integer="seq", number="at", string="kind"))

SCHEMAS = {
    "Error": _object("An error.", {"error": _ERROR}),
    "Evaluation": _object(
        "What to measure: parameters or an option, and the context if the study has contexts. "
        "`until` is the wall time at which its lease ends. `reason` says why it was chosen, in a "
        "study with metrics, limits, a baseline or moves.",
        _typed(string="id option reason", number="t until", object="params context"),
        optional=["params", "option", "context", "until", "reason"],
    ),
    "Hold": _object(
        "A measurement before the time `hold_until` would not be worth its cost.",
        _typed(number="hold_until"),
    ),
    "Asked": {
        "description": "What to measure; or, if the ask had a cost, when to ask again.",
        "anyOf": [reference("Evaluation"), reference("Hold")],
    },
    "Told": _object(
        "A result was recorded. `ask` is the next evaluation, if the request asked for one.",
        _typed(string="told") | {"ask": reference("Asked")},
        optional=["ask"],
    ),
    "Batch": _object(
        "The answers to the commands, in their order: `status`, and `answer` or `error`.",
        {"answers": _RECORDS},
    ),
    "Listing": _object(
        "Studies by name, and the name after which the next page starts.",
        {"studies": _list(_STUDY), "next": _or_null("string")},
    ),
    "Best": _object(
        "The best choice: parameters or an option, and the context if the study has contexts. "
        "`mean` and `std` are its believed value and the standard deviation of that. With this "
        "`probability` nothing else is better by more than `margin`; null with too few results. "
        "`metrics` has the beliefs about each metric.",
        _typed(string="option", number="t mean std", object="params context metrics")
        | {"probability": _or_null("number"), "margin": _or_null("number")},
        optional=["params", "option", "context", "metrics"],
    ),
    "Summary": _object(
        "The state of a study. `best` applies to `context`, if the study has contexts. With "
        "metrics, `lead` is the one that leads, `metrics` describes each, `gain` is that over the "
        "`baseline`, `applied` runs now, and `front` has the trade-offs of several objectives.",
        _typed(string="name uid lead", number="created t", integer="events asked told")
        | _typed(object="setup context model drift metrics baseline applied")
        | {"open": _list(reference("Evaluation"))}
        | {"best": {"anyOf": [reference("Best"), {"type": "null"}]}}
        | {"gain": _or_null("object"), "front": reference("Front")}
        | {"accuracy": _or_null("object")}
        | {"faults": _list({"type": "string"}), "warning": _or_null("string")},
        optional=["context", "lead", "metrics", "baseline", "applied", "gain", "front", "accuracy"],
    ),
    "Front": _object(
        "The best trade-offs: choices that no other one beats in every objective.",
        _typed(number="t", object="context")
        | {"objectives": _list({"type": "string"}), "choices": _RECORDS},
        optional=["context"],
    ),
    "Belief": _object(
        "The belief at a time. `view` says which other fields there are. With limits, `safe` says "
        "which choices keep them, and `limits` has the bounds of the `metric`.",
        _typed(number="t", object="context", string="view metric"),
        optional=["context", "metric"],
    ),
    "Track": _object(
        "Results over time, the best as it was believed then, and a bound of the regret so far.",
        {"results": _RECORDS, "best": _RECORDS, "certificate": _or_null("object")}
        | {"limits": {"type": "object"}},
        optional=["limits"],
    ),
    "EventPage": _object(
        "Events, and the number of the study's last event.",
        {"events": _list(_EVENT)} | _typed(integer="last"),
    ),
    "Export": _object("All evaluations.", _typed(object="setup") | {"results": _RECORDS}),
    "Health": _object("The service works.", _typed(string="status version")),
    "Demo": _object("A demo study was started.", _typed(string="name")),
}
"""Answers by name."""

SCHEMAS |= {
    kind.answered: _acknowledgement(kind)
    for kind in BY_VERB.values()
    if kind.answered not in SCHEMAS
}
