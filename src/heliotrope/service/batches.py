"""Batches: commands to many studies in one request, each answered on its own."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias, TypeVar

from heliotrope.errors import HeliotropeError, InputError, UnknownStudyError
from heliotrope.service.errors import as_answer
from heliotrope.service.memory import NoRoomError
from heliotrope.service.studies import Studies
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import BY_VERB, command_from_json
from heliotrope.validation import Json, short_repr

_MOST = 1_000  # commands in one request
_KEYS = ("study", "verb", "body")

T = TypeVar("T")
OfStudy: TypeAlias = tuple[str, Command[Any]]
"""The name of a study, and a command to it."""
Finish: TypeAlias = Callable[[], list[Any]]
"""Waits for commands that were begun, and returns the result or error of each."""

BATCH: Json = {
    "title": "Batch",
    "type": "object",
    "properties": {
        "commands": {
            "type": "array",
            "maxItems": _MOST,
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


def answer_all(studies: Studies, body: Json, count: Callable[[Command[Any]], None]) -> list[Json]:
    """Carry out a batch; ``count`` is called with each command that succeeds."""
    answers: list[Any] = [_read(entry) for entry in _entries(body)]
    valid = [i for i, read in enumerate(answers) if not isinstance(read, HeliotropeError)]
    commands = [answers[i] for i in valid]
    outcomes = together(studies, commands)
    for i, (_, command), outcome in zip(valid, commands, outcomes, strict=True):
        answers[i] = outcome
        if not isinstance(outcome, Exception):
            count(command)
            answers[i] = {"status": 200, "answer": command.answer(outcome)}
    return [as_answer(item) if isinstance(item, Exception) else item for item in answers]


def together(studies: Studies, commands: Sequence[OfStudy]) -> list[Any]:
    """Carry out commands to many studies; return each result or error.

    The commands to studies that fit into the memory together are written with one sync.
    """
    by_study: dict[str, list[int]] = {}
    for number, (name, _) in enumerate(commands):
        by_study.setdefault(name, []).append(number)
    left, results = list(by_study.items()), list[Any]([None] * len(commands))
    while left:
        with ExitStack() as uses:
            waiting = [(name, [commands[i][1] for i in numbers]) for name, numbers in left]
            begun = _begin(studies, waiting, uses)
            for (_, numbers), finish in zip(left, begun, strict=False):
                for number, result in zip(numbers, finish(), strict=True):
                    results[number] = result
        del left[: len(begun)]
    return [
        _again(studies, *command) if isinstance(result, UnknownStudyError) else result
        for command, result in zip(commands, results, strict=True)
    ]


def _begin(
    studies: Studies, waiting: Sequence[tuple[str, list[Command[Any]]]], uses: ExitStack
) -> Sequence[Finish]:
    """Begin the commands to as many studies as there is room for; without any, refuse all."""
    begun = list[Finish]()
    with studies.journal.together():
        for name, commands in waiting:
            try:
                study = uses.enter_context(studies.using(name, wait=not begun))
                begun.append(study.begin_all(commands))
            except NoRoomError as error:
                if begun:
                    break
                return [_failing(error, len(commands)) for _, commands in waiting]
            except Exception as error:
                begun.append(_failing(error, len(commands)))
    return begun


def _failing(error: Exception, count: int) -> Finish:
    return lambda: [error] * count


def _again(studies: Studies, name: str, command: Command[T]) -> T | Exception:
    """The outcome of a command whose study may have been replaced."""
    try:
        return studies.use(name, lambda study: study.do(command), getattr(command, "uid", None))
    except Exception as error:
        return error


def _entries(body: Json) -> Sequence[Any]:
    unknown = [key for key in body if key != "commands"]
    if unknown:
        raise InputError("no key but commands", short_repr(unknown[0]), "", str(unknown[0])[:60])
    entries = body.get("commands")
    if not isinstance(entries, list) or len(entries) > _MOST:
        got = short_repr(entries) if not isinstance(entries, list) else f"{len(entries):,}"
        raise InputError(f"a list of at most {_MOST:,} commands", got, "", "commands")
    return entries


def _read(entry: Any) -> OfStudy | HeliotropeError:
    """The study and the command of an entry, or the error to answer."""
    try:
        if not isinstance(entry, dict) or {*entry} != {*_KEYS}:
            raise InputError("an object of study, verb and body", short_repr(entry), "", "commands")
        name = entry["study"]
        if not isinstance(name, str):
            raise InputError("the name of a study", short_repr(name), "", "study")
        return name, command_from_json(entry["verb"], entry["body"])
    except HeliotropeError as error:
        return error
