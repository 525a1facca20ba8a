"""The tables after the newest migration."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

from heliotrope.storage.checksums import LENGTH

HEAD = "0001"  # the newest migration
VERSIONS = "heliotrope_version"  # table that holds the last migration

metadata = MetaData()

_Number = BigInteger().with_variant(Integer(), "sqlite")  # only this type numbers rows in SQLite
_Name = String(100).with_variant(String(100, collation="C"), "postgresql")  # sorted as ASCII
_Checksum = String(LENGTH)

studies = Table(
    "heliotrope_studies",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("name", _Name, nullable=False, unique=True),
    Column("uid", String(32), nullable=False, unique=True),
    Column("created", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("chain", _Checksum, nullable=False),  # of the last event
    Column("seal", _Checksum, nullable=False),  # of this row
)

events = Table(
    "heliotrope_events",
    metadata,
    Column("study", _Number, ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),
    Column("checksum", _Checksum, nullable=False),
    sqlite_with_rowid=False,  # keeps the events of a study together
)

snapshots = Table(
    "heliotrope_snapshots",
    metadata,
    Column("study", _Number, ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("checksum", _Checksum, nullable=False),
)
