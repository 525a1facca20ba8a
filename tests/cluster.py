"""Trials to be run in other processes, and these processes: runs, and a Dask cluster of them."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never

import numpy as np
import psutil
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from heliotrope.errors import InputError
from heliotrope.lab.trials import run_trials

HERE = str(Path(__file__).parent)
FATAL_RENAMING = "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
SETTINGS: dict[str, Any] = {"trial": "draws", "size": 40_000}


def draws(number: int) -> dict[str, NDArray[Any]]:
    """Sums whose rounding depends on the threads of BLAS, and how many of these there are."""
    x = np.random.default_rng(number).normal(size=SETTINGS["size"])
    threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {"square": np.asarray(x @ x), "draws": x[:5], "threads": np.unique(threads)}


def refuse(number: int, **_: object) -> Never:
    """Raise an exception that cannot be pickled."""
    raise InputError("a better number", str(number), "Take another.")


def open_nothing(number: int) -> Never:
    """Raise an exception with more than its arguments."""
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"/nowhere/{number}")


def die(_: int) -> dict[str, NDArray[Any]]:
    """End the process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


@dataclass(frozen=True)
class Gated:
    """A trial that reports where it runs; from number ``free`` on, it waits for the gate."""

    folder: Path
    free: int
    then: Callable[[int], Mapping[str, NDArray[Any]]] = draws

    def __call__(self, number: int) -> Mapping[str, NDArray[Any]]:
        (self.folder / f"{number}-{os.getpid()}").touch()
        if number < self.free:
            return draws(number)
        wait_for((self.folder / "open").exists)
        return self.then(number)

    def open(self) -> None:
        (self.folder / "open").touch()

    def waiting(self) -> list[tuple[int, int]]:
        """Numbers and processes of the trials that came to the gate."""
        started = [path.name.split("-") for path in self.folder.glob("*-*")]
        return [(int(number), int(pid)) for number, pid in started if int(number) >= self.free]

    def kill_one(self) -> int:
        """Kill a process in the middle of a trial, open the gate, and return the trial's number."""
        wait_for(self.waiting)
        number, pid = self.waiting()[0]
        os.kill(pid, signal.SIGKILL)
        self.open()
        return number


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return when a condition is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{condition} in {seconds} seconds")
        time.sleep(0.01)


def ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


# Processes


@contextmanager
def started(log: Path, *command: object, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that finds this module, in a separate session; killed at the end."""
    paths = (variables.pop("PYTHONPATH", ""), HERE, os.environ.get("PYTHONPATH"))
    path = os.pathsep.join(filter(None, paths))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={**os.environ, **variables, "PYTHONPATH": path},
            start_new_session=True,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def run(kept: str, gate: str, free: str, count: str, jobs: str) -> None:
    """Run trials as a command would that Ctrl-C reaches."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if our parent ignores it
    trial = Gated(Path(gate), int(free))
    run_trials(trial, int(count), folder=kept, settings=SETTINGS, jobs=int(jobs))


@contextmanager
def running(
    kept: Path, trial: Gated, count: int, *, jobs: int, first: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does something first and then runs trials."""
    code = (
        f"import os, pathlib, signal, sys, cluster; {first or 'pass'}; cluster.run(*sys.argv[1:])"
    )
    arguments = (kept, trial.folder, trial.free, count, jobs)
    with started(trial.folder / "log", "-c", code, *arguments) as process:
        yield process


@dataclass(frozen=True)
class Cluster:
    """A Dask scheduler, and workers to come."""

    folder: Path
    process: subprocess.Popen[bytes]
    address: str

    @contextmanager
    def worker(self, name: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
        """A worker that runs two trials at a time, and would give BLAS two threads."""
        options = ("--no-nanny", "--no-dashboard", "--nthreads", 2, "--death-timeout", 60)
        place = ("--name", name, "--local-directory", self.folder, "--host", "127.0.0.1")
        command = ("-m", "dask", "worker", self.address, *options, *place)
        variables = {"OPENBLAS_NUM_THREADS": "2", **variables}
        with started(self.folder / f"{name}.log", *command, **variables) as process:
            yield process


@contextmanager
def scheduler(folder: Path, **variables: str) -> Iterator[Cluster]:
    """A Dask scheduler on a free port of this machine."""
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file)
    command = ("-m", "dask", "scheduler", *options)
    with started(folder / "scheduler.log", *command, **variables) as process:
        wait_for(lambda: address_in(file))
        yield Cluster(folder, process, address_in(file))


@contextmanager
def cluster_of_two(folder: Path, **variables: str) -> Iterator[Cluster]:
    """A scheduler and two workers."""
    with scheduler(folder, **variables) as found, found.worker("one"), found.worker("two"):
        yield found


def address_in(file: Path) -> str:
    """The address, or nothing as long as the file is not all written."""
    with suppress(FileNotFoundError, json.JSONDecodeError):
        return str(json.loads(file.read_text())["address"])
    return ""
