"""A store in the tables of a database."""

import gc
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from heliotrope.errors import DamagedError, HeliotropeError
from heliotrope.storage import tables
from heliotrope.storage.database import Database
from heliotrope.storage.protocol import (
    Append,
    Event,
    EventBody,
    StudyInfo,
    as_bytes,
    as_name,
    as_uid,
    conflict,
    name_taken,
    snapshot_ahead,
    unknown_study,
)
from heliotrope.storage.tables import StudyRow, events, find_row, snapshots, studies
from heliotrope.surroundings import REAL, Surroundings
from heliotrope.validation import as_number, as_whole

_LARGEST = 2**31  # the largest integer that every database accepts
_TOGETHER = 1_000  # studies looked up by one statement

_locked = (
    tables.study_rows.where(studies.c.uid.in_(bindparam("uids", expanding=True)))
    .order_by(studies.c.uid)  # one order for all writers: no deadlock
    .with_for_update(key_share=True)
)
_moved = update(studies).where(studies.c.id == bindparam("key"))
_MOVING = ("updated", "last", "chain", "seal")  # an update of the id would scan all events
_stretch = (
    select(events.c.seq, events.c.at, events.c.body, events.c.checksum)
    .where(
        events.c.study == bindparam("study"),
        events.c.seq > bindparam("after"),
        events.c.seq <= bindparam("end"),
    )
    .order_by(events.c.seq)
)
_unchanged = update(tables.versions).values(version_num=tables.versions.c.version_num)
_kept = (
    select(snapshots.c.seq, snapshots.c.data, snapshots.c.checksum, events.c.checksum)
    .join(events, (events.c.study == snapshots.c.study) & (events.c.seq == snapshots.c.seq))
    .where(snapshots.c.study == bindparam("study"))
)


class SqlStore:
    """A :class:`heliotrope.storage.Store` in a SQL database."""

    def __init__(self, database: Database, surroundings: Surroundings = REAL) -> None:
        self._database, self._surroundings = database, surroundings

    def __str__(self) -> str:
        return self._database.address

    # Studies

    def create(self, name: str, body: EventBody, at: float) -> str:
        at = as_number(at, "at")
        row = StudyRow(0, as_name(name), self._surroundings.uid(), at, at, 0, "")
        first = Append(row.uid, 0, [body], at)
        self._database.write(lambda connection: _insert_study(connection, row, first))
        return row.uid

    def find(self, name: str) -> StudyInfo:
        as_name(name)
        return self._database.read(lambda connection: find_row(connection, name, "name")).info()

    def studies(self, after: str = "", limit: int = 100) -> list[StudyInfo]:
        most = min(as_whole(limit, "limit", least=0), _LARGEST)
        page = tables.study_rows.order_by(studies.c.name).limit(most)
        if after:
            page = page.where(studies.c.name > as_name(after))
        rows = self._database.read(lambda c: c.execute(page).all())
        return [tables.checked_row(row).info() for row in rows]

    def count(self) -> int:
        counting = select(func.count()).select_from(studies)
        return int(self._database.read(lambda c: c.execute(counting).scalar_one()))

    def delete(self, study: str) -> None:
        removing = delete(studies).where(studies.c.uid == as_uid(study))
        if not self._database.write(lambda c: c.execute(removing).rowcount):
            raise unknown_study(study)

    def clock_offset(self) -> float:
        return self._database.clock_offset()

    def probe(self) -> None:
        self._database.write(lambda connection: connection.execute(_unchanged))

    def close(self) -> None:
        self._database.close()

    # Events

    def append(self, batch: Sequence[Append]) -> list[int | HeliotropeError]:
        if not batch:
            return []
        return self._database.write(lambda connection: _write_appends(connection, batch))

    def last(self, study: str) -> int:
        uid = as_uid(study)
        return self._database.read(lambda connection: find_row(connection, uid)).last

    def events(self, study: str, after: int = 0, limit: int | None = None) -> list[Event]:
        after = as_whole(after, "after", least=0)
        most = None if limit is None else as_whole(limit, "limit", least=0)
        try:
            return self._events(as_uid(study), after, most)
        except DamagedError as error:
            if after:
                self._events(study, 0, error.sound)  # an earlier one may be damaged too
            raise

    def _events(self, uid: str, after: int, limit: int | None) -> list[Event]:
        times, texts = self._database.read(
            lambda connection: self._verified(connection, find_row(connection, uid), after, limit)
        )
        collects = gc.isenabled()
        gc.disable()  # the collector would double the time for a long log
        try:
            bodies = json.loads(f"[{','.join(texts)}]")  # faster than one by one
            return list(map(Event, range(after + 1, after + 1 + len(texts)), times, bodies))
        finally:
            if collects:
                gc.enable()

    def _verified(
        self, connection: Connection, row: StudyRow, after: int, limit: int | None
    ) -> tuple[list[float], list[str]]:
        """Times and bodies of events, after a check of their chain of checksums."""
        end = row.last if limit is None else min(row.last, after + limit)
        times: list[float] = []
        texts: list[str] = []
        if after >= end:
            return times, texts
        with self._database.damage_ignored():  # the events before it are sound
            previous = tables.event_checksum(connection, row, after)
            stretch = connection.execute(_stretch, {"study": row.id, "after": after, "end": end})
            for expected, (seq, at, body, checksum) in enumerate(stretch, start=after + 1):
                if seq != expected or tables.link(previous, seq, at, body) != checksum:
                    break
                times.append(at)
                texts.append(body)
                previous = checksum
        reached = after + len(texts)
        if reached < end or (end == row.last and previous != row.chain):
            raise DamagedError(
                f"event {reached + 1} of study {row.name!r} as it was written",
                "a damaged or missing one",
                f"The store is damaged. Read the events before it with limit={reached}, or restore"
                " a copy.",
                sound=reached,
            )
        return times, texts

    # Snapshots

    def snapshot(self, study: str) -> tuple[int, bytes] | None:
        uid = as_uid(study)
        return self._database.read(lambda connection: self._snapshot(connection, uid))

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        uid, seq, data = as_uid(study), as_whole(seq, "seq", least=1), as_bytes(data)
        self._database.write(lambda connection: _write_snapshot(connection, uid, seq, data))

    def _snapshot(self, connection: Connection, uid: str) -> tuple[int, bytes] | None:
        row, study = None, find_row(connection, uid)
        with self._database.damage_ignored():
            row = connection.execute(_kept, {"study": study.id}).first()
        if row is None or not isinstance(row.data, bytes):
            return None
        seq, data, checksum, event = row
        return (seq, data) if tables.snapshot_checksum(event, data) == checksum else None


# Writing


def _insert_study(connection: Connection, study: StudyRow, first: Append) -> None:
    row = {name: value for name, value in study.values().items() if name != "id"}
    try:
        key = connection.execute(insert(studies).returning(studies.c.id), row).scalar_one()
    except IntegrityError:
        raise name_taken(study.name) from None
    new, rows = replace(study, id=key, chain=study.start).extended(first)
    _save(connection, [new], rows)


def _write_appends(connection: Connection, batch: Sequence[Append]) -> list[int | HeliotropeError]:
    """Write the appends that fit, each after the one before it; return the outcome of each."""
    locked = _lock(connection, sorted({append.study for append in batch}))
    changed: dict[str, StudyRow] = {}
    rows: list[dict[str, Any]] = []
    results: list[int | HeliotropeError] = []
    for append in batch:
        row = locked.get(append.study) or unknown_study(append.study)
        if isinstance(row, StudyRow) and row.last == append.after:
            row, new = row.extended(append)
            changed[append.study] = row
            rows += new
        elif isinstance(row, StudyRow):
            row = conflict(append, row.last)
        locked[append.study] = row
        results.append(row.last if isinstance(row, StudyRow) else row)
    _save(connection, changed.values(), rows)
    return results


def _write_snapshot(connection: Connection, uid: str, seq: int, data: bytes) -> None:
    study = _lock(connection, [uid]).get(uid) or unknown_study(uid)
    if not isinstance(study, StudyRow):
        raise study
    if seq > study.last:
        raise snapshot_ahead(seq, study.last)
    mine = snapshots.c.study == study.id
    kept = connection.scalar(select(snapshots.c.seq).where(mine))
    checksum = tables.snapshot_checksum(tables.event_checksum(connection, study, seq), data)
    row = {"study": study.id, "seq": seq, "data": data, "checksum": checksum}
    if kept is None:
        connection.execute(insert(snapshots), row)
    elif kept <= seq:
        connection.execute(update(snapshots).where(mine), row)


def _lock(connection: Connection, uids: Sequence[str]) -> dict[str, StudyRow | HeliotropeError]:
    """Lock the rows of studies until the transaction ends; a damaged row is a DamagedError."""
    locked: dict[str, StudyRow | HeliotropeError] = {}
    for start in range(0, len(uids), _TOGETHER):
        for row in connection.execute(_locked, {"uids": uids[start : start + _TOGETHER]}):
            try:
                locked[row.uid] = tables.checked_row(row)
            except DamagedError as error:
                locked[row.uid] = error
    return locked


def _save(connection: Connection, changed: Iterable[StudyRow], rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(events), rows)
        connection.execute(_moved, [_moved_row(row) for row in changed])


def _moved_row(row: StudyRow) -> dict[str, Any]:
    values = row.values()
    return {"key": row.id, **{name: values[name] for name in _MOVING}}
