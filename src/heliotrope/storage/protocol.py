"""What every store can do, and the values that go in and out.

A *name* is what people call a study, a *uid* what tells it from every other one, also from one
that had the same name before it. Everything but :meth:`Store.create` and :meth:`Store.find` goes
by uid: whoever still holds a deleted study can neither read nor write its successor.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from heliotrope.errors import (
    ConflictError,
    HeliotropeError,
    InputError,
    StudyExistsError,
    UnknownStudyError,
)
from heliotrope.validation import as_number, as_whole

EventBody: TypeAlias = Mapping[str, Any]  # what the json module writes as an object

_NAME = re.compile(r"(?![ .])[A-Za-z0-9 ._-]{1,100}(?<![ .])")
_DEPTH = 100  # who reads an event may have less of the stack left than who wrote it
_UID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a log; ``at`` is wall time in seconds (UTC), and orders nothing."""

    seq: int
    at: float
    body: EventBody


@dataclass(frozen=True)
class Append:
    """Events to be written right after event number ``after`` of the study of uid ``study``.

    Bodies are made JSON here, so that what cannot be written is refused before it is handed on.

    Examples
    --------
    >>> Append("0" * 32, after=1, bodies=[{"kind": "told", "y": 0.5}], at=0.0).texts
    ('{"kind":"told","y":0.5}',)
    """

    study: str
    after: int
    bodies: Sequence[EventBody]
    at: float = field(default_factory=time.time)
    texts: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        as_uid(self.study)
        if not self.bodies:
            raise InputError("at least one event to append", "none")
        object.__setattr__(self, "after", as_whole(self.after, "after", least=0))
        object.__setattr__(self, "at", as_number(self.at, "at"))
        object.__setattr__(self, "texts", tuple(as_text(body) for body in self.bodies))


@dataclass(frozen=True)
class StudyInfo:
    """A study in the list: how many events it has, when the first and the last were written."""

    name: str
    uid: str
    created: float
    events: int
    updated: float


@runtime_checkable
class Store(Protocol):
    """Named, append-only logs.

    - What a call has written when it returns is on disk (a store in memory has none).
    - Events of a study are numbered 1, 2, 3, ... without holes and never change.
    - An append is written whole or not at all, and only right after the event that it names; so
      two writers, in whatever processes, never lose or reorder each other's events.
    - What was not written by a store is not believed: :class:`DamagedError`.
    - Calls may come from several threads. A process opens its own store: not across a fork.
    """

    def create(self, name: str, body: EventBody, at: float) -> str:
        """Begin a study with its event 1, and return its uid; StudyExistsError."""

    def find(self, name: str) -> StudyInfo:
        """The study of a name; UnknownStudyError."""

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        """Studies in the order of their names, those beyond the name ``after``."""

    def count(self) -> int:
        """How many studies there are."""

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        """Write many appends, in order, in one transaction with one sync.

        Returns for each the number of the last event it wrote, or why it wrote none: a
        ConflictError, an UnknownStudyError, a DamagedError. Once an append of a study is refused,
        so are those of the same study behind it, which may have counted on it.

        A StoreError that is raised instead concerns the whole batch. If the connection was lost
        while committing, nobody knows whether it was written: look before writing again.
        """

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events after a number, in order; DamagedError where they are not what was written.

        What can be read of a damaged log is ``events(study, limit=error.sound)``.
        """

    def last(self, study: str) -> int:
        """The number of a study's last event: cheap, to see whether somebody wrote."""

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        """What was last kept, and after which event; None if there is nothing that is sound."""

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        """Keep what the events up to ``seq`` add up to, unless a newer one is kept.

        A snapshot saves time and is not the truth: losing it loses nothing.
        """

    def delete(self, study: str) -> None:
        """Remove a study with all its events; UnknownStudyError."""

    def close(self) -> None:
        """Let go of files and connections."""


def as_name(name: object) -> str:
    """Return the name of a study, or say what it should look like."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise InputError(
        "1 to 100 letters, digits, spaces and . _ - as the name of a study",
        repr(name)[:120],
        "No space or dot at either end.",
    )


def as_uid(study: object) -> str:
    """Return what may be a uid; of anything else there is no study."""
    if isinstance(study, str) and _UID.fullmatch(study):
        return study
    raise unknown(repr(study)[:120])


def as_text(body: object) -> str:
    """JSON of one event: ASCII in one line, so that every database takes it as it is."""
    if not isinstance(body, dict):
        raise InputError("a dict as body of an event", f"a {type(body).__name__}")
    try:
        text = json.dumps(body, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("an event that can be written as JSON", str(error)) from error
    if text.count("[") + text.count("{") > _DEPTH and _is_deeper(body, _DEPTH):
        raise InputError(f"an event nested at most {_DEPTH} deep", "a deeper one")
    return text


def _is_deeper(value: object, depth: int) -> bool:
    if not isinstance(value, (dict, list, tuple)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_is_deeper(item, depth - 1) for item in inner)


def as_bytes(data: object) -> bytes:
    """Return the bytes of a snapshot."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InputError("a snapshot in bytes", f"a {type(data).__name__}")
    return bytes(data)


def new_uid() -> str:
    """A uid that no other process makes."""
    return uuid.uuid4().hex


def unknown(what: str) -> UnknownStudyError:
    """Say that there is no such study."""
    return UnknownStudyError("a study that the store holds", what, "Was it deleted?")


def no_event(seq: int, last: int) -> InputError:
    """Say that a snapshot is of more than there is."""
    return InputError(f"a snapshot of up to {last} events", f"one of {seq}")


def taken(name: str) -> StudyExistsError:
    """Say that there is such a study."""
    return StudyExistsError("a name that no study has", repr(name), "Open that study instead.")


def conflict(append: Append, last: int) -> ConflictError:
    """Say that somebody else wrote."""
    return ConflictError(
        f"event {append.after} to be the last of study {append.study}",
        f"event {last}, or a refused append before this one",
        "Somebody else wrote: read what is new and try again.",
    )
