"""A store in a SQLite file: several threads and processes of one machine may use it at a time.

Write-ahead log, synced at each commit (``synchronous=FULL``; on macOS down to the platter). A file
is made under another name and linked to its own when it is complete, so that a file that exists
is a store, and an empty one is a damaged one.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from heliotrope.errors import DamagedError, InputError, StoreError
from heliotrope.storage.database import Database
from heliotrope.storage.files import OpenedFile
from heliotrope.storage.locks import WriteLock
from heliotrope.storage.migrating import bring_up_to_date, is_current, migrate, version
from heliotrope.storage.schema import studies
from heliotrope.storage.sql import SqlStore

PATIENCE = 30.0  # seconds to wait for other writers
_SETTINGS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA fullfsync=ON",
    "PRAGMA checkpoint_fullfsync=ON",
    "PRAGMA foreign_keys=ON",
    "PRAGMA cell_size_check=ON",
)
_ADVICE = {
    "SQLITE_BUSY": "Another program holds it: end that one's transaction, and try again.",
    "SQLITE_IOERR": (
        "Is it open under another name, or does the disk fail?"
        " Stop all that use it, keep its -wal, and look before restoring a copy."
    ),
}
_BEGIN = "begin"  # the option that says how a transaction begins
_OURS = 0o600  # what a new file allows: reading and writing, to its owner
_CONNECTIONS = 8  # kept open; more are opened and closed as threads need them


class SqliteDialect:
    """A SQLite file, and the lock beside it."""

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self.reading: dict[str, object] = {_BEGIN: "BEGIN"}
        self.writing: dict[str, object] = {_BEGIN: "BEGIN IMMEDIATE"}
        self._lock = WriteLock(_beside(path, "-lock"), path.stat().st_mode & 0o777, PATIENCE)
        self._file = OpenedFile(path)
        self.engine = _engine(partial(_connect, path, self._file.check))

    def lock(self) -> AbstractContextManager[None]:
        """Keep others from writing until the checkpoint is over that may follow a commit."""
        return self._lock.held()

    def check_place(self) -> None:
        """Refuse to go on with a file that was moved, removed or replaced."""
        self._file.check()

    def is_damage(self, error: DBAPIError) -> bool:
        """Whether SQLite says so, or found a text that is none (such an error has no name)."""
        return _name(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))

    def advice(self, error: DBAPIError) -> str:
        """What to do about a lock that was not to be had, and about a file that fails."""
        fitting = (advice for start, advice in _ADVICE.items() if _name(error).startswith(start))
        return next(fitting, "")

    def close(self) -> None:
        """Close the lock's file."""
        self._lock.close()


def open_url(url: URL, make: bool = True) -> SqlStore:
    """Open the store in a file, which is made, if it may be, where it is not there."""
    path = _path(url)
    with _told(path):
        if not path.exists():
            if not make:
                raise _missing(path)
            _create(path)
        _check_access(path)
        database = Database(SqliteDialect(path))
    try:
        _check(database)
    except BaseException:
        database.close()
        raise
    return SqlStore(database)


def _path(url: URL) -> Path:
    plain = url == URL.create("sqlite", database=url.database)
    if not plain or not url.database or url.database == ":memory:" or "\0" in url.database:
        raise InputError(
            "sqlite:/// and a path",
            url.render_as_string(),
            "sqlite:///file.db is relative, sqlite:////folder/file.db absolute.",
        )
    return Path(url.database).absolute()


def _missing(path: Path) -> StoreError:
    advice = "Is its path right? It is made when a study is created."
    return StoreError("a store", f"{path}, which does not exist", advice)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, SQLAlchemyError) as error:
        raise StoreError(f"to open the store {path}", str(error)) from error


def _check_access(path: Path) -> None:
    """Without opening the file: to close it would let go of the locks of its other users."""
    if path.is_dir():
        raise StoreError("a file", f"the folder {path}")
    for place in (path, path.parent):
        if not os.access(place, os.R_OK | os.W_OK):
            raise StoreError(
                f"to be allowed to write {place}", "no permission", "SQLite writes files beside it."
            )


# Making a file


def _create(path: Path) -> None:
    if not path.parent.is_dir():
        raise StoreError(f"the folder of {path}", "no such folder", "Make it first.")
    log = _beside(path, "-wal")
    if log.exists() and not path.exists():  # in this order: somebody else may be making it
        raise StoreError(
            f"no {log.name} without {path}", "one", "It holds what was written last to a lost file."
        )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OURS))
        _fill(draft)
        _link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _fill(draft: Path) -> None:
    with closing(_connect(draft)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")  # the file remembers it
    engine = _engine(partial(_connect, draft))
    try:
        with engine.connect() as connection:
            migrate(connection)
            connection.commit()
    finally:
        engine.dispose()


def _link(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:  # somebody else was faster: that one is the store
        return
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# Checking one


def _check(database: Database) -> None:
    place = database.dialect.place
    if database.read(version) is None:
        raise StoreError("a store of heliotrope", f"something else in {place}")
    if not database.read(partial(is_current, place=place)):
        database.write(partial(bring_up_to_date, place=place))
    database.read(partial(_check_directory, place=place))


def _check_directory(connection: Connection, place: str) -> None:
    """Compare the list of studies with its indices: a lost study must not look like none."""
    found = connection.exec_driver_sql(f"PRAGMA integrity_check({studies.name})").scalars().all()
    if found != ["ok"]:
        raise DamagedError(
            f"a sound list of studies in {place}", f"«{found[0]}»", "Restore a copy."
        )


# Connections


def _engine(connect: Callable[[], sqlite3.Connection]) -> Engine:
    engine = create_engine(
        "sqlite://",
        creator=connect,
        poolclass=QueuePool,
        pool_size=_CONNECTIONS,
        max_overflow=-1,
        hide_parameters=True,
    )
    event.listen(engine, "begin", _begin)
    return engine


def _connect(path: Path, check: Callable[[], None] = lambda: None) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        check()  # before SQLite reads: it would take the log that lies there for this file's
        for setting in _SETTINGS:
            connection.execute(setting)
    except BaseException:
        connection.close()
        raise
    return connection


def _name(error: DBAPIError) -> str:
    return str(getattr(error.orig, "sqlite_errorname", "SQLITE_CORRUPT"))


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))
