"""Other optimizers as competitors: a command that exchanges lines of JSON.

The command is started once per episode. Each request is a line on its standard input, each reply
a line on its standard output, both JSON objects:

    {"begin": {"lower": [...], "upper": [...], "seed": 0}}     {}
    {"ask": 3.0}                                               {"x": [0.2, 0.7]}
    {"tell": [{"t": 3.0, "x": [0.2, 0.7], "y": 1.5}]}          {}

A reply may be {"error": "message"}. The command maximizes y. If each reply has "spent", the
seconds of processor time used so far, these count; otherwise the waiting time counts. After the
episode the command and all its child processes are killed. Over a Finite domain lower and upper
are the bounds of its points; the x of a reply is moved to the nearest point, which is then told.
In a Box with lattices it is likewise moved onto them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any

import numpy as np

from heliotrope.domains import Domain, Finite
from heliotrope.errors import FormatError, HeliotropeError, InputError
from heliotrope.lab.environments import Place
from heliotrope.validation import Array, as_number, as_vector

_START = 60.0  # seconds of real time for a command to start
_BUSY = 5.0  # seconds of real time per second of processor time on a busy machine
_LAST_OUTPUT = 10.0  # seconds to read the last output of a killed process
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class CommandCompetitor:
    """A competitor that runs as a process; it gets one thread, as the trials do."""

    name: str
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w.+-]*", self.name):  # it is also a folder's name
            raise InputError("a name of letters, digits, '.', '+', '-' and '_'", repr(self.name))

    def settings(self) -> Mapping[str, object]:
        """Everything that its matches depend on: the command."""
        return {"command": [self.name, *self.words]}

    @contextmanager
    def player(self, domain: Domain, seed: int) -> Iterator[CommandPlayer]:
        """A process that plays one episode and ends with it."""
        with tempfile.TemporaryFile() as stderr:
            process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                encoding="utf-8",
                errors="replace",  # so that any output can be shown
                env=os.environ | _ONE_THREAD,
                start_new_session=True,  # so that its child processes end with it
            )
            running = CommandProcess(process, stderr)
            try:
                yield CommandPlayer(running, domain, seed)
            finally:
                running.end()


class CommandProcess:
    """Requests to a process and its replies."""

    def __init__(self, process: subprocess.Popen[str], stderr: Any) -> None:
        self._process, self._stderr = process, stderr
        self._replies: Queue[str] = Queue()
        self.spent = 0.0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def request(self, body: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Send a request and return the reply; raise TimeoutError after these seconds."""
        assert self._process.stdin is not None
        started = time.monotonic()
        with suppress(BrokenPipeError):  # its last output says more
            self._process.stdin.write(json.dumps(body) + "\n")
            self._process.stdin.flush()
        try:
            line = self._replies.get(timeout=max(seconds, 0.0))
        except Empty:
            raise TimeoutError from None
        if not line:
            raise HeliotropeError("a running process", f"one that ended ({self._last_error()})")
        reply = _reply(line)
        self.spent = self._counted(reply, time.monotonic() - started)
        return reply

    def end(self) -> None:
        """End the process and its child processes."""
        assert self._process.stdin is not None
        with suppress(ProcessLookupError, PermissionError):  # it has ended; macOS raises the latter
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with suppress(BrokenPipeError):  # it did not read everything
            self._process.stdin.close()
        self._reader.join(_LAST_OUTPUT)  # a process that left the group may still hold the pipe

    def _counted(self, reply: Mapping[str, Any], waited: float) -> float:
        """Seconds so far: as the process reports, or including the waiting time."""
        spent = as_number(reply.get("spent", self.spent + waited), "spent")
        if spent < self.spent:
            raise FormatError(
                f"spent not below {self.spent:.6g}",
                f"{spent:.6g}",
                "Report it in each reply, or in none.",
            )
        return spent

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as replies:
            for line in replies:
                self._replies.put(line)
        self._replies.put("")

    def _last_error(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a message"


class CommandPlayer:
    """A process as a player."""

    def __init__(self, process: CommandProcess, domain: Domain, seed: int) -> None:
        self._process, self._domain = process, domain
        lower, upper = _bounds(domain)
        self._width = np.where(upper > lower, upper - lower, 1.0)
        bounds = {"lower": lower.tolist(), "upper": upper.tolist(), "seed": seed}
        try:
            process.request({"begin": bounds}, _START)
        except TimeoutError:
            raise HeliotropeError(
                "a command that starts", f"no reply within {_START:g} s"
            ) from None

    def ask(self, t: float, seconds: float) -> Place:
        """Choose a place."""
        reply = self._process.request({"ask": t}, _BUSY * seconds)
        x = as_vector(reply.get("x", ()), "x", self._domain.dimension)
        if isinstance(self._domain, Finite):
            return _nearest(self._domain.points / self._width, x / self._width)
        return np.asarray(self._domain.snap(self._domain.places(x[None]))[0])

    def tell(self, t: float, place: Place, y: float, seconds: float) -> None:
        """Pass on a measured value."""
        self.tell_many([(t, place, y)], seconds)

    def tell_many(self, results: Sequence[tuple[float, Place, float]], seconds: float) -> None:
        """Pass on several results at once."""
        told = [{"t": t, "x": self._point(place), "y": y} for t, place, y in results]
        self._process.request({"tell": told}, _BUSY * seconds)

    def spent(self) -> float:
        """Seconds, as the process reports."""
        return self._process.spent

    def memory(self) -> float:
        """Unknown."""
        return float("nan")

    def _point(self, place: Place) -> list[float]:
        point = self._domain.points[place] if isinstance(self._domain, Finite) else place
        return list(np.asarray(point).tolist())


def _bounds(domain: Domain) -> tuple[Array, Array]:
    if isinstance(domain, Finite):
        return domain.points.min(axis=0), domain.points.max(axis=0)
    return domain.lower, domain.upper


def _nearest(points: Array, x: Array) -> int:
    return int(np.sum((points - x) ** 2, axis=1).argmin())


def _reply(line: str) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise FormatError("an object in a line of JSON", repr(line[:60]))
    if "error" in reply:
        raise HeliotropeError("a reply", str(reply["error"]))
    return reply
