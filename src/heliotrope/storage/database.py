"""Transactions on a database; errors of the driver become errors of this package."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from heliotrope.errors import StoreError
from heliotrope.storage.files import WriteLock
from heliotrope.storage.tables import TABLES_VERSION, create_tables, version

T = TypeVar("T")

DRIVER_ERRORS = (SQLAlchemyError, UnicodeDecodeError)  # the latter occurs in reports of damage
DAMAGED = "The store is damaged: restore a copy."


class Database:
    """Runs transactions, each of which sees one state and is committed whole or not at all.

    There is a subclass for each kind of database.
    """

    reading: ClassVar[Mapping[str, Any]]  # options: all statements of a transaction see one state
    writing: ClassVar[Mapping[str, Any]]  # options: they see the newest state, and exclude writers
    code: ClassVar[tuple[str, str]]  # attribute of an error that holds its code, and the default
    advice: ClassVar[Mapping[str, str]]  # about errors, by the start of their codes

    def __init__(self, engine: Engine, address: str, lock: WriteLock | None = None) -> None:
        self.engine, self.address = engine, address
        self._lock = lock  # held also during the checkpoint that may follow a commit
        self._reader = engine.execution_options(**self.reading)
        self._writer = engine.execution_options(**self.writing)
        self._process = os.getpid()
        self._open = True

    def check_address(self) -> None:
        """Raise a StoreError if the opened database is no longer at its address."""

    def clock_offset(self) -> float:
        """Seconds that the clock of this process is ahead of the database's; 0 if it has none."""
        return 0.0

    def prepare(self) -> None:
        """Create the tables if there are none; StoreError if they are of another version."""
        if not self.read(self._has_tables):
            self.write(self.create)

    def create(self, connection: Connection) -> None:
        """Create the tables, unless another process has; the open transaction excludes others."""
        if not self._has_tables(connection):
            create_tables(connection)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction that changes nothing."""
        self._check_usable()
        return self._explained(self._reader, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction that writes; it is on disk when this returns."""
        self._check_usable()
        with nullcontext() if self._lock is None else self._lock.held():
            return self._explained(self._writer, work)

    def close(self) -> None:
        """Close all connections and the lock."""
        if self._open:
            self._open = False
            self.engine.dispose(close=os.getpid() == self._process)
            if self._lock is not None:
                self._lock.close()

    @contextmanager
    def damage_ignored(self) -> Iterator[None]:
        """End the block without an exception if the driver reports damage."""
        try:
            yield
        except DRIVER_ERRORS as error:
            if self._advice(error) != DAMAGED:
                raise

    def _has_tables(self, connection: Connection) -> bool:
        stored = version(connection)
        if stored not in (None, TABLES_VERSION):
            got = f"version {stored[:20]!r} in {self.address}"
            advice = "Update heliotrope." if stored > TABLES_VERSION else DAMAGED
            raise StoreError(f"a store of version {TABLES_VERSION}", got, advice)
        return stored is not None

    def _explained(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        try:
            return self._transact(engine, work)
        except DRIVER_ERRORS as error:
            self.check_address()  # a likely cause
            text = str(error.orig if isinstance(error, DBAPIError) else error)
            first, *_ = text.strip().splitlines() or [""]
            expected = f"to use the store {self.address}"
            raise StoreError(expected, f"«{first}»", self._advice(error)) from error

    def _transact(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        """Run a transaction, once more if the connection is lost before the commit."""
        retried = False
        while True:
            with engine.connect() as connection:
                try:
                    result = work(connection)
                except DBAPIError as error:
                    if retried or not error.connection_invalidated:
                        raise
                    retried = True
                    continue
                self.check_address()  # before the commit
                connection.commit()
                return result

    def _advice(self, error: Exception) -> str:
        if not isinstance(error, DBAPIError):
            return DAMAGED if isinstance(error, UnicodeDecodeError) else ""
        code = str(getattr(error.orig, *self.code))
        for start, advice in self.advice.items():
            if code.startswith(start):
                return advice
        is_lost = error.connection_invalidated
        return "The last write may have arrived: look before writing again." if is_lost else ""

    def _check_usable(self) -> None:
        if not self._open:
            raise StoreError("an open store", f"{self.address}, which is closed")
        if os.getpid() != self._process:
            raise StoreError(
                "a store that this process opened",
                "one opened before a fork",
                "Open it in each process.",
            )
