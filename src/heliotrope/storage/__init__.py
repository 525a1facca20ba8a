"""Stores of studies: durable logs of events, in memory, in a SQLite file or in PostgreSQL.

A store holds studies under unique names. A study is an append-only log of events numbered 1, 2,
3, ...; the store does not interpret them. :class:`Store` is the contract of every store.
"""

from typing import TYPE_CHECKING

from heliotrope.lazy import lazy_names
from heliotrope.storage.protocol import (
    Append as Append,
    Event as Event,
    EventBody as EventBody,
    MemoryStore as MemoryStore,
    Store as Store,
    StudyInfo as StudyInfo,
)

if TYPE_CHECKING:
    from heliotrope.storage.journal import GroupCommit as GroupCommit, Journal as Journal
    from heliotrope.storage.opening import open_store as open_store
else:  # a client needs none of these
    _LAZY = {"journal": ["GroupCommit", "Journal"], "opening": ["open_store"]}
    __getattr__ = lazy_names(__name__, _LAZY)
