"""What transactions write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from heliotrope.errors import DamagedError, HeliotropeError
from heliotrope.storage.checksums import snapshot_seal
from heliotrope.storage.heads import Head, checksum_of, head_of, heads
from heliotrope.storage.protocol import Append, conflict, no_event, taken, unknown
from heliotrope.storage.schema import events, snapshots, studies

_TOGETHER = 1_000  # studies looked up by one statement

_locked = (
    heads.where(studies.c.uid.in_(bindparam("uids", expanding=True)))
    .order_by(studies.c.uid)  # the same order for all: two writers never wait for each other
    .with_for_update(key_share=True)
)
_moved = update(studies).where(studies.c.id == bindparam("key"))


def begin(connection: Connection, head: Head, first: Append) -> None:
    """Write the row of a new study and its first event."""
    row = {name: value for name, value in head.values().items() if name != "id"}
    try:
        key = connection.execute(insert(studies).returning(studies.c.id), row).scalar_one()
    except IntegrityError:
        raise taken(head.name) from None
    new, rows = replace(head, id=key, chain=head.start).extended(first)
    _save(connection, [new], rows)


def write(connection: Connection, batch: Sequence[Append]) -> list[int | HeliotropeError]:
    """Write what fits, each append where the one before it left its study."""
    found = _lock(connection, sorted({append.study for append in batch}))
    changed: dict[str, Head] = {}
    rows: list[dict[str, Any]] = []
    results: list[int | HeliotropeError] = []
    for append in batch:
        head = found.get(append.study) or unknown(append.study)
        if isinstance(head, Head) and head.last == append.after:
            head, new = head.extended(append)
            changed[append.study] = head
            rows += new
        elif isinstance(head, Head):
            head = conflict(append, head.last)
        found[append.study] = head
        results.append(head.last if isinstance(head, Head) else head)
    _save(connection, list(changed.values()), rows)
    return results


def keep(connection: Connection, uid: str, seq: int, data: bytes) -> None:
    """Write a snapshot over an older one."""
    head = _lock(connection, [uid]).get(uid) or unknown(uid)
    if not isinstance(head, Head):
        raise head
    if seq > head.last:
        raise no_event(seq, head.last)
    mine = snapshots.c.study == head.id
    kept = connection.scalar(select(snapshots.c.seq).where(mine))
    row = {
        "study": head.id,
        "seq": seq,
        "data": data,
        "checksum": snapshot_seal(checksum_of(connection, head, seq), data),
    }
    if kept is None:
        connection.execute(insert(snapshots), row)
    elif kept <= seq:
        connection.execute(update(snapshots).where(mine), row)


def _lock(connection: Connection, uids: Sequence[str]) -> dict[str, Head | HeliotropeError]:
    """The rows of studies, which nobody else writes to until the transaction ends."""
    found: dict[str, Head | HeliotropeError] = {}
    for start in range(0, len(uids), _TOGETHER):
        some = uids[start : start + _TOGETHER]
        for row in connection.execute(_locked, {"uids": some}):
            found[row.uid] = _head_or_damage(row)
    return found


def _head_or_damage(row: Any) -> Head | DamagedError:
    try:
        return head_of(row)
    except DamagedError as error:
        return error


def _save(connection: Connection, changed: Iterable[Head], rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(events), rows)
        moved = [{"key": head.id, **head.values()} for head in changed]
        connection.execute(_moved, moved)
