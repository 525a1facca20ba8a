"""A lock for one writer at a time, among threads and among processes.

SQLite has a lock of its own, but polls it at growing intervals. Its versions before 3.51.3 (3.50.7,
3.44.6) can also lose a commit that meets a checkpoint of another process
(https://sqlite.org/wal.html#walresetbug). This lock covers the commit and the checkpoint that may
follow it, so the two never meet.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heliotrope.errors import StoreError

if sys.platform != "win32":  # SQLite's own lock must suffice there
    import fcntl

_SHORTEST, _LONGEST = 0.0005, 0.005  # seconds between two tries; about the time of a sync


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
