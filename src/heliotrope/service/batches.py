"""Batches: commands to many studies in one request, each answered on its own."""

from collections.abc import Callable, Sequence
from typing import Any

from heliotrope.errors import HeliotropeError, InputError, located
from heliotrope.service.errors import as_answer
from heliotrope.service.studies import Studies
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import BY_VERB
from heliotrope.validation import Json, short_repr

MOST = 1_000  # commands in one request
_KEYS = ("study", "verb", "body")

BATCH: Json = {
    "title": "Batch",
    "type": "object",
    "properties": {
        "commands": {
            "type": "array",
            "maxItems": MOST,
            "items": {  # a wrong one is answered in its place, so no entry makes a request wrong
                "description": "An object of `study` (a name), `verb` and `body`, that of the "
                f"single request. Verbs: {', '.join(sorted(BY_VERB))}.",
                "examples": [{"study": "pump", "verb": "ask", "body": {}}],
            },
        }
    },
    "required": ["commands"],
    "additionalProperties": False,
}
"""The body of a batch."""


def carry_out(studies: Studies, body: Json, count: Callable[[Command[Any]], None]) -> list[Json]:
    """Carry out a batch; ``count`` is called with each command that succeeds."""
    answers: list[Any] = [_read(entry) for entry in _entries(body)]
    valid = [i for i, read in enumerate(answers) if not isinstance(read, HeliotropeError)]
    commands = [answers[i] for i in valid]
    outcomes = studies.do_together(commands)
    for i, (_, command), outcome in zip(valid, commands, outcomes, strict=True):
        answers[i] = outcome
        if not isinstance(outcome, Exception):
            count(command)
            answers[i] = {"status": 200, "answer": command.answer(outcome)}
    return [as_answer(item) if isinstance(item, Exception) else item for item in answers]


def _entries(body: Json) -> Sequence[Any]:
    unknown = [key for key in body if key != "commands"]
    if unknown:
        raise InputError("no key but commands", short_repr(unknown[0]), "", str(unknown[0])[:60])
    entries = body.get("commands")
    if not isinstance(entries, list) or len(entries) > MOST:
        got = short_repr(entries) if not isinstance(entries, list) else f"{len(entries):,}"
        raise InputError(f"a list of at most {MOST:,} commands", got, "", "commands")
    return entries


def _read(entry: Any) -> tuple[str, Command[Any]] | HeliotropeError:
    """The study and the command of an entry, or the error to answer."""
    try:
        if not isinstance(entry, dict) or {*entry} != {*_KEYS}:
            raise InputError("an object of study, verb and body", short_repr(entry), "", "commands")
        name, verb = entry["study"], entry["verb"]
        if not isinstance(name, str):
            raise InputError("the name of a study", short_repr(name), "", "study")
        if not isinstance(verb, str) or verb not in BY_VERB:
            raise InputError(f"a verb among {sorted(BY_VERB)}", short_repr(verb), "", "verb")
        with located("body"):
            return name, BY_VERB[verb].from_json(entry["body"])
    except HeliotropeError as error:
        return error
