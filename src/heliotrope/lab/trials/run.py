"""Many seeded trials, in this process, in several, or on a cluster; each is kept when finished.

A trial sees one thread of BLAS wherever it runs, because the rounding of sums depends on their
number. So results are the same bit for bit, as far as processors and numpy's builds are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from heliotrope.errors import HeliotropeError, InputError
from heliotrope.lab.trials.checkpoints import Checkpoints, Result, as_result
from heliotrope.lab.trials.cluster import on_cluster
from heliotrope.lab.trials.processes import on_processes
from heliotrope.lab.trials.trial import Failure, Source, Trial, WorkerDiedError, here
from heliotrope.validation import as_whole

__all__ = ["Result", "Trial", "run_trials"]

_PATIENCE = 3  # deaths of workers in a row, with no trial finished between them


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
    """Results of trials 0 to ``count - 1``, in this order.

    Each is on disk as soon as it is finished. A run that was interrupted or killed, or is now
    asked for more trials, goes on from there. Runs may share a folder, even at the same time.

    Parameters
    ----------
    trial
        Gives named arrays for a trial's number, from which it also seeds itself. It depends on
        nothing else, and can be pickled.
    folder
        Where finished trials are kept; made if missing.
    settings
        Everything else that results depend on, as JSON can hold it; this package's version is
        added. Only results of equal settings are taken from the folder.
    jobs
        Processes of this machine: 1 is this one, -1 as many as there are cores.
    cluster
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, to run the trials there.
    tick
        Called with the number of finished trials: those found at the start, then after each.

    Raises
    ------
    HeliotropeError
        If workers keep dying, or a cluster cannot be used. What a trial raises itself comes
        through as it is. Finished trials stay.

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


def _source(trial: Trial, jobs: int, cluster: str | None) -> Source:
    if not callable(trial):
        raise InputError("a trial that can be called with a number", f"{trial!r:.60}")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0:
        raise InputError("jobs to be a number of processes, or -1 for all cores", repr(jobs))
    if cluster is None:
        return partial(here, trial) if jobs == 1 else partial(on_processes, trial, jobs)
    if not isinstance(cluster, str) or not cluster:  # Dask would start a cluster of its own
        raise InputError("cluster to be an address such as tcp://host:8786", repr(cluster))
    return partial(on_cluster, trial, cluster)


def _run(source: Source, numbers: Iterable[int], keep: Callable[[int, Result], None]) -> None:
    """Run these trials, again where a worker died, unless none gets finished any more."""
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
        "workers that live to finish a trial",
        f"{_PATIENCE} deaths in a row, with trial {min(missing)} and {len(missing) - 1} others "
        f"to go ({death})",
        "Did they run out of memory? Finished trials are kept: run again, with fewer jobs.",
    )
