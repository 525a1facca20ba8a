"""Stores of studies: durable logs of events, in memory, in a SQLite file or in PostgreSQL.

A store holds studies under unique names. A study is an append-only log of events numbered 1, 2,
3, ...; the store does not interpret them. :class:`Store` is the contract of every store. The
functions are the checks and the errors of a store, for a store of your own.
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
    as_name as as_name,
    conflict as conflict,
    event_text as event_text,
    name_taken as name_taken,
    open_store as open_store,
    unknown_study as unknown_study,
)

if TYPE_CHECKING:
    from heliotrope.storage.journal import GroupCommit as GroupCommit, Journal as Journal
else:  # a client needs none of these
    __getattr__ = lazy_names(__name__, {"journal": ["GroupCommit", "Journal"]})
