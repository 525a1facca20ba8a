"""Transactions on a database; errors of the driver become errors of this package."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from heliotrope.errors import StoreError

T = TypeVar("T")

DRIVER_ERRORS = (SQLAlchemyError, UnicodeDecodeError)  # the latter occurs in messages about damage


class Dialect(Protocol):
    """The differences between databases."""

    engine: Engine
    place: str  # for messages
    reading: dict[str, object]  # options: all statements of a transaction see one state
    writing: dict[str, object]  # options: they see the newest state, and exclude other writers

    def lock(self) -> AbstractContextManager[None]:
        """The lock that a writing transaction holds."""

    def check_place(self) -> None:
        """Raise a StoreError if the opened database is no longer in its place."""

    def is_damage(self, error: DBAPIError) -> bool:
        """Whether an error reports damage."""

    def advice(self, error: DBAPIError) -> str:
        """What to do about another error; may be empty."""

    def close(self) -> None:
        """Release everything but connections."""


class Database:
    """Runs transactions, each of which sees one state and is committed whole or not at all."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._reader = dialect.engine.execution_options(**dialect.reading)
        self._writer = dialect.engine.execution_options(**dialect.writing)
        self._process = os.getpid()
        self._open = True

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction that changes nothing."""
        self._check_usable()
        return self._explained(self._reader, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction that writes; it is on disk when this returns."""
        self._check_usable()
        with self.dialect.lock():
            return self._explained(self._writer, work)

    def close(self) -> None:
        """Close all connections."""
        if self._open:
            self._open = False
            self.dialect.engine.dispose(close=os.getpid() == self._process)
            self.dialect.close()

    def _explained(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        def work_in_place(connection: Connection) -> T:
            result = work(connection)
            self.dialect.check_place()  # before the commit
            return result

        try:
            return _twice(engine, work_in_place)
        except DRIVER_ERRORS as error:
            self.dialect.check_place()  # a likely cause
            text = str(error.orig if isinstance(error, DBAPIError) else error)
            first, *_ = text.strip().splitlines() or [""]
            place = f"to use the store {self.dialect.place}"
            raise StoreError(place, f"«{first}»", self._advice(error)) from error

    def is_damage(self, error: Exception) -> bool:
        """Whether an error of the driver reports damage."""
        if isinstance(error, DBAPIError):
            return self.dialect.is_damage(error)
        return isinstance(error, UnicodeDecodeError)

    def _advice(self, error: Exception) -> str:
        if self.is_damage(error):
            return "The store is damaged: restore a copy."
        if not isinstance(error, DBAPIError):
            return ""
        if error.connection_invalidated:
            return "The last write may have arrived: look before writing again."
        return self.dialect.advice(error)

    def _check_usable(self) -> None:
        if not self._open:
            raise StoreError("an open store", f"{self.dialect.place}, which is closed")
        if os.getpid() != self._process:
            raise StoreError(
                "a store that this process opened",
                "one opened before a fork",
                "Open it in each process.",
            )


def _twice(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run a transaction, once more if the connection is lost before the commit."""
    try:
        return _once(engine, work)
    except _Lost:
        try:
            return _once(engine, work)
        except _Lost as again:
            raise again.error from again


def _once(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.connect() as connection:
        try:
            result = work(connection)
        except DBAPIError as error:
            if error.connection_invalidated:
                raise _Lost(error) from error
            raise
        connection.commit()
        return result


class _Lost(Exception):  # noqa: N818 - private
    def __init__(self, error: DBAPIError) -> None:
        self.error = error
