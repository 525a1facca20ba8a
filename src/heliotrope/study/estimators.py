"""Estimates beside the studies: processes learn the models, so that no ask or tell waits for them.

A study hands over an estimate that is due, and goes on with the model that it has. What was learned
becomes an event of its log. A process that ends leaves the estimate due: the next result, in this
process or another one, hands it over again.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from threading import Lock, Thread
from typing import Protocol

from heliotrope.errors import HeliotropeError
from heliotrope.policies.learner import Estimation, Update

Learn = Callable[[Update], None]
"""Writes what was learned to the log of a study, and hands over what is due then."""


class ConsidersEstimates(Protocol):
    """What a study asks to estimate its models."""

    def consider(self, uid: str, due: Callable[[], Estimation | None], learn: Learn) -> None:
        """Begin the estimate that is due, unless one of this study is under way."""


_log = logging.getLogger(__name__)
_NICE = 10  # lower priority than that of the service
_WRITERS = 4  # threads that write what was learned
_LONGEST = 60.0  # seconds without an estimate after processes that ended
_POLL = 1.0  # seconds between two looks for the parent process


class Estimators:
    """Processes that estimate models, one estimate of a study at a time.

    With no ``processes`` nothing is estimated here: another process of the store does.
    """

    def __init__(self, processes: int = 1) -> None:
        self._processes = processes
        self._busy, self._lock = set[str](), Lock()
        self._pool: ProcessPoolExecutor | None = None  # starts at the first estimate
        self._failures, self._resume = 0, 0.0  # in a row, and when to start a process again
        self._writers = ThreadPoolExecutor(_WRITERS, "heliotrope-learned")

    def consider(self, uid: str, due: Callable[[], Estimation | None], learn: Learn) -> None:
        """Begin the estimate that is due, unless one of this study is under way."""
        with self._lock:
            if not self._processes or uid in self._busy or time.monotonic() < self._resume:
                return
            self._busy.add(uid)
        try:
            estimation = due()
            if estimation is None:
                self._end(uid)
                return
            future = self._started_pool().submit(Estimation.run_in_background, estimation)
            future.add_done_callback(lambda done: self._hand_on(uid, done, learn))
        except (BrokenProcessPool, RuntimeError) as error:  # it ended, or is shut down
            self._restart(uid, error)

    def close(self) -> None:
        """Stop; estimates under way are dropped."""
        with self._lock:
            self._processes, pool = 0, self._pool
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
        self._writers.shutdown(wait=True, cancel_futures=True)

    def is_idle(self) -> bool:
        """Whether no estimate is under way."""
        with self._lock:
            return not self._busy

    def _started_pool(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    self._processes, get_context("spawn"), _begin, (os.getpid(),)
                )
            return self._pool

    def _hand_on(self, uid: str, done: Future[Update], learn: Learn) -> None:
        try:
            self._writers.submit(self._write, uid, done, learn)
        except RuntimeError:  # closed
            self._end(uid)

    def _write(self, uid: str, done: Future[Update], learn: Learn) -> None:
        try:
            update = done.result()
        except BaseException as error:
            self._restart(uid, error)
            return
        self._failures = 0
        self._end(uid)
        try:
            learn(update)
        except HeliotropeError as error:  # such as a deleted study
            _log.info("an estimate was dropped: %s", error)
        except Exception:  # a thread can only log it
            _log.exception("an estimate was dropped")

    def _restart(self, uid: str, error: BaseException) -> None:
        """Note that an estimate failed; a pool that lost a process is replaced."""
        _log.warning("an estimate failed: %s", error)
        with self._lock:
            if isinstance(error, BrokenProcessPool):
                self._pool = None
                self._failures += 1
                pause = 0.0 if self._failures == 1 else min(2.0**self._failures, _LONGEST)
                self._resume = time.monotonic() + pause
        self._end(uid)

    def _end(self, uid: str) -> None:
        with self._lock:
            self._busy.discard(uid)


def _begin(parent: int) -> None:
    """Prepare a process: it gives way to others, and ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    os.nice(_NICE)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL)
        os._exit(0)

    Thread(target=watch, daemon=True).start()
