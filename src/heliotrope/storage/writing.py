"""The statements that write studies, events and snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from heliotrope.errors import DamagedError, HeliotropeError
from heliotrope.storage.checksums import snapshot_checksum
from heliotrope.storage.protocol import Append, conflict, name_taken, snapshot_ahead, unknown_study
from heliotrope.storage.schema import events, snapshots, studies
from heliotrope.storage.study_rows import StudyRow, checked_row, event_checksum, study_rows

_TOGETHER = 1_000  # studies looked up by one statement

_locked = (
    study_rows.where(studies.c.uid.in_(bindparam("uids", expanding=True)))
    .order_by(studies.c.uid)  # one order for all writers: no deadlock
    .with_for_update(key_share=True)
)
_moved = update(studies).where(studies.c.id == bindparam("key"))


def insert_study(connection: Connection, study: StudyRow, first: Append) -> None:
    """Write the row of a new study and its first event."""
    row = {name: value for name, value in study.values().items() if name != "id"}
    try:
        key = connection.execute(insert(studies).returning(studies.c.id), row).scalar_one()
    except IntegrityError:
        raise name_taken(study.name) from None
    new, rows = replace(study, id=key, chain=study.start).extended(first)
    _save(connection, [new], rows)


def write_appends(connection: Connection, batch: Sequence[Append]) -> list[int | HeliotropeError]:
    """Write the appends that fit, each after the one before it; return the outcome of each."""
    found = _lock(connection, sorted({append.study for append in batch}))
    changed: dict[str, StudyRow] = {}
    rows: list[dict[str, Any]] = []
    results: list[int | HeliotropeError] = []
    for append in batch:
        row = found.get(append.study) or unknown_study(append.study)
        if isinstance(row, StudyRow) and row.last == append.after:
            row, new = row.extended(append)
            changed[append.study] = row
            rows += new
        elif isinstance(row, StudyRow):
            row = conflict(append, row.last)
        found[append.study] = row
        results.append(row.last if isinstance(row, StudyRow) else row)
    _save(connection, list(changed.values()), rows)
    return results


def write_snapshot(connection: Connection, uid: str, seq: int, data: bytes) -> None:
    """Replace an older snapshot."""
    study = _lock(connection, [uid]).get(uid) or unknown_study(uid)
    if not isinstance(study, StudyRow):
        raise study
    if seq > study.last:
        raise snapshot_ahead(seq, study.last)
    mine = snapshots.c.study == study.id
    kept = connection.scalar(select(snapshots.c.seq).where(mine))
    row = {
        "study": study.id,
        "seq": seq,
        "data": data,
        "checksum": snapshot_checksum(event_checksum(connection, study, seq), data),
    }
    if kept is None:
        connection.execute(insert(snapshots), row)
    elif kept <= seq:
        connection.execute(update(snapshots).where(mine), row)


def _lock(connection: Connection, uids: Sequence[str]) -> dict[str, StudyRow | HeliotropeError]:
    """Lock the rows of studies until the transaction ends, and return them."""
    found: dict[str, StudyRow | HeliotropeError] = {}
    for start in range(0, len(uids), _TOGETHER):
        some = uids[start : start + _TOGETHER]
        for row in connection.execute(_locked, {"uids": some}):
            found[row.uid] = _row_or_damage(row)
    return found


def _row_or_damage(row: Any) -> StudyRow | DamagedError:
    try:
        return checked_row(row)
    except DamagedError as error:
        return error


def _save(connection: Connection, changed: Iterable[StudyRow], rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(events), rows)
        moved = [{"key": row.id, **row.values()} for row in changed]
        connection.execute(_moved, moved)
