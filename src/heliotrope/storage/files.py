"""Guards the files of a SQLite store: which files they are, and one writer at a time.

SQLite goes on using a removed ``-wal`` or ``-shm`` file, which no other process can open. What is
committed there is lost when the process ends. As long as a connection to the removed log is open,
a checkpoint through it still saves everything into the database.

SQLite has a lock of its own, but polls it at growing intervals. Its versions before 3.51.3 (3.50.7,
3.44.6) can also lose a commit that meets a checkpoint of another process
(https://sqlite.org/wal.html#walresetbug). The write lock covers the commit and the checkpoint that
may follow it, so the two never meet.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Engine

from heliotrope.errors import StoreError

if sys.platform != "win32":  # SQLite's own lock must suffice there
    import fcntl

_Identity: TypeAlias = tuple[int, int] | None
"""Device and inode of a file; None if there is none."""

_OPEN_FILES = Path("/dev/fd")  # of this process
_SHORTEST, _LONGEST = 0.0005, 0.005  # seconds between two tries; about the time of a sync
_ADVICE = "Stop all users of the store before you move or remove its files."


class DisplacedError(StoreError):
    """A file beside the database was removed or replaced while it was in use."""


class StoreFiles:
    """A database, its write-ahead log and its shared memory, as they were opened."""

    def __init__(self, path: Path) -> None:
        self._path, self._database = path, _identity(path)
        self._log, self._memory = beside(path, "-wal"), beside(path, "-shm")
        self._opened: tuple[_Identity, _Identity] | None = None  # log and memory

    def remember(self) -> None:
        """Remember the log and the memory that the first connection has just opened."""
        if self._opened is None:
            self._opened = self._present()
        self.check()

    def forget(self) -> None:
        """Forget the log and the memory, after all connections to them were closed."""
        self._opened = None

    def are_in_place(self) -> bool:
        """Whether the log and the memory are those that were opened."""
        return self._opened is None or self._opened == self._present()

    def check(self) -> None:
        """Raise a StoreError if a file is not the one that was opened.

        SQLite keeps using a database that was moved or removed, while its write-ahead log stays
        under the old name. A process that opens the moved file would miss the events in that log.
        """
        present = _identity(self._path)
        if present is None or present != self._database:
            raise StoreError(
                f"the file that was opened as {self._path}",
                "no file there" if present is None else "another file there",
                "Nothing was written. Put it back beside its -wal file. Stop all users of a store"
                " before you move it.",
            )
        if not self.are_in_place():
            raise DisplacedError(
                f"the files that were opened as {self._log} and {self._memory.name}",
                "missing or other ones there",
                _ADVICE,
            )

    def save(self, engine: Engine) -> None:
        """Save what the opened log holds into the database; StoreError if that is impossible.

        No transaction may be open in this process, and no other process may write.
        """
        opened, present = self._opened, self._present()
        if opened is None or opened[0] == present[0] or _open_size(opened[0]) == 0:
            return  # the log is in place, or another process has saved it
        if present[0] is not None and self._log.stat().st_size:
            raise StoreError(
                f"the file that was opened as {self._log}",
                "another one with content",
                f"The last writes may be lost: look before restoring a copy. {_ADVICE}",
            )
        with closing(engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy, *_ = cursor.fetchone() or (1,)
            cursor.close()
        if busy:
            raise StoreError(f"to save the removed {self._log}", "another user of it", _ADVICE)

    def _present(self) -> tuple[_Identity, _Identity]:
        return _identity(self._log), _identity(self._memory)


class Gate:
    """Lets in many threads, or one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody is inside, and keep everybody out."""
        with self._changed:
            self._changed.wait_for(lambda: not self._inside)
            yield


class WriteLock:
    """A lock on a file of its own, which is never removed."""

    def __init__(self, path: Path, mode: int, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._threads = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; StoreError if others hold it for too long."""
        if not self._threads.acquire(timeout=self._patience):
            raise self._timeout_error()
        try:
            self._lock_file()
            try:
                yield
            finally:
                if sys.platform != "win32":
                    fcntl.flock(self._file, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _lock_file(self) -> None:
        end, pause = time.monotonic() + self._patience, _SHORTEST
        while not self._try_to_lock():
            if time.monotonic() > end:
                raise self._timeout_error()
            time.sleep(pause)
            pause = min(2.0 * pause, _LONGEST)

    def _try_to_lock(self) -> bool:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError as error:
                raise StoreError(f"to lock {self._path}", str(error)) from error
        return True

    def _timeout_error(self) -> StoreError:
        return StoreError(
            f"the lock {self._path} within {self._patience:g} s",
            "another writer that holds it",
            "Check for a writer that hangs or is stopped.",
        )


def beside(path: Path, suffix: str) -> Path:
    """The file beside another one that has its name and a suffix."""
    return path.with_name(path.name + suffix)


def _identity(path: Path) -> _Identity:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _open_size(identity: _Identity) -> int | None:
    """The size of a file that this process has open, even if it was removed; None if unknown."""
    try:
        files = list(_OPEN_FILES.iterdir())
    except OSError:
        return None
    for file in files:
        try:
            status = file.stat()
        except OSError:  # closed meanwhile
            continue
        if (status.st_dev, status.st_ino) == identity:
            return status.st_size
    return None
