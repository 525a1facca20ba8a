"""Run seeded trials in this process, in several, or on a cluster; save each when it finishes.

Every trial runs on one thread of BLAS, because the number of threads changes the rounding of sums.
On equal processors and builds of numpy the results are therefore equal bit for bit.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from heliotrope.errors import HeliotropeError, InputError
from heliotrope.lab.trials.checkpoints import Checkpoints, Result, as_result
from heliotrope.lab.trials.cluster import on_cluster
from heliotrope.lab.trials.processes import on_processes
from heliotrope.lab.trials.trial import (
    Failure,
    Trial,
    TrialRunner,
    WorkerDiedError,
    in_this_process,
)
from heliotrope.validation import as_whole

__all__ = ["Result", "Trial", "run_trials"]

_PATIENCE = 3  # consecutive deaths of workers without a finished trial


def run_trials(
    trial: Trial,
    count: int,
    *,
    folder: str | os.PathLike[str],
    settings: Mapping[str, Any],
    jobs: int = -1,
    cluster: str | None = None,
    tick: Callable[[int], object] | None = None,
) -> list[Result]:
    """Return the results of trials 0 to ``count - 1``, in this order.

    Each result is saved as soon as its trial finishes. A run that was interrupted, or that now
    needs more trials, continues from there. Concurrent runs may share a folder.

    Parameters
    ----------
    trial
        Maps a trial's number to named arrays. It must depend on nothing else and be picklable.
    folder
        Folder of the saved trials; created if missing.
    settings
        Everything else that results depend on, as JSON values; the package's version is added.
        Only results with equal settings are reused.
    jobs
        Number of processes; 1 is the current process, -1 one per core.
    cluster
        Address of a Dask scheduler that runs the trials, such as ``"tcp://host:8786"``.
    tick
        Called with the number of finished trials, at the start and after each trial.

    Raises
    ------
    HeliotropeError
        If workers keep dying or the cluster is unusable. A trial's own exception is raised
        unchanged. Finished trials stay saved.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> def trial(number):
    ...     return {"draws": np.random.default_rng(number).integers(10, size=2)}
    >>> with TemporaryDirectory() as folder:
    ...     run_trials(trial, 2, folder=folder, settings={"draws": 2}, jobs=1)
    [{'draws': array([8, 6])}, {'draws': array([4, 5])}]
    """
    source = _source(trial, jobs, cluster)
    numbers = range(as_whole(count, "count", least=0))
    kept = Checkpoints(folder, settings)
    results = {n: found for n in numbers if (found := kept.read(n)) is not None}
    report = tick or (lambda _: None)
    report(len(results))

    def keep(number: int, result: Result) -> None:
        kept.write(number, result)
        results[number] = result
        report(len(results))

    _run(source, (n for n in numbers if n not in results), keep)
    return [results[n] for n in numbers]


def _source(trial: Trial, jobs: int, cluster: str | None) -> TrialRunner:
    if not callable(trial):
        raise InputError("a trial, callable with a number", f"{trial!r:.60}")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0:
        raise InputError("jobs to be a number of processes, or -1 for all cores", repr(jobs))
    if cluster is None:
        return partial(in_this_process, trial) if jobs == 1 else partial(on_processes, trial, jobs)
    if not isinstance(cluster, str) or not cluster:  # Dask would start its own cluster
        raise InputError("cluster to be an address such as tcp://host:8786", repr(cluster))
    return partial(on_cluster, trial, cluster)


def _run(source: TrialRunner, numbers: Iterable[int], keep: Callable[[int, Result], None]) -> None:
    """Run these trials, and retry those whose worker died, up to ``_PATIENCE`` times."""
    missing = set(numbers)
    deaths = 0
    while missing:
        try:
            with closing(source(sorted(missing))) as outcomes:
                for number, outcome in outcomes:
                    if isinstance(outcome, Failure):
                        raise outcome.rebuilt()
                    keep(number, as_result(outcome, number))
                    missing.remove(number)
                    deaths = 0
        except WorkerDiedError as death:
            deaths += 1
            if deaths == _PATIENCE:
                raise _given_up(missing, death) from death


def _given_up(missing: set[int], death: WorkerDiedError) -> HeliotropeError:
    return HeliotropeError(
        "workers that survive a trial",
        f"{_PATIENCE} deaths in a row, with trial {min(missing)} and {len(missing) - 1} others "
        f"unfinished ({death})",
        "Check the memory. Finished trials are saved: run again with fewer jobs.",
    )
