"""Trials on a Dask cluster; results come back to this machine as they are finished."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from heliotrope.errors import HeliotropeError, InputError
from heliotrope.lab.trials.trial import Outcome, Trial, WorkerDiedError, attempt

if TYPE_CHECKING:  # an optional package
    from distributed import Client, Future

_LIMITING = Lock()
_SCHEDULER_WAIT = 5  # seconds for an answer
_WORKER_WAIT = 60  # seconds with no worker at all
_ALIKE = ("heliotrope", "numpy", "scipy")  # packages that make the results
_KEPT = "Finished trials are kept: run again to go on."


def on_cluster(trial: Trial, address: str, numbers: Sequence[int]) -> Generator[Outcome]:
    """Run trials on the workers of the scheduler at this address.

    Dask itself runs a trial again whose worker died, and gives up when that happens often.
    """
    with _connected(address) as client:
        _wait_for_a_worker(client)
        _check_versions(client)
        try:
            yield from _outcomes(client, trial, numbers)
        except HeliotropeError:
            raise
        except Exception as error:  # none of a trial's own: these are outcomes
            raise _translated(error) from error


def _outcomes(client: Client, trial: Trial, numbers: Sequence[int]) -> Generator[Outcome]:
    futures = client.map(partial(_attempt_for_good, trial), numbers, pure=False)
    done: SimpleQueue[Future] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    for _ in futures:
        future = _next(done, client)
        yield future.result()
        future.release()


def _next(done: SimpleQueue[Future], client: Client) -> Future:
    while True:
        try:
            return done.get(timeout=_WORKER_WAIT)
        except Empty:  # a long trial, or nobody left to run it
            _wait_for_a_worker(client)


def _attempt_for_good(trial: Trial, number: int) -> Outcome:
    """Run a trial in a worker whose threads may run others at the same time.

    The first of them to end would give BLAS its threads back, were these not limited for good;
    the lock lets none start before they are.
    """
    import scipy.linalg  # noqa: F401 - only what is loaded can be limited

    with _LIMITING:
        threadpool_limits(1)
    return attempt(trial, number)


def _connected(address: str) -> Client:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise InputError(
            "the package distributed, to use a cluster",
            "an installation without it",
            "Install heliotrope[cluster].",
        ) from error
    try:
        with ThreadPoolExecutor(1) as apart:  # this thread may have an event loop already
            apart.submit(asyncio.run, _greet(address)).result()
        return Client(address, timeout=_SCHEDULER_WAIT, set_as_default=False)
    except Exception as error:  # strangers' answers make Dask raise anything, such as MemoryError
        reason = str(error) if isinstance(error, (OSError, ValueError)) else ""
        raise HeliotropeError(
            f"a Dask scheduler at {address}",
            f"none ({reason or 'it does not answer like one'})",
            "Does it run, and can this machine reach it?",
        ) from error


async def _greet(address: str) -> None:
    """Shake hands with a scheduler, for whose hand a client would wait for ever."""
    from distributed import Security, connect

    safely = Security().get_connection_args("client")
    reached = connect(address, timeout=_SCHEDULER_WAIT, **safely)
    comm = await asyncio.wait_for(reached, _SCHEDULER_WAIT + 1)
    await comm.close()


def _wait_for_a_worker(client: Client) -> None:
    try:
        client.wait_for_workers(1, timeout=_WORKER_WAIT)
    except TimeoutError as error:
        raise HeliotropeError(
            "a cluster with workers", f"none within {_WORKER_WAIT} seconds", _KEPT
        ) from error


def _check_versions(client: Client) -> None:
    found = client.get_versions(packages=_ALIKE)
    for place, there in {"the scheduler": found["scheduler"], **found["workers"]}.items():
        for package in _ALIKE:
            here, other = (machine["packages"][package] for machine in (found["client"], there))
            if here != other:
                raise HeliotropeError(
                    f"{package} {here} on the whole cluster, as here",
                    f"{other or 'none'} on {place}",
                    "Other versions may have other results.",
                )


def _translated(error: Exception) -> Exception:
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return WorkerDiedError(str(error))
    reason = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")
    return HeliotropeError("a cluster that runs trials", reason, _KEPT)
