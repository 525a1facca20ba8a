"""Trials in several processes of this machine, by joblib."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pickle import PicklingError

from heliotrope.errors import InputError
from heliotrope.lab.trials.trial import Outcome, Trial, WorkerDiedError, attempt


def on_processes(trial: Trial, jobs: int, numbers: Sequence[int]) -> Generator[Outcome]:
    """Run trials in ``jobs`` processes, or in as many as there are cores for -1."""
    from joblib import Parallel, delayed  # slow to load

    pool = Parallel(
        jobs,
        backend="loky",
        return_as="generator_unordered",
        batch_size=1,  # or a finished trial would wait for the rest of its batch
        max_nbytes=None,  # or large arrays would come as files, which cannot be written to
    )
    work = delayed(_attempt_for)
    outcomes: Generator[Outcome] | None = None
    try:
        outcomes = pool(work(os.getpid(), trial, number) for number in numbers)
        for outcome in outcomes:  # noqa: UP028 - "yield from" would close them by itself
            yield outcome
    except BrokenProcessPool as error:
        raise WorkerDiedError(str(error)) from error
    except PicklingError as error:
        raise InputError(
            "a trial and results that can be pickled",
            "one that cannot",
            "Let it hold no open files, locks or generators.",
        ) from error
    finally:
        _end(outcomes)


def _end(outcomes: Generator[Outcome] | None) -> None:
    """End the processes of an unfinished run, without joblib's warning that it is unfinished."""
    if outcomes is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.close()


def _attempt_for(parent: int, trial: Trial, number: int) -> Outcome:
    if os.getppid() == parent:  # not so where joblib can but stay in the one process
        _end_with(parent)
    return attempt(trial, number)


@cache
def _end_with(parent: int) -> None:
    """Let this process end soon after the one that it works for, even if that was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
