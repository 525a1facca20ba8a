"""A study's row: where its log ends, sealed."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from heliotrope.errors import DamagedError
from heliotrope.storage.checksums import chain, seal, seed
from heliotrope.storage.protocol import Append, StudyInfo, unknown
from heliotrope.storage.schema import events, studies

_COLUMNS = ("id", "name", "uid", "created", "updated", "last", "chain")

heads = select(*(studies.c[name] for name in _COLUMNS), studies.c.seal)
_by_uid = heads.where(studies.c.uid == bindparam("uid"))
_checksum = select(events.c.checksum).where(
    events.c.study == bindparam("study"), events.c.seq == bindparam("seq")
)


@dataclass(frozen=True)
class Head:
    """What a study's row says."""

    id: int
    name: str
    uid: str
    created: float
    updated: float
    last: int
    chain: str

    @property
    def start(self) -> str:
        """The checksum that the first event follows."""
        return seed(self.name, self.uid)

    def values(self) -> dict[str, Any]:
        """The row to write."""
        return {**self.__dict__, "seal": seal(*astuple(self))}

    def info(self) -> StudyInfo:
        """What is told to callers."""
        return StudyInfo(self.name, self.uid, self.created, self.last, self.updated)

    def extended(self, append: Append) -> tuple[Head, list[dict[str, Any]]]:
        """The row after an append, and the events to write."""
        checksums = chain(self.chain, self.last, append.at, append.texts)
        numbered = enumerate(zip(append.texts, checksums, strict=True), start=self.last + 1)
        events = [
            {"study": self.id, "seq": seq, "at": append.at, "body": text, "checksum": checksum}
            for seq, (text, checksum) in numbered
        ]
        last = self.last + len(events)
        return replace(self, updated=append.at, last=last, chain=checksums[-1]), events


def head_of(row: Row[*tuple[Any, ...]]) -> Head:
    """Break the seal of a row; DamagedError."""
    values, found = row[:-1], row[-1]
    if seal(*values) != found:
        raise DamagedError(
            f"the row of study {row.name!r} as it was written",
            "a wrong checksum",
            "The store is damaged: restore a copy.",
        )
    return Head(*values)


def find_head(connection: Connection, uid: str) -> Head:
    """The row of a study; UnknownStudyError, DamagedError."""
    row = connection.execute(_by_uid, {"uid": uid}).first()
    if row is None:
        raise unknown(uid)
    return head_of(row)


def checksum_of(connection: Connection, head: Head, seq: int) -> str:
    """The checksum of an event, or none that fits if the event is not there."""
    if seq == 0:
        return head.start
    return str(connection.scalar(_checksum, {"study": head.id, "seq": seq}))
