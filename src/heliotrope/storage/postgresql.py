"""A store in a PostgreSQL database, for many machines; it may share the database with others."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from heliotrope.storage.database import Database
from heliotrope.storage.migrating import bring_up_to_date, is_current
from heliotrope.storage.sql import SqlStore

_MIGRATING = 0x48454C49  # the number of the lock that one process holds while it makes tables
_CONNECT = 10  # seconds until a server that does not answer is given up
_SETTINGS = (
    "SET lock_timeout = '30s'",
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'",
)
_LOCKED = "Another transaction holds it: pg_stat_activity says whose. End that, and try again."


class PostgresDialect:
    """A PostgreSQL database: rows are locked by itself, and damage is its own business."""

    def __init__(self, url: URL) -> None:
        self.place = url.set(query={}).render_as_string(hide_password=True)  # it may hold one too
        self.engine = create_engine(
            url.set(drivername="postgresql+psycopg").difference_update_query(["connect_timeout"]),
            connect_args={"connect_timeout": url.query.get("connect_timeout", _CONNECT)},
            hide_parameters=True,
        )
        self.reading: dict[str, object] = {"isolation_level": "REPEATABLE READ"}
        self.writing: dict[str, object] = {"isolation_level": "READ COMMITTED"}
        event.listen(self.engine, "connect", _set_up)

    def lock(self) -> AbstractContextManager[None]:
        """Nothing: a study's row is locked by whoever writes to the study."""
        return nullcontext()

    def check_place(self) -> None:
        """Nothing: where the files are is the server's business."""

    def is_damage(self, error: DBAPIError) -> bool:
        """Whether a page's own checksum failed (class XX of the error codes)."""
        return _state(error).startswith("XX")

    def advice(self, error: DBAPIError) -> str:
        """What to do about a lock that was not to be had."""
        return _LOCKED if _state(error) == "55P03" else ""

    def close(self) -> None:
        """Nothing is held."""


def open_url(url: URL) -> SqlStore:
    """Open the store in a database, whose tables are made if they are not there."""
    database = Database(PostgresDialect(url))
    place = database.dialect.place
    try:
        if not database.read(partial(is_current, place=place)):
            database.write(partial(_alone_bring_up_to_date, place=place))
    except BaseException:
        database.close()
        raise
    return SqlStore(database)


def _state(error: DBAPIError) -> str:
    return str(getattr(error.orig, "sqlstate", None))


def _alone_bring_up_to_date(connection: Connection, place: str) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
    bring_up_to_date(connection, place)


def _set_up(connection: Any, _: object) -> None:
    """Wait for others for a while and not for ever; acknowledge only what is on disk."""
    with connection.cursor() as cursor:
        for setting in _SETTINGS:
            cursor.execute(setting)
    connection.commit()
