"""Journals write the events of studies to a store: each append at once, or many in a group."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread, local
from time import sleep
from typing import Any

from heliotrope.errors import ConflictError, StoreError
from heliotrope.storage.protocol import Append, Store

_MOST = 1_000  # appends in one transaction
_PAUSE, _PAUSES = 0.001, 5  # seconds to wait for further appends, and how often at most


def _ignore(*_: Any) -> None: ...


@dataclass(frozen=True)
class _Submitted:
    append: Append
    follows: Future[int] | None
    future: Future[int] = field(default_factory=Future)

    def is_due(self) -> bool:
        """Whether to write it; it fails if the append that it follows has failed."""
        if not self.future.set_running_or_notify_cancel():
            return False
        if self.follows is None or not self.follows.done() or _succeeded(self.follows):
            return True
        error = ConflictError(
            f"event {self.append.after} of study {self.append.study} on disk",
            "an error when it was written",
            "Read the study and try again.",
        )
        self.future.set_exception(error)
        return False


@dataclass(eq=False, repr=False)
class Journal:
    """Writes each append by itself, in the thread of the caller.

    ``written`` is called with the study's uid and its last event after each append that is on
    disk, ``conflict`` after each append that was refused because another process wrote first.
    """

    store: Store
    _: KW_ONLY
    written: Callable[[str, int], None] = _ignore
    conflict: Callable[[], None] = _ignore
    _thread_local: local = field(default_factory=local, init=False)

    def submit(self, append: Append, follows: Future[int] | None = None) -> Future[int]:
        """Write events; the result is the number of the last one, once it is on disk.

        If the append that this one ``follows`` fails, this one fails with a ConflictError, even
        if events of another process have the numbers between.
        """
        submitted = _Submitted(append, follows)
        submitted.future.add_done_callback(lambda done: self._report(append.study, done))
        gathered: list[_Submitted] | None = getattr(self._thread_local, "gathered", None)
        if gathered is None:
            self._accept([submitted])
        else:
            gathered.append(submitted)
        return submitted.future

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write all appends that this thread submits in the block in one transaction, at its end.

        Nobody may wait for them within the block.
        """
        gathered = self._thread_local.gathered = list[_Submitted]()
        try:
            yield
        finally:
            self._thread_local.gathered = None
            self._accept_gathered(gathered)

    def _accept_gathered(self, gathered: Sequence[_Submitted]) -> None:
        try:
            self._accept(gathered)
        except StoreError as error:
            for submitted in gathered:
                submitted.future.set_exception(error)

    def _accept(self, batch: Sequence[_Submitted]) -> None:
        self._write(batch)

    def _write(self, batch: Sequence[_Submitted]) -> None:
        due = [submitted for submitted in batch if submitted.is_due()]
        if not due:
            return
        outcomes: Sequence[int | Exception]
        try:
            outcomes = self.store.append([submitted.append for submitted in due])
        except Exception as error:  # each caller gets it
            outcomes = [error] * len(due)
        for submitted, outcome in zip(due, outcomes, strict=True):
            if isinstance(outcome, Exception):
                submitted.future.set_exception(outcome)
            else:
                submitted.future.set_result(outcome)

    def _report(self, uid: str, done: Future[int]) -> None:
        if _succeeded(done):
            self.written(uid, done.result())
        elif not done.cancelled() and isinstance(done.exception(), ConflictError):
            self.conflict()


@dataclass(eq=False, repr=False)
class GroupCommit(Journal):
    """Writes all waiting appends in one transaction, in their order, in a thread of its own.

    While the disk syncs one group, the next one gathers. If the last group had several appends,
    the next gets some milliseconds to gather, as long as further appends arrive: a transaction
    costs more processor time than many appends. A single append is written at once.
    """

    def __post_init__(self) -> None:
        self._queue: SimpleQueue[Sequence[_Submitted] | None] = SimpleQueue()  # None: the end
        self._lock = Lock()
        self._open = True
        self._thread = Thread(target=self._work, name="heliotrope-group-commit", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what waits, and stop. The store stays open."""
        with self._lock:
            if self._open:
                self._queue.put(None)
            self._open = False
        self._thread.join()

    def _accept(self, batch: Sequence[_Submitted]) -> None:
        with self._lock:
            if not (self._open and self._thread.is_alive()):
                raise StoreError(
                    "an open group commit", "a closed one", "Create one in each process."
                )
            self._queue.put(batch)

    def _work(self) -> None:
        taken: list[Sequence[_Submitted] | None] = []
        while not taken or taken[-1] is not None:
            several = len(taken) > 1
            taken = [self._queue.get()]
            if several:
                self._let_gather()
            while len(taken) < _MOST and not self._queue.empty():
                taken.append(self._queue.get())
            self._write([submitted for batch in taken for submitted in batch or ()])

    def _let_gather(self) -> None:
        for _ in range(_PAUSES):
            before = self._queue.qsize()
            sleep(_PAUSE)
            if self._queue.qsize() == before:
                return


def _succeeded(done: Future[int]) -> bool:
    return not done.cancelled() and done.exception() is None
