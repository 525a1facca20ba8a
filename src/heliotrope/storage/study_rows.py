"""The row of a study, and the checksums that reveal accidental damage to its log.

Each event has a checksum of itself and of the checksum before it. The chain starts with a checksum
of the study's name and uid. The row of the study holds the last event's checksum and a checksum of
the row itself. So a changed, missing, added or swapped event is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from heliotrope.errors import DamagedError
from heliotrope.storage.protocol import Append, StudyInfo, unknown_study
from heliotrope.storage.schema import events, studies

_BYTES = 16  # of a checksum

study_rows = select(studies)
_by = {key: study_rows.where(studies.c[key] == bindparam(key)) for key in ("uid", "name")}
_event_checksum = select(events.c.checksum).where(
    events.c.study == bindparam("study"), events.c.seq == bindparam("seq")
)


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


def checked_row(row: Row[*tuple[Any, ...]]) -> StudyRow:
    """Read a row; DamagedError if its checksum is wrong."""
    *values, found = row
    study = StudyRow(*values)
    if study.seal != found:
        raise DamagedError(
            f"the row of study {study.name!r} as it was written",
            "a wrong checksum",
            "The store is damaged: restore a copy.",
        )
    return study


def find_row(connection: Connection, value: str, key: str = "uid") -> StudyRow:
    """The row of a study by its uid or name; UnknownStudyError, DamagedError."""
    row = connection.execute(_by[key], {key: value}).first()
    if row is None:
        raise unknown_study(value)
    return checked_row(row)


def event_checksum(connection: Connection, row: StudyRow, seq: int) -> str:
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
