"""A store in a PostgreSQL database, for many machines. Other tables may share the database.

Every wait has an end: connecting, waiting for a lock, a statement, a lost network, and a server
that accepts bytes but never answers. The last one is ended from here, by a watchdog.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, ClassVar, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, text

from heliotrope.storage.database import DAMAGED, Database
from heliotrope.surroundings import Now

T = TypeVar("T")

_CREATING = 0x48454C49  # key of the advisory lock around the creation of the tables
CONNECT = 10  # seconds to wait for a server
READ, WRITE = 60.0, 15.0  # seconds that a transaction may take
_NETWORK = {  # for TCP: without an answer for half a minute, the connection is lost
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_SETTINGS = (
    "SET lock_timeout = '10s'",
    "SET statement_timeout = '60s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'",
)
_LOCKED = "Another transaction holds it (see pg_stat_activity). End that one, and try again."
_CLOCK = text("SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8")
_MEASURED = 60.0  # seconds between two looks at the server's clock


class PostgresDatabase(Database):
    """A PostgreSQL database, in which writers lock the row of their study."""

    reading: ClassVar = {"isolation_level": "REPEATABLE READ"}
    writing: ClassVar = {"isolation_level": "READ COMMITTED"}
    code = ("sqlstate", "")
    advice: ClassVar = {"XX": DAMAGED, "55P03": _LOCKED}  # XX: a page's own checksum failed

    def __init__(self, url: URL, now: Now) -> None:
        self._now, self._watchdog = now, Watchdog()
        self._offset, self._measured = 0.0, -inf
        limits = {name: url.query.get(name, value) for name, value in _NETWORK.items()}
        engine = create_engine(
            url.set(drivername="postgresql+psycopg").difference_update_query(
                ["connect_timeout", *_NETWORK]
            ),
            connect_args={"connect_timeout": url.query.get("connect_timeout", CONNECT), **limits},
            hide_parameters=True,
        )
        event.listen(engine, "connect", self._set_up)
        super().__init__(engine, url.set(query={}).render_as_string(hide_password=True))

    def create(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATING})
        super().create(connection)

    def clock_offset(self) -> float:
        before = self._now()
        if abs(before - self._measured) > _MEASURED:
            self._measured = before
            server = self.read(lambda connection: connection.execute(_CLOCK).scalar_one())
            self._offset = (before + self._now()) / 2.0 - float(server)
        return self._offset

    def close(self) -> None:
        super().close()
        self._watchdog.close()

    def _transact(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        seconds = WRITE if engine is self._writer else READ
        with self._watchdog.watching(seconds) as watched:

            def work_watched(connection: Connection) -> T:
                watched(connection.connection.driver_connection)
                return work(connection)

            return super()._transact(engine, work_watched)

    def _set_up(self, connection: Any, _: object) -> None:
        """Limit the waits, and commit synchronously."""
        with self._watchdog.watching(CONNECT) as watched, connection.cursor() as cursor:
            watched(connection)
            for setting in _SETTINGS:
                cursor.execute(setting)
            connection.commit()


class Watchdog:
    """Closes connections that are in use for too long; the thread that waits gets an error."""

    def __init__(self) -> None:
        self._watched: dict[object, tuple[float, Any]] = {}  # deadline and connection, by user
        self._lock, self._ended = threading.Lock(), threading.Event()
        threading.Thread(target=self._run, name="heliotrope-watch", daemon=True).start()

    @contextmanager
    def watching(self, seconds: float) -> Iterator[Callable[[Any], None]]:
        """Limit the use of the connection that is passed to the function."""
        user = object()

        def watch(connection: Any) -> None:
            with self._lock:
                self._watched[user] = time.monotonic() + seconds, connection

        try:
            yield watch
        finally:
            with self._lock:
                self._watched.pop(user, None)

    def close(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(0.5):
            with self._lock:
                now = time.monotonic()
                late = [user for user, (deadline, _) in self._watched.items() if deadline < now]
                for user in late:
                    _cut(self._watched.pop(user)[1])


def _cut(connection: Any) -> None:
    from psycopg import Error  # slow to load, and loaded by now

    try:
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as copy:
            copy.shutdown(socket.SHUT_RDWR)
    except (OSError, ValueError, Error):  # it is closed already
        return
