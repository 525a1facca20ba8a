"""Stores of studies: durable logs of events, in memory, in a SQLite file or in PostgreSQL.

A store holds studies under unique names. A study is an append-only log of events numbered 1, 2,
3, ...; what an event says is the caller's business. What every store promises stands in
:class:`Store`.
"""

from heliotrope.storage.group import GroupCommit
from heliotrope.storage.memory import MemoryStore
from heliotrope.storage.opening import open_store
from heliotrope.storage.protocol import Append, Event, Store, StudyInfo

__all__ = ["Append", "Event", "GroupCommit", "MemoryStore", "Store", "StudyInfo", "open_store"]
