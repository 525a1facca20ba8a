"""A store in the tables of a database."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, bindparam, delete, func, select

from heliotrope.errors import DamagedError, HeliotropeError
from heliotrope.storage.checksums import link, snapshot_seal
from heliotrope.storage.database import DRIVER_ERRORS, Database
from heliotrope.storage.heads import Head, checksum_of, find_head, head_of, heads
from heliotrope.storage.protocol import (
    Append,
    Event,
    EventBody,
    StudyInfo,
    as_bytes,
    as_name,
    as_uid,
    new_uid,
    unknown,
)
from heliotrope.storage.schema import events, snapshots, studies
from heliotrope.storage.writing import begin, keep, write
from heliotrope.validation import as_number, as_whole

_LARGEST = 2**31  # a number that every database takes

_by_name = heads.where(studies.c.name == bindparam("name"))
_stretch = (
    select(events.c.seq, events.c.at, events.c.body, events.c.checksum)
    .where(
        events.c.study == bindparam("study"),
        events.c.seq > bindparam("after"),
        events.c.seq <= bindparam("end"),
    )
    .order_by(events.c.seq)
)
_kept = (
    select(snapshots.c.seq, snapshots.c.data, snapshots.c.checksum, events.c.checksum)
    .join(events, (events.c.study == snapshots.c.study) & (events.c.seq == snapshots.c.seq))
    .where(snapshots.c.study == bindparam("study"))
)


class SqlStore:
    """A :class:`heliotrope.storage.Store` in a SQL database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Studies

    def create(self, name: str, body: EventBody, at: float) -> str:
        """Begin a study."""
        at = as_number(at, "at")
        head = Head(0, as_name(name), new_uid(), at, at, 0, "")
        first = Append(head.uid, 0, [body], at)
        self._database.write(lambda connection: begin(connection, head, first))
        return head.uid

    def find(self, name: str) -> StudyInfo:
        """The study of a name."""
        as_name(name)
        row = self._database.read(lambda c: c.execute(_by_name, {"name": name}).first())
        if row is None:
            raise unknown(repr(name))
        return head_of(row).info()

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        """Studies by name."""
        most = min(as_whole(limit, "limit", least=0), _LARGEST)
        page = heads.order_by(studies.c.name).limit(most)
        if after:
            page = page.where(studies.c.name > as_name(after))
        rows = self._database.read(lambda c: c.execute(page).all())
        return [head_of(row).info() for row in rows]

    def count(self) -> int:
        """How many studies there are."""
        counting = select(func.count()).select_from(studies)
        return int(self._database.read(lambda c: c.execute(counting).scalar_one()))

    def delete(self, study: str) -> None:
        """Remove a study."""
        removing = delete(studies).where(studies.c.uid == as_uid(study))
        if not self._database.write(lambda c: c.execute(removing).rowcount):
            raise unknown(study)

    # Events

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        """Write many appends."""
        if not batch:
            return []
        return self._database.write(lambda connection: write(connection, batch))

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events after a number."""
        after = as_whole(after, "after", least=0)
        most = None if limit is None else as_whole(limit, "limit", least=0)
        try:
            return self._events(as_uid(study), after, most)
        except DamagedError as error:
            if after:
                self._events(study, 0, error.sound)  # damaged before that already?
            raise

    def last(self, study: str) -> int:
        """The number of a study's last event."""
        uid = as_uid(study)
        return self._database.read(lambda connection: find_head(connection, uid)).last

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def _events(self, uid: str, after: int, limit: int | None) -> list[Event]:
        times, texts = self._database.read(
            lambda connection: self._verified(connection, find_head(connection, uid), after, limit)
        )
        with _collector_paused():
            bodies = json.loads(f"[{','.join(texts)}]")  # faster than one by one
            return list(map(Event, range(after + 1, after + 1 + len(texts)), times, bodies))

    def _verified(
        self, connection: Connection, head: Head, after: int, limit: int | None
    ) -> tuple[list[float], list[str]]:
        """Times and bodies, of which each checksum follows from the one before."""
        end = head.last if limit is None else min(head.last, after + limit)
        times: list[float] = []
        texts: list[str] = []
        if after >= end:
            return times, texts
        try:
            previous = checksum_of(connection, head, after)
            stretch = connection.execute(_stretch, {"study": head.id, "after": after, "end": end})
            for expected, (seq, at, text, checksum) in enumerate(stretch, start=after + 1):
                if seq != expected or link(previous, seq, at, text) != checksum:
                    break
                times.append(at)
                texts.append(text)
                previous = checksum
        except DRIVER_ERRORS as error:
            if not self._database.is_damage(error):
                raise
        reached = after + len(texts)
        if reached < end or (end == head.last and previous != head.chain):
            raise _damaged(head, reached)
        return times, texts

    # Snapshots

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        """What was last kept."""
        uid = as_uid(study)
        return self._database.read(lambda connection: self._snapshot(connection, uid))

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        """Keep what the events up to a number add up to."""
        uid, seq, data = as_uid(study), as_whole(seq, "seq", least=1), as_bytes(data)
        self._database.write(lambda connection: keep(connection, uid, seq, data))

    def _snapshot(self, connection: Connection, uid: str) -> tuple[int, bytes] | None:
        study = find_head(connection, uid).id
        try:
            row = connection.execute(_kept, {"study": study}).first()
        except DRIVER_ERRORS as error:
            if self._database.is_damage(error):
                return None
            raise
        if row is None or not isinstance(row.data, bytes):
            return None
        seq, data, checksum, event = row
        return (seq, data) if snapshot_seal(event, data) == checksum else None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Else half of the decoding goes into looking for garbage among what it makes."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _damaged(head: Head, sound: int) -> DamagedError:
    return DamagedError(
        f"event {sound + 1} of study {head.name!r} as it was written",
        "another one, or none",
        f"The store is damaged. Read what came before with limit={sound}, or restore a copy.",
        sound=sound,
    )
