"""Trials in several processes of this machine, with joblib."""

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
    """Run trials in ``jobs`` processes, or in one per core for -1."""
    from joblib import Parallel, delayed  # slow to load

    pool = Parallel(
        jobs,
        backend="loky",
        return_as="generator_unordered",
        batch_size=1,  # a finished trial must not wait for the rest of a batch
        max_nbytes=None,  # otherwise large arrays arrive as read-only files
    )
    work = delayed(_attempt_for)
    outcomes: Generator[Outcome] | None = None
    try:
        outcomes = pool(work(os.getpid(), trial, number) for number in numbers)
        for outcome in outcomes:  # noqa: UP028 - "yield from" would close them itself
            yield outcome
    except BrokenProcessPool as error:
        raise WorkerDiedError(str(error)) from error
    except PicklingError as error:
        raise InputError(
            "a picklable trial with picklable results",
            "one that is not",
            "Remove open files, locks and generators from it.",
        ) from error
    finally:
        _end(outcomes)


def _end(outcomes: Generator[Outcome] | None) -> None:
    """End the processes of an unfinished run without joblib's warning."""
    if outcomes is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.close()


def _attempt_for(parent: int, trial: Trial, number: int) -> Outcome:
    if os.getppid() == parent:  # false where joblib stays in one process
        _end_with(parent)
    return attempt(trial, number)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent, even if the parent was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
