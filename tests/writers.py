"""Processes that write to a store. Little is imported here: each of them imports it again."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

from heliotrope.errors import ConflictError, HeliotropeError, StoreError
from heliotrope.storage import Append, Store, open_store

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["heliotrope.storage.sqlite", "heliotrope.storage.postgresql", "psycopg"]
)


def start(target: Callable[..., None], *arguments: object) -> tuple[Any, Connection]:
    """A process, and its output."""
    hears, says = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=target, args=(*arguments, says))
    process.start()
    says.close()
    return process, hears


def append_all(
    store: Store, uid: str, writer: int, count: int, acknowledged: Callable[[int], None]
) -> None:
    """Append events one by one; retry after a conflict."""
    last = store.last(uid)
    for number in range(count):
        result: int | HeliotropeError = ConflictError("", "")
        while isinstance(result, ConflictError):
            (result,) = store.append([Append(uid, last, [{"writer": writer, "number": number}])])
            last = store.last(uid) if isinstance(result, ConflictError) else last + 1
        assert result == last, result
        acknowledged(number)


def write(url: str, writer: int, count: int, says: Connection) -> None:
    """Append events; print the number of each once it is acknowledged."""
    with closing(open_store(url)) as store:
        append_all(store, store.find("pump").uid, writer, count, says.send)


def begin(url: str, barrier: Any, says: Connection) -> None:
    """Open a store at the same moment as others, and begin a study."""
    barrier.wait()
    with closing(open_store(url)) as store:
        says.send(store.create(f"s{os.getpid()}", {}, at=0.0))


def count_events(url: str, says: Connection) -> None:
    """Say how many events of a study this process finds, after a check of the whole file."""
    with closing(open_store(url)) as store:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        says.send(len(store.events(store.find("pump").uid)))


def change_otherwise(url: str, says: Connection) -> None:
    """Write to a file without this package, and keep it open."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("CREATE TABLE other (x)")
        connection.commit()
        says.send("written")
        time.sleep(60.0)


def open_as_nobody(url: str, says: Connection) -> None:
    """Open a store without the rights of root, who may write everything."""
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        open_store(url).close()
    except StoreError as error:
        says.send(str(error))
