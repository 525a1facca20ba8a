"""A store in a PostgreSQL database, for many machines. Other tables may share the database."""

from typing import Any, ClassVar

from sqlalchemy import URL, Connection, create_engine, event, text

from heliotrope.storage.database import Database

_MIGRATING = 0x48454C49  # key of the advisory lock around a migration
_CONNECT = 10  # seconds to wait for a server
_SETTINGS = (
    "SET lock_timeout = '30s'",
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'",
)
_LOCKED = "Another transaction holds it (see pg_stat_activity). End that one, and try again."


class PostgresDatabase(Database):
    """A PostgreSQL database, in which writers lock the row of their study."""

    reading: ClassVar = {"isolation_level": "REPEATABLE READ"}
    writing: ClassVar = {"isolation_level": "READ COMMITTED"}
    code = ("sqlstate", "")
    damage = ("XX",)  # a page's own checksum failed
    advice: ClassVar = {"55P03": _LOCKED}

    def __init__(self, url: URL) -> None:
        engine = create_engine(
            url.set(drivername="postgresql+psycopg").difference_update_query(["connect_timeout"]),
            connect_args={"connect_timeout": url.query.get("connect_timeout", _CONNECT)},
            hide_parameters=True,
        )
        event.listen(engine, "connect", _set_up)
        super().__init__(engine, url.set(query={}).render_as_string(hide_password=True))

    def migrate(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        super().migrate(connection)


def _set_up(connection: Any, _: object) -> None:
    """Limit the wait for locks, and commit synchronously."""
    with connection.cursor() as cursor:
        for setting in _SETTINGS:
            cursor.execute(setting)
    connection.commit()
