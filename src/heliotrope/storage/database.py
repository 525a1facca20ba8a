"""Transactions on a database, its driver's errors told as ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from heliotrope.errors import StoreError

T = TypeVar("T")

DRIVER_ERRORS = (SQLAlchemyError, UnicodeDecodeError)  # the latter for messages about damage


class Dialect(Protocol):
    """Where databases differ."""

    engine: Engine
    place: str  # for people to read
    reading: dict[str, object]  # options by which all statements of a transaction see one state
    writing: dict[str, object]  # options by which they see the newest, and keep others out

    def lock(self) -> AbstractContextManager[None]:
        """Whatever a transaction that writes has to hold besides."""

    def check_place(self) -> None:
        """StoreError if what was opened is not in its place any more."""

    def is_damage(self, error: DBAPIError) -> bool:
        """Whether an error says that the database is not what was written."""

    def advice(self, error: DBAPIError) -> str:
        """What to do about another error, if there is something to say."""

    def close(self) -> None:
        """Let go of what is held besides connections."""


class Database:
    """Transactions: one sees one state, and is done whole or not at all."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._reader = dialect.engine.execution_options(**dialect.reading)
        self._writer = dialect.engine.execution_options(**dialect.writing)
        self._process = os.getpid()
        self._open = True

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run what changes nothing."""
        self._check_usable()
        return self._explained(self._reader, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run what changes something; it is on disk afterwards."""
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
            self.dialect.check_place()  # before it is committed, or believed
            return result

        try:
            return _twice(engine, work_in_place)
        except DRIVER_ERRORS as error:
            self.dialect.check_place()  # that would be why
            text = str(error.orig if isinstance(error, DBAPIError) else error)
            first, *_ = text.strip().splitlines() or [""]
            place = f"to use the store {self.dialect.place}"
            raise StoreError(place, f"«{first}»", self._advice(error)) from error

    def is_damage(self, error: Exception) -> bool:
        """Whether an error of the driver says that the database is not what was written."""
        if isinstance(error, DBAPIError):
            return self.dialect.is_damage(error)
        return isinstance(error, UnicodeDecodeError)

    def _advice(self, error: Exception) -> str:
        if self.is_damage(error):
            return "The store is damaged: restore a copy."
        if not isinstance(error, DBAPIError):
            return ""
        if error.connection_invalidated:
            return "Nobody knows whether a last write arrived: look before writing again."
        return self.dialect.advice(error)

    def _check_usable(self) -> None:
        if not self._open:
            raise StoreError("an open store", f"{self.dialect.place}, which was closed")
        if os.getpid() != self._process:
            raise StoreError(
                "a store that this process opened",
                "one from before a fork",
                "Open it in each process.",
            )


def _twice(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run a transaction, again if the connection turns out to be lost before it is committed."""
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


class _Lost(Exception):  # noqa: N818 - not for callers
    def __init__(self, error: DBAPIError) -> None:
        self.error = error
