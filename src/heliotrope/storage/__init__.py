"""Stores of studies: durable logs of events, in memory, in a SQLite file or in PostgreSQL.

A store holds studies under unique names. A study is an append-only log of events numbered 1, 2,
3, ...; the store does not interpret them. :class:`Store` is the contract of every store.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from heliotrope.storage.protocol import (
    Append as Append,
    Event as Event,
    EventBody as EventBody,
    Store as Store,
    StudyInfo as StudyInfo,
)

if TYPE_CHECKING:
    from heliotrope.storage.journal import GroupCommit as GroupCommit, Journal as Journal
    from heliotrope.storage.memory import MemoryStore as MemoryStore
    from heliotrope.storage.opening import open_store as open_store

_HOME = {  # imported at first use: a client needs none of these
    "GroupCommit": "journal",
    "Journal": "journal",
    "MemoryStore": "memory",
    "open_store": "opening",
}
__all__ = ["Append", "Event", "EventBody", "Store", "StudyInfo", *_HOME]


if not TYPE_CHECKING:  # or a misspelled name would pass a type check

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'heliotrope.storage' has no attribute {name!r}")
        return getattr(import_module(f"heliotrope.storage.{_HOME[name]}"), name)
