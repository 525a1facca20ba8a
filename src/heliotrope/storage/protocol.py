"""The interface of every store and its values, the simplest store, and how to open one.

A study has a *name* for people, and a *uid* that no other study has, not even a later one of the
same name. All methods but :meth:`Store.create` and :meth:`Store.find` take the uid, so a client of
a deleted study can neither read nor write its successor.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol, TypeAlias, runtime_checkable

from heliotrope.errors import (
    ConflictError,
    HeliotropeError,
    InputError,
    StudyExistsError,
    UnknownStudyError,
    requires_extra,
)
from heliotrope.surroundings import REAL, Surroundings
from heliotrope.validation import as_number, as_whole

DEFAULT_STORE = "sqlite:///heliotrope.db"
_NAME = re.compile(r"(?![ .])[A-Za-z0-9 ._-]{1,100}(?<![ .])")
_DEPTH = 100  # levels of nesting: a reader may have less of its stack left than the writer
_UID = re.compile(r"[0-9a-f]{32}")
_ADVICE = "memory:, sqlite:///file.db, sqlite:////absolute/file.db or postgresql://user@host/name"


EventBody: TypeAlias = Mapping[str, Any]  # JSON object


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a log; ``at`` is the wall time in seconds (UTC), ``seq`` the order."""

    seq: int
    at: float
    body: EventBody


@dataclass(frozen=True)
class Append:
    """Events to write right after event number ``after`` of the study with uid ``study``.

    Bodies become JSON here: a body that cannot be written is refused before it reaches a store.

    Examples
    --------
    >>> Append("0" * 32, after=1, bodies=[{"kind": "told", "y": 0.5}], at=0.0).texts
    ('{"kind":"told","y":0.5}',)
    """

    study: str
    after: int
    bodies: Sequence[EventBody]
    at: float = field(default_factory=REAL.now)
    texts: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        as_uid(self.study)
        if not self.bodies:
            raise InputError("at least one event to append", "none")
        object.__setattr__(self, "after", as_whole(self.after, "after", least=0))
        object.__setattr__(self, "at", as_number(self.at, "at"))
        object.__setattr__(self, "texts", tuple(event_text(body) for body in self.bodies))


@dataclass(frozen=True)
class StudyInfo:
    """An entry of the list of studies; ``created`` and ``updated`` are wall times."""

    name: str
    uid: str
    created: float
    events: int
    updated: float


@runtime_checkable
class Store(Protocol):
    """Named, append-only logs.

    - When a call returns, its events are on disk (a store in memory has none).
    - The events of a study are numbered 1, 2, 3, ... without gaps and never change.
    - An append is written whole or not at all, and only right after the event that it names. So
      two writers in any processes never lose or reorder each other's events.
    - A store verifies what it reads: damage raises a :class:`DamagedError`.
    - Several threads may call a store. Each process opens its own: not across a fork.

    A subclass needs no ``clock_offset``, ``probe`` and ``close`` if it has nothing to do there.
    """

    def create(self, name: str, body: EventBody, at: float) -> str:
        """Create a study with its first event, and return its uid; StudyExistsError."""

    def find(self, name: str) -> StudyInfo:
        """Find a study by name; UnknownStudyError."""

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        """At most ``limit`` studies by name, from the first one after the name ``after``."""

    def count(self) -> int:
        """The number of studies."""

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        """Write a batch of appends, in order, in one transaction with one sync.

        Returns for each the number of its last event, or the error: a ConflictError, an
        UnknownStudyError or a DamagedError. After an append is refused, the later appends to the
        same study are refused too, because they may rest on it.

        A StoreError that is raised concerns the whole batch. If the connection was lost during
        the commit, the batch may have been written: look before writing again.
        """

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events after a number, in order; DamagedError if the log is damaged.

        ``events(study, limit=error.sound)`` reads the intact start of a damaged log.
        """

    def last(self, study: str) -> int:
        """The number of a study's last event: a cheap check for new events."""

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        """The number of the last event in the latest snapshot, and its data; None without one."""

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        """Keep a snapshot of the events up to ``seq``, unless there is a newer one.

        A snapshot is a cache: its loss costs only time.
        """

    def delete(self, study: str) -> None:
        """Remove a study with all its events; UnknownStudyError."""

    def clock_offset(self) -> float:
        """Seconds that the clock of this process is ahead of the store's; 0 if it has none."""
        return 0.0

    def probe(self) -> None:
        """Write and sync, without any effect; StoreError if that fails."""
        return

    def close(self) -> None:
        """Close files and connections."""
        return


def as_name(name: object) -> str:
    """Return the name of a study, or raise an InputError."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise InputError(
        "1 to 100 letters, digits, spaces and . _ - as the name of a study",
        repr(name)[:120],
        "No space or dot at either end.",
    )


def as_uid(study: object) -> str:
    """Return a uid; UnknownStudyError if this cannot be one."""
    if isinstance(study, str) and _UID.fullmatch(study):
        return study
    raise unknown_study(study)


def event_text(body: object) -> str:
    """The JSON of an event: one line of ASCII, which every database stores unchanged."""
    if not isinstance(body, dict):
        raise InputError("a dict as the body of an event", f"a {type(body).__name__}")
    try:
        text = json.dumps(body, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("an event that can be written as JSON", str(error)) from error
    if text.count("[") + text.count("{") > _DEPTH and _is_deeper(body, _DEPTH):
        raise InputError(f"an event of at most {_DEPTH} nested levels", "a deeper one")
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


def unknown_study(study: object) -> UnknownStudyError:
    """The error of a name or uid that no study in the store has."""
    advice = "Check its name, and whether it was deleted."
    return UnknownStudyError("a study that the store holds", repr(study)[:120], advice)


def snapshot_ahead(seq: int, last: int) -> InputError:
    """The error of a snapshot of more events than there are."""
    return InputError(f"a snapshot of up to {last} events", f"one of {seq}")


def name_taken(name: str) -> StudyExistsError:
    """The error of a name that a study has already."""
    return StudyExistsError(
        "a name that no study has", repr(name), "Open that study, or create it with exist_ok."
    )


def conflict(append: Append, last: int) -> ConflictError:
    """The error of an append after an event that is not the last."""
    return ConflictError(
        f"event {append.after} to be the last of study {append.study}",
        f"event {last}, or a refused append before this one",
        "Another client wrote: read the new events and try again.",
    )


@dataclass
class _Study:
    name: str
    uid: str
    events: list[tuple[float, str]]  # time and JSON text, which no caller can change
    snapshot: tuple[int, bytes] | None = None

    def info(self) -> StudyInfo:
        created, updated = self.events[0][0], self.events[-1][0]
        return StudyInfo(self.name, self.uid, created, len(self.events), updated)


@dataclass
class MemoryStore(Store):
    """A :class:`heliotrope.storage.Store` without a disk."""

    surroundings: Surroundings = REAL
    _studies: dict[str, _Study] = field(default_factory=dict)  # by uid
    _named: dict[str, _Study] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __str__(self) -> str:
        return "memory"

    def create(self, name: str, body: EventBody, at: float) -> str:
        first = as_number(at, "at"), event_text(body)
        study = _Study(as_name(name), self.surroundings.uid(), [first])
        with self._lock:
            if name in self._named:
                raise name_taken(name)
            self._named[name] = self._studies[study.uid] = study
        return study.uid

    def find(self, name: str) -> StudyInfo:
        with self._lock:
            if as_name(name) not in self._named:
                raise unknown_study(name)
            return self._named[name].info()

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        limit = as_whole(limit, "limit", least=0)
        with self._lock:
            names = sorted(self._named)
            start = bisect_right(names, as_name(after)) if after else 0
            return [self._named[name].info() for name in names[start : start + limit]]

    def count(self) -> int:
        with self._lock:
            return len(self._studies)

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        refused: set[str] = set()
        with self._lock:
            return [self._append(append, refused) for append in batch]

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        after = as_whole(after, "after", least=0)
        end = None if limit is None else after + as_whole(limit, "limit", least=0)
        with self._lock:
            chosen = self._held(study).events[after:end]
        numbered = enumerate(chosen, start=after + 1)
        return [Event(seq, at, json.loads(text)) for seq, (at, text) in numbered]

    def last(self, study: str) -> int:
        with self._lock:
            return len(self._held(study).events)

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        with self._lock:
            return self._held(study).snapshot

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        seq, data = as_whole(seq, "seq", least=1), as_bytes(data)
        with self._lock:
            held = self._held(study)
            if seq > len(held.events):
                raise snapshot_ahead(seq, len(held.events))
            if held.snapshot is None or held.snapshot[0] <= seq:
                held.snapshot = seq, data

    def delete(self, study: str) -> None:
        with self._lock:
            held = self._held(study)
            del self._studies[held.uid], self._named[held.name]

    def _held(self, study: str) -> _Study:
        try:
            return self._studies[as_uid(study)]
        except KeyError:
            raise unknown_study(study) from None

    def _append(self, append: Append, refused: set[str]) -> int | HeliotropeError:
        held = self._studies.get(append.study)
        if held is None:
            return unknown_study(append.study)
        if append.study in refused or append.after != len(held.events):
            refused.add(append.study)
            return conflict(append, len(held.events))
        held.events.extend((append.at, text) for text in append.texts)
        return len(held.events)


def open_store(url: str, *, make: bool = True, surroundings: Surroundings = REAL) -> Store:
    """Open the store of a URL, and create its tables if there are none.

    ``memory:`` is a new store in this process. ``sqlite:///file.db`` is a file, relative to the
    working directory, for several processes of one machine. ``postgresql://user@host/name`` is for
    many machines. Without ``make``, a missing SQLite file is a StoreError.

    Examples
    --------
    >>> from heliotrope.storage import Append
    >>> store = open_store("memory:")
    >>> uid = store.create("pump speed", {"kind": "created", "version": 1}, at=0.0)
    >>> store.append([Append(uid, after=1, bodies=[{"kind": "asked"}, {"kind": "told"}])])
    [3]
    >>> [event.body["kind"] for event in store.events(uid)]
    ['created', 'asked', 'told']
    """
    scheme = url.partition(":")[0] if isinstance(url, str) else ""
    if url == "memory:":
        return MemoryStore(surroundings)
    if scheme not in ("sqlite", "postgresql"):
        raise InputError("the URL of a store", repr(url), f"Use {_ADVICE}.")
    with requires_extra("store"):
        return _open_sql(scheme, url, make, surroundings)


def _open_sql(scheme: str, url: str, make: bool, surroundings: Surroundings) -> Store:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    from heliotrope.storage.postgresql import PostgresDatabase
    from heliotrope.storage.sql import SqlStore
    from heliotrope.storage.sqlite import open_sqlite

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # its text would show the password
        raise InputError("the URL of a store", "one that cannot be read", _ADVICE) from error
    database = (
        open_sqlite(parsed, make)
        if scheme == "sqlite"
        else PostgresDatabase(parsed, surroundings.now)
    )
    try:
        database.prepare()
    except BaseException:
        database.close()
        raise
    return SqlStore(database, surroundings)
