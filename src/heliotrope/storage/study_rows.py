"""The row of a study: its identity and the end of its log, with a checksum."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from heliotrope.errors import DamagedError
from heliotrope.storage.checksums import chain, row_checksum, seed
from heliotrope.storage.protocol import Append, StudyInfo, unknown_study
from heliotrope.storage.schema import events, studies

_COLUMNS = ("id", "name", "uid", "created", "updated", "last", "chain")

study_rows = select(*(studies.c[name] for name in _COLUMNS), studies.c.seal)
_by_uid = study_rows.where(studies.c.uid == bindparam("uid"))
_checksum = select(events.c.checksum).where(
    events.c.study == bindparam("study"), events.c.seq == bindparam("seq")
)


@dataclass(frozen=True)
class StudyRow:
    """The columns of a study's row but its own checksum."""

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
        return seed(self.name, self.uid)

    def values(self) -> dict[str, Any]:
        """The row to write."""
        return {**self.__dict__, "seal": row_checksum(*astuple(self))}

    def info(self) -> StudyInfo:
        """The public part of the row."""
        return StudyInfo(self.name, self.uid, self.created, self.last, self.updated)

    def extended(self, append: Append) -> tuple[StudyRow, list[dict[str, Any]]]:
        """The row after an append, and the events to write."""
        checksums = chain(self.chain, self.last, append.at, append.texts)
        numbered = enumerate(zip(append.texts, checksums, strict=True), start=self.last + 1)
        events = [
            {"study": self.id, "seq": seq, "at": append.at, "body": text, "checksum": checksum}
            for seq, (text, checksum) in numbered
        ]
        last = self.last + len(events)
        return replace(self, updated=append.at, last=last, chain=checksums[-1]), events


def checked_row(row: Row[*tuple[Any, ...]]) -> StudyRow:
    """Read a row; DamagedError if its checksum is wrong."""
    values, found = row[:-1], row[-1]
    if row_checksum(*values) != found:
        raise DamagedError(
            f"the row of study {row.name!r} as it was written",
            "a wrong checksum",
            "The store is damaged: restore a copy.",
        )
    return StudyRow(*values)


def find_row(connection: Connection, uid: str) -> StudyRow:
    """The row of a study; UnknownStudyError, DamagedError."""
    row = connection.execute(_by_uid, {"uid": uid}).first()
    if row is None:
        raise unknown_study(uid)
    return checked_row(row)


def event_checksum(connection: Connection, row: StudyRow, seq: int) -> str:
    """The checksum of an event, or a text that matches none if the event is missing."""
    if seq == 0:
        return row.start
    return str(connection.scalar(_checksum, {"study": row.id, "seq": seq}))
