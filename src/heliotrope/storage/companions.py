"""Guards the files that SQLite keeps beside a database: its write-ahead log and shared memory.

SQLite goes on using a removed ``-wal`` or ``-shm`` file, which no other process can open. What is
committed there is lost when the process ends. As long as a connection to the removed log is open,
a checkpoint through it still saves everything into the database.
"""

from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Engine

from heliotrope.errors import StoreError

Identity: TypeAlias = tuple[int, int] | None
"""Device and inode of a file; None if there is none."""

_OPEN_FILES = Path("/dev/fd")  # of this process
_ADVICE = "Stop all users of the store before you move or remove its files."


class DisplacedError(StoreError):
    """A file beside the database was removed or replaced while it was in use."""


class Companions:
    """The write-ahead log and the shared memory beside a database, as they were opened."""

    def __init__(self, path: Path) -> None:
        self._log, self._memory = beside(path, "-wal"), beside(path, "-shm")
        self._opened: tuple[Identity, Identity] | None = None

    def remember(self) -> None:
        """Remember the files that the first connection has just opened."""
        if self._opened is None:
            self._opened = self._found()
        self.check()

    def forget(self) -> None:
        """Forget the files, after all connections to them were closed."""
        self._opened = None

    def are_in_place(self) -> bool:
        return self._opened is None or self._opened == self._found()

    def check(self) -> None:
        """Raise a DisplacedError if a file is not the one that was opened."""
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
        opened, found = self._opened, self._found()
        if opened is None or opened[0] == found[0] or _open_size(opened[0]) == 0:
            return  # the log is in place, or another process has saved it
        if found[0] is not None and self._log.stat().st_size:
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

    def _found(self) -> tuple[Identity, Identity]:
        return _identity(self._log), _identity(self._memory)


def beside(path: Path, suffix: str) -> Path:
    """The file beside another one that has its name and a suffix."""
    return path.with_name(path.name + suffix)


def _identity(path: Path) -> Identity:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _open_size(identity: Identity) -> int | None:
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
