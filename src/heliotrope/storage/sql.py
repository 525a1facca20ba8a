"""A store in the tables of a database."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, bindparam, delete, func, select

from heliotrope.errors import DamagedError, HeliotropeError
from heliotrope.storage.checksums import link, snapshot_checksum
from heliotrope.storage.database import DRIVER_ERRORS, Database
from heliotrope.storage.protocol import (
    Append,
    Event,
    EventBody,
    StudyInfo,
    as_bytes,
    as_name,
    as_uid,
    new_uid,
    unknown_study,
)
from heliotrope.storage.schema import events, snapshots, studies
from heliotrope.storage.study_rows import (
    StudyRow,
    checked_row,
    event_checksum,
    find_row,
    study_rows,
)
from heliotrope.storage.writing import insert_study, write_appends, write_snapshot
from heliotrope.validation import as_number, as_whole

_LARGEST = 2**31  # the largest integer that every database accepts

_by_name = study_rows.where(studies.c.name == bindparam("name"))
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
        """Create a study."""
        at = as_number(at, "at")
        row = StudyRow(0, as_name(name), new_uid(), at, at, 0, "")
        first = Append(row.uid, 0, [body], at)
        self._database.write(lambda connection: insert_study(connection, row, first))
        return row.uid

    def find(self, name: str) -> StudyInfo:
        """Find a study by name."""
        as_name(name)
        row = self._database.read(lambda c: c.execute(_by_name, {"name": name}).first())
        if row is None:
            raise unknown_study(repr(name))
        return checked_row(row).info()

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        """Studies by name."""
        most = min(as_whole(limit, "limit", least=0), _LARGEST)
        page = study_rows.order_by(studies.c.name).limit(most)
        if after:
            page = page.where(studies.c.name > as_name(after))
        rows = self._database.read(lambda c: c.execute(page).all())
        return [checked_row(row).info() for row in rows]

    def count(self) -> int:
        """The number of studies."""
        counting = select(func.count()).select_from(studies)
        return int(self._database.read(lambda c: c.execute(counting).scalar_one()))

    def delete(self, study: str) -> None:
        """Remove a study."""
        removing = delete(studies).where(studies.c.uid == as_uid(study))
        if not self._database.write(lambda c: c.execute(removing).rowcount):
            raise unknown_study(study)

    # Events

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        """Write a batch of appends."""
        if not batch:
            return []
        return self._database.write(lambda connection: write_appends(connection, batch))

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events after a number."""
        after = as_whole(after, "after", least=0)
        most = None if limit is None else as_whole(limit, "limit", least=0)
        try:
            return self._events(as_uid(study), after, most)
        except DamagedError as error:
            if after:
                self._events(study, 0, error.sound)  # an earlier one may be damaged too
            raise

    def last(self, study: str) -> int:
        """The number of a study's last event."""
        uid = as_uid(study)
        return self._database.read(lambda connection: find_row(connection, uid)).last

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def _events(self, uid: str, after: int, limit: int | None) -> list[Event]:
        times, texts = self._database.read(
            lambda connection: self._verified(connection, find_row(connection, uid), after, limit)
        )
        with _collector_paused():
            bodies = json.loads(f"[{','.join(texts)}]")  # faster than one by one
            return list(map(Event, range(after + 1, after + 1 + len(texts)), times, bodies))

    def _verified(
        self, connection: Connection, row: StudyRow, after: int, limit: int | None
    ) -> tuple[list[float], list[str]]:
        """Times and bodies of events, after a check of their chain of checksums."""
        end = row.last if limit is None else min(row.last, after + limit)
        times: list[float] = []
        texts: list[str] = []
        if after >= end:
            return times, texts
        try:
            previous = event_checksum(connection, row, after)
            stretch = connection.execute(_stretch, {"study": row.id, "after": after, "end": end})
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
        if reached < end or (end == row.last and previous != row.chain):
            raise _damaged(row, reached)
        return times, texts

    # Snapshots

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        """The latest snapshot."""
        uid = as_uid(study)
        return self._database.read(lambda connection: self._snapshot(connection, uid))

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        """Keep a snapshot."""
        uid, seq, data = as_uid(study), as_whole(seq, "seq", least=1), as_bytes(data)
        self._database.write(lambda connection: write_snapshot(connection, uid, seq, data))

    def _snapshot(self, connection: Connection, uid: str) -> tuple[int, bytes] | None:
        study = find_row(connection, uid).id
        try:
            row = connection.execute(_kept, {"study": study}).first()
        except DRIVER_ERRORS as error:
            if self._database.is_damage(error):
                return None
            raise
        if row is None or not isinstance(row.data, bytes):
            return None
        seq, data, checksum, event = row
        return (seq, data) if snapshot_checksum(event, data) == checksum else None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Decoding a long log takes twice as long with the garbage collector."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _damaged(row: StudyRow, sound: int) -> DamagedError:
    return DamagedError(
        f"event {sound + 1} of study {row.name!r} as it was written",
        "a damaged or missing one",
        f"The store is damaged. Read the events before it with limit={sound}, or restore a copy.",
        sound=sound,
    )
