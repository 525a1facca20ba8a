"""A store in a SQLite file, for several threads and processes of one machine.

The write-ahead log is synced at each commit (``synchronous=FULL``; on macOS with ``fullfsync``). A
file is created under a temporary name and linked to its own when it is complete, so a file that
exists is a store, and an empty one is damaged.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import mkstemp
from typing import ClassVar, TypeVar

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from heliotrope.errors import DamagedError, InputError, StoreError
from heliotrope.storage.database import DAMAGED, DRIVER_ERRORS, Database
from heliotrope.storage.files import DisplacedError, Gate, StoreFiles, WriteLock, beside
from heliotrope.storage.tables import create_tables, studies, version

T = TypeVar("T")

_PATIENCE = 30.0  # seconds to wait for other writers
_SETTINGS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA fullfsync=ON",
    "PRAGMA checkpoint_fullfsync=ON",
    "PRAGMA foreign_keys=ON",
    "PRAGMA cell_size_check=ON",
)
_ADVICE = {
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_NOTADB": DAMAGED,
    "SQLITE_BUSY": "Another program holds it. End its transaction, and try again.",
    "SQLITE_IOERR": (
        "It may be open under another name, or the disk may fail."
        " Stop all its users, keep its -wal file, and look before restoring a copy."
    ),
}
_BEGIN = "begin"  # the option with the statement that begins a transaction
_CONNECTIONS = 8  # kept open; further ones are opened and closed on demand
_TRIES = 5  # of a transaction while somebody removes files beside the database


class SqliteDatabase(Database):
    """A SQLite file and its lock file."""

    reading: ClassVar = {_BEGIN: "BEGIN"}
    writing: ClassVar = {_BEGIN: "BEGIN IMMEDIATE"}
    code = ("sqlite_errorname", "SQLITE_CORRUPT")  # an error about invalid text has no name
    advice = _ADVICE

    def __init__(self, path: Path) -> None:
        self._files, self._gate = StoreFiles(path), Gate()
        self._write_lock = WriteLock(beside(path, "-lock"), path.stat().st_mode & 0o777, _PATIENCE)
        engine = _engine(partial(_connect, path, self.check_address, self._files.remember))
        super().__init__(engine, str(path), self._write_lock)

    def check_address(self) -> None:
        self._files.check()

    def prepare(self) -> None:
        if self.read(version) is None:
            raise StoreError("a store of heliotrope", f"another database in {self.address}")
        super().prepare()
        self.read(self._check_directory)

    def _check_directory(self, connection: Connection) -> None:
        """Compare the list of studies with its indices, so that a lost study is noticed."""
        check = connection.exec_driver_sql(f"PRAGMA integrity_check({studies.name})")
        first, *_ = check.scalars()
        if first != "ok":
            expected = f"an intact list of studies in {self.address}"
            raise DamagedError(expected, f"«{first}»", "Restore a copy.")

    def _transact(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        """Run a transaction; if files beside the database were removed, save what they held.

        That happens also after the commit, before anyone hears of it.
        """
        for _ in range(_TRIES):
            results: list[T] = []
            with self._gate.shared():
                try:
                    results.append(super()._transact(engine, work))
                except DisplacedError:
                    pass
                except DRIVER_ERRORS:
                    if self._files.are_in_place():
                        raise
            if not self._files.are_in_place():
                with nullcontext() if engine is self._writer else self._write_lock.held():
                    self._reopen()
            if results:
                return results[0]
        raise DisplacedError(f"the files beside {self.address} to stay", "that they are removed")

    def _reopen(self) -> None:
        """Close all connections to removed files, after saving what only these can read."""
        with self._gate.alone():
            if not self._files.are_in_place():  # else another thread has done it
                self._files.save(self.engine)
                self.engine.dispose()
                self._files.forget()


def open_sqlite(url: URL, make: bool = True) -> SqliteDatabase:
    """Open the database in a file; with ``make``, create the file if it is missing."""
    path = _path(url)
    try:
        if not path.exists():
            if not make:
                advice = "Check its path. A store is created with its first study."
                raise StoreError("a store", f"{path}, which does not exist", advice)
            _create(path)
        _check_access(path)
        return SqliteDatabase(path)
    except (OSError, sqlite3.Error, SQLAlchemyError) as error:
        raise StoreError(f"to open the store {path}", str(error)) from error


def _path(url: URL) -> Path:
    plain = url == URL.create("sqlite", database=url.database)
    if not plain or not url.database or url.database == ":memory:" or "\0" in url.database:
        raise InputError(
            "sqlite:/// and a path",
            url.render_as_string(),
            "sqlite:///file.db is relative, sqlite:////folder/file.db absolute.",
        )
    return Path(url.database).resolve()  # so that all names of a file have one lock


def _check_access(path: Path) -> None:
    """Check without opening the file: closing it would release the locks of its other users."""
    if path.is_dir():
        raise StoreError("a file", f"the folder {path}")
    for entry in (path, path.parent):
        if not os.access(entry, os.R_OK | os.W_OK):
            raise StoreError(
                f"to be allowed to write {entry}", "no permission", "SQLite writes files beside it."
            )


# Creating a file


def _create(path: Path) -> None:
    if not path.parent.is_dir():
        raise StoreError(f"the folder of {path}", "no such folder", "Make it first.")
    log = beside(path, "-wal")
    if log.exists() and not path.exists():  # in this order: another process may be creating it
        raise StoreError(
            f"no {log.name} without {path}", "one", "It holds the last writes to a lost file."
        )
    file, name = mkstemp(prefix=f".{path.name}.", dir=path.parent)  # only its owner may read it
    draft = Path(name)
    try:
        os.close(file)
        _fill(draft)
        _link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _fill(draft: Path) -> None:
    with closing(_connect(draft)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")  # stored in the file
    engine = _engine(partial(_connect, draft))
    try:
        with engine.connect() as connection:
            create_tables(connection)
            connection.commit()
    finally:
        engine.dispose()


def _link(draft: Path, path: Path) -> None:
    with suppress(FileExistsError):  # another process was faster: its file is the store
        os.link(draft, path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


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


def _connect(
    path: Path,
    check: Callable[[], None] = lambda: None,
    remember: Callable[[], None] = lambda: None,
) -> sqlite3.Connection:
    """Open a connection; ``check`` is called before it opens the log, ``remember`` after."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        check()  # before SQLite reads: it would take another file's log for this one's
        for setting in _SETTINGS:
            connection.execute(setting)
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        remember()
    except BaseException:
        connection.close()
        raise
    return connection


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))
