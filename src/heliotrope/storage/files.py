"""Whether a file is still where it was opened.

SQLite goes on with one that was moved or removed, while its write-ahead log stays behind under the
old name: whoever opens the moved file does not see what the log holds.
"""

from __future__ import annotations

from pathlib import Path

from heliotrope.errors import StoreError


class OpenedFile:
    """A path, and which file was opened there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: tuple[int, int] | None = None

    def check(self) -> None:
        """Remember the file, once it is open; later StoreError if it is not there any more."""
        found = self._found()
        if self._opened is None:
            self._opened = found
        if found is None or found != self._opened:
            raise StoreError(
                f"the file that was opened as {self._path}",
                "no file there" if found is None else "another file there",
                "Nothing was written. Put it back, beside its -wal; stop all that use a store"
                " before moving it.",
            )

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
