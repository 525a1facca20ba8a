"""From the error that a service answers with to the exception that a study would have raised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from heliotrope import errors
from heliotrope.errors import HeliotropeError, ServiceError

_KINDS: dict[str, type[HeliotropeError]] = {
    "closed_suggestion": errors.ClosedSuggestionError,
    "conflict": errors.ConflictError,
    "damaged": errors.DamagedError,
    "format": errors.FormatError,
    "input": errors.InputError,
    "json": errors.InputError,
    "kernel": errors.KernelError,
    "limit": errors.InputError,
    "no_belief": errors.NoBeliefError,
    "store": errors.StoreError,
    "study_exists": errors.StudyExistsError,
    "time": errors.TimeError,
    "unknown_study": errors.UnknownStudyError,
    "unknown_suggestion": errors.UnknownSuggestionError,
}
_NO_TOKEN = 401
_NO_ROUTE = "not_found"
_WHERE = "It ends before /api, as http://127.0.0.1:8765 does."
_LONGEST = 2_000  # characters of a message that are believed


def refusal(status: int, content: bytes) -> HeliotropeError:
    """The exception that an answer with an error stands for."""
    if status == _NO_TOKEN:
        return ServiceError(
            "a token that the service accepts",
            "none, or another one",
            "Give it with connect(url, token=...), to a command with --token-file.",
        )
    try:
        said = json.loads(content)["error"]
        code, message, field = (str(said[key])[:_LONGEST] for key in ("code", "message", "field"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ServiceError(
            "an answer of a Heliotrope service", f"status {status}", "Is the URL right?"
        )
    if code == _NO_ROUTE:
        return ServiceError(
            "an answer of a Heliotrope service", f"status {status}", f"Is the URL right? {_WHERE}"
        )
    return _rebuilt(_KINDS.get(code, ServiceError), message, field)


@contextmanager
def understood() -> Iterator[None]:
    """Say of an answer that lacks what the block looks for that it is no such service's."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ServiceError(
            "an answer of a Heliotrope service",
            f"one that cannot be read ({type(error).__name__}: {error})"[:200],
            "Are client and service of the same version?",
        ) from error


def _rebuilt(kind: type[HeliotropeError], message: str, field: str) -> HeliotropeError:
    """Take a message apart again; put together it is the same."""
    where = re.escape(f" in {field}" if field else "")
    parts = re.fullmatch(rf"expected (.*?); got (.*?){where}\.(?: (.*))?", message, re.DOTALL)
    if parts is None:
        return kind("the service to do as asked", f"the answer {message!r}", field=field)
    return kind(parts[1], parts[2], parts[3] or "", field)
