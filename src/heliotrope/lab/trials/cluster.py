"""Trials on a Dask cluster; each result returns to this machine when it finishes."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from heliotrope.errors import HeliotropeError, requires_extra
from heliotrope.lab.trials.trial import Outcome, Trial, WorkerDiedError, attempt

if TYPE_CHECKING:  # an optional package
    from distributed import Client, Future

_LIMITING = Lock()
_SCHEDULER_WAIT = 5  # seconds for a response
_WORKER_WAIT = 60  # seconds without any worker
_PACKAGES = ("heliotrope", "numpy", "scipy")  # packages that determine the results
_SAVED = "Finished trials are saved: run again to continue."


def on_cluster(trial: Trial, address: str, numbers: Sequence[int]) -> Generator[Outcome]:
    """Run trials on the workers of the scheduler at this address.

    Dask retries a trial whose worker died, and gives up after a few deaths.
    """
    with _connected(address) as client:
        _wait_for_a_worker(client)
        _check_versions(client)
        try:
            yield from _outcomes(client, trial, numbers)
        except HeliotropeError:
            raise
        except Exception as error:  # never a trial's own exception: that is an outcome
            raise _translated(error) from error


def _outcomes(client: Client, trial: Trial, numbers: Sequence[int]) -> Generator[Outcome]:
    futures = client.map(partial(_attempt_in_worker, trial), numbers, pure=False)
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
        except Empty:  # a long trial, or no worker left
            _wait_for_a_worker(client)


def _attempt_in_worker(trial: Trial, number: int) -> Outcome:
    """Run a trial in a worker whose other threads may run trials at the same time.

    The limit of BLAS threads is never lifted: the first trial to end would lift it for all. The
    lock prevents a trial from starting before the limit is set.
    """
    import scipy.linalg  # noqa: F401 - the limit applies to loaded libraries only

    with _LIMITING:
        threadpool_limits(1)
    return attempt(trial, number)


def _connected(address: str) -> Client:
    with requires_extra("cluster"):
        from distributed import Client
    try:
        with ThreadPoolExecutor(1) as apart:  # this thread may already run an event loop
            apart.submit(asyncio.run, _greet(address)).result()
        return Client(address, timeout=_SCHEDULER_WAIT, set_as_default=False)
    except Exception as error:  # other servers make Dask raise anything, such as MemoryError
        reason = str(error) if isinstance(error, (OSError, ValueError)) else ""
        raise HeliotropeError(
            f"a Dask scheduler at {address}",
            f"none ({reason or 'the response is not that of a scheduler'})",
            "Check that it runs and that this machine can reach it.",
        ) from error


async def _greet(address: str) -> None:
    """Check that a scheduler responds; a client would wait for it without a limit."""
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
            "a cluster with workers", f"none within {_WORKER_WAIT} seconds", _SAVED
        ) from error


def _check_versions(client: Client) -> None:
    found = client.get_versions(packages=_PACKAGES)
    for place, there in {"the scheduler": found["scheduler"], **found["workers"]}.items():
        for package in _PACKAGES:
            here, other = (machine["packages"][package] for machine in (found["client"], there))
            if here != other:
                raise HeliotropeError(
                    f"{package} {here} on the whole cluster, as here",
                    f"{other or 'none'} on {place}",
                    "Different versions may give different results.",
                )


def _translated(error: Exception) -> Exception:
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return WorkerDiedError(str(error))
    reason = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")
    return HeliotropeError("a cluster that runs trials", reason, _SAVED)
