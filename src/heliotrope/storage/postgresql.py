"""A store in a PostgreSQL database, for many machines. Other tables may share the database."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from heliotrope.storage.database import Database
from heliotrope.storage.migrating import bring_up_to_date, is_current
from heliotrope.storage.sql import SqlStore

_MIGRATING = 0x48454C49  # key of the advisory lock around a migration
_CONNECT = 10  # seconds to wait for a server
_SETTINGS = (
    "SET lock_timeout = '30s'",
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'",
)
_LOCKED = "Another transaction holds it (see pg_stat_activity). End that one, and try again."


class PostgresDialect:
    """A PostgreSQL database, which locks rows and detects damage itself."""

    def __init__(self, url: URL) -> None:
        self.place = url.set(query={}).render_as_string(hide_password=True)  # no secrets
        self.engine = create_engine(
            url.set(drivername="postgresql+psycopg").difference_update_query(["connect_timeout"]),
            connect_args={"connect_timeout": url.query.get("connect_timeout", _CONNECT)},
            hide_parameters=True,
        )
        self.reading: dict[str, object] = {"isolation_level": "REPEATABLE READ"}
        self.writing: dict[str, object] = {"isolation_level": "READ COMMITTED"}
        event.listen(self.engine, "connect", _set_up)

    def lock(self) -> AbstractContextManager[None]:
        """No lock: writers lock the row of their study."""
        return nullcontext()

    def check_place(self) -> None:
        """Do nothing: the server keeps its files."""

    def is_damage(self, error: DBAPIError) -> bool:
        """Whether a page's own checksum failed (class XX of the error codes)."""
        return _state(error).startswith("XX")

    def advice(self, error: DBAPIError) -> str:
        """What to do about a lock that was not obtained."""
        return _LOCKED if _state(error) == "55P03" else ""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def open_postgresql(url: URL) -> SqlStore:
    """Open the store in a database, and create its tables if they are missing."""
    database = Database(PostgresDialect(url))
    place = database.dialect.place
    try:
        if not database.read(partial(is_current, place=place)):
            database.write(partial(_migrate_alone, place=place))
    except BaseException:
        database.close()
        raise
    return SqlStore(database)


def _state(error: DBAPIError) -> str:
    return str(getattr(error.orig, "sqlstate", None))


def _migrate_alone(connection: Connection, place: str) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
    bring_up_to_date(connection, place)


def _set_up(connection: Any, _: object) -> None:
    """Limit the wait for locks, and commit synchronously."""
    with connection.cursor() as cursor:
        for setting in _SETTINGS:
            cursor.execute(setting)
    connection.commit()
