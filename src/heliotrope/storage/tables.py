"""The tables of a store, and the checksums that reveal accidental damage to a log.

Each event has a checksum of itself and of the checksum before it. The chain starts with a checksum
of the study's name and uid. The row of the study holds the last event's checksum and a checksum of
the row itself. So a changed, missing, added or swapped event is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam, insert, select

from heliotrope.errors import DamagedError
from heliotrope.storage.protocol import Append, StudyInfo, unknown_study

TABLES_VERSION = "0001"  # of the tables; it rises when they change
_BYTES = 16  # of a checksum

metadata = sa.MetaData()

_Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # the type that numbers rows there
_Name = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")  # sorted as ASCII
_Checksum = sa.String(32)

studies = sa.Table(
    "heliotrope_studies",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    sa.Column("name", _Name, nullable=False, unique=True),
    sa.Column("uid", sa.String(32), nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("updated", sa.Double, nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("chain", _Checksum, nullable=False),  # of the last event
    sa.Column("seal", _Checksum, nullable=False),  # of this row
)

events = sa.Table(
    "heliotrope_events",
    metadata,
    sa.Column("study", _Number, sa.ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("checksum", _Checksum, nullable=False),
    sqlite_with_rowid=False,  # keeps the events of a study together
)

snapshots = sa.Table(
    "heliotrope_snapshots",
    metadata,
    sa.Column("study", _Number, sa.ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("checksum", _Checksum, nullable=False),
)

versions = sa.Table(
    "heliotrope_version", metadata, sa.Column("version_num", sa.String(32), primary_key=True)
)

study_rows = select(studies)
_by = {key: study_rows.where(studies.c[key] == bindparam(key)) for key in ("uid", "name")}
_event_checksum = select(events.c.checksum).where(
    events.c.study == bindparam("study"), events.c.seq == bindparam("seq")
)


def version(connection: sa.Connection) -> str | None:
    """The version of the tables; None if the database holds no store."""
    if not sa.inspect(connection).has_table(versions.name):
        return None
    return connection.scalar(select(versions.c.version_num))


def create_tables(connection: sa.Connection) -> None:
    """Create the tables in the open transaction."""
    metadata.create_all(connection)
    connection.execute(insert(versions), {"version_num": TABLES_VERSION})


@dataclass(frozen=True)
class StudyRow:
    """The columns of a study's row but its own checksum, in the order of the table."""

    id: int
    name: str
    uid: str
    created: float
    updated: float
    last: int
    chain: str

    @property
    def start(self) -> str:
        """The checksum that the first event continues."""
        return _digest(f"{self.uid} {self.name}".encode())

    @property
    def seal(self) -> str:
        """The checksum of the row."""
        return _digest(repr(tuple(self.__dict__.values())).encode())

    def values(self) -> dict[str, Any]:
        """The row to write."""
        return {**self.__dict__, "seal": self.seal}

    def info(self) -> StudyInfo:
        """The public part of the row."""
        return StudyInfo(self.name, self.uid, self.created, self.last, self.updated)

    def extended(self, append: Append) -> tuple[StudyRow, list[dict[str, Any]]]:
        """The row after an append, and the events to write."""
        checksum, rows = self.chain, []
        for seq, text in enumerate(append.texts, start=self.last + 1):
            checksum = link(checksum, seq, append.at, text)
            event = {"seq": seq, "at": append.at, "body": text, "checksum": checksum}
            rows.append({"study": self.id, **event})
        last = self.last + len(rows)
        return replace(self, updated=append.at, last=last, chain=checksum), rows


def checked_row(row: sa.Row[*tuple[Any, ...]]) -> StudyRow:
    """Read a row; DamagedError if its checksum is wrong."""
    *values, seal = row
    study = StudyRow(*values)
    if study.seal != seal:
        raise DamagedError(
            f"the row of study {study.name!r} as it was written",
            "a wrong checksum",
            "The store is damaged: restore a copy.",
        )
    return study


def find_row(connection: sa.Connection, value: str, key: str = "uid") -> StudyRow:
    """The row of a study by its uid or name; UnknownStudyError, DamagedError."""
    row = connection.execute(_by[key], {key: value}).first()
    if row is None:
        raise unknown_study(value)
    return checked_row(row)


def event_checksum(connection: sa.Connection, row: StudyRow, seq: int) -> str:
    """The checksum of an event, or a text that matches none if the event is missing."""
    if seq == 0:
        return row.start
    return str(connection.scalar(_event_checksum, {"study": row.id, "seq": seq}))


def link(previous: str, seq: int, at: float, text: str) -> str:
    """The checksum of an event that continues another."""
    data = f"{previous} {seq} {at!r} {text}".encode()
    return blake2b(data, digest_size=_BYTES).hexdigest()  # inlined: it runs once per event


def snapshot_checksum(event: str, data: bytes) -> str:
    """The checksum of a snapshot and of the last event in it, hence of the log up to there."""
    return _digest(event.encode() + data)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=_BYTES).hexdigest()
