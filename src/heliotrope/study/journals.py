"""Where a study's events are written: at once, or together with those of others."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from heliotrope.errors import ConflictError
from heliotrope.storage import Append, Store


class Journal(Protocol):
    """What writes appends; :class:`heliotrope.storage.GroupCommit` is one, too."""

    def submit(self, append: Append, follows: Future[int] | None = None) -> Future[int]:
        """Have events written; the result comes when they are on disk.

        If the append that it follows is refused, so is this one, with a ConflictError.
        """


class Direct:
    """A journal that writes each append by itself, at once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, append: Append, follows: Future[int] | None = None) -> Future[int]:
        """Write now."""
        future: Future[int] = Future()
        try:
            future.set_result(self._write(append, follows))
        except Exception as error:  # for whoever waits for the result
            future.set_exception(error)
        return future

    def _write(self, append: Append, follows: Future[int] | None) -> int:
        if follows is not None and follows.exception() is not None:
            raise ConflictError(
                f"event {append.after} to be written", "a refusal of it", "Try again."
            )
        (outcome,) = self._store.append([append])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
