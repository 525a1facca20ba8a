"""Optimizers of other people: a command that is spoken to in lines of JSON.

The command is started once an episode. Each request is one line on its standard input, each reply
one line on its standard output, an object:

    {"begin": {"lower": [...], "upper": [...], "seed": 0}}     {}
    {"ask": 3.0}                                               {"x": [0.2, 0.7]}
    {"tell": [{"t": 3.0, "x": [0.2, 0.7], "y": 1.5}]}          {}

or {"error": "what went wrong"}. It is to maximize y. With "spent" in each reply, the seconds of
processor time that it has used so far, these are counted; otherwise those that one waited for it.
When the episode is over, the command and all that it has started are killed.
Over a Finite domain lower and upper are those of its points, what it asks for is moved to the
nearest point, and it is told that one.
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

_START = 60.0  # seconds on a clock for a command to load what it needs
_BUSY = 5.0  # seconds on a clock that one of processor time may take on a busy machine
_GONE = 10.0  # seconds for the last of a killed process to be read
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class CommandCompetitor:
    """A competitor that is a process of its own; it gets one thread, as the trials do."""

    name: str
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w.+-]*", self.name):  # it also names a folder
            raise InputError("a name of letters, digits, '.', '+', '-' and '_'", repr(self.name))

    def settings(self) -> Mapping[str, object]:
        """Everything that its play depends on: the command."""
        return {"command": [self.name, *self.words]}

    @contextmanager
    def player(self, domain: Domain, seed: int) -> Iterator[Speaking]:
        """A process that plays one episode; ended with it."""
        with tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                encoding="utf-8",
                errors="replace",  # so that what came can be shown
                env=os.environ | _ONE_THREAD,
                start_new_session=True,  # so that all it starts can be ended with it
            )
            lines = Lines(process, complaints)
            try:
                yield Speaking(lines, domain, seed)
            finally:
                lines.end()


class Lines:
    """Requests to a process and its replies."""

    def __init__(self, process: subprocess.Popen[str], complaints: Any) -> None:
        self._process, self._complaints = process, complaints
        self._replies: Queue[str] = Queue()
        self.spent = 0.0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def request(self, body: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Send a request; return its reply, or TimeoutError after these seconds on a clock."""
        assert self._process.stdin is not None
        started = time.monotonic()
        with suppress(BrokenPipeError):  # what it said before it ended tells more
            self._process.stdin.write(json.dumps(body) + "\n")
            self._process.stdin.flush()
        try:
            line = self._replies.get(timeout=max(seconds, 0.0))
        except Empty:
            raise TimeoutError from None
        if not line:
            raise HeliotropeError(
                "a process that goes on", f"one that ended ({self._last_words()})"
            )
        reply = _reply(line)
        self.spent = self._counted(reply, time.monotonic() - started)
        return reply

    def end(self) -> None:
        """End the process and all that it has started."""
        assert self._process.stdin is not None
        with suppress(ProcessLookupError, PermissionError):  # none is left; macOS says the latter
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with suppress(BrokenPipeError):  # what it did not read
            self._process.stdin.close()
        self._reader.join(_GONE)  # who left the group may hold the pipe, and is not waited for

    def _counted(self, reply: Mapping[str, Any], waited: float) -> float:
        """Seconds so far: as the process says, or with those that one waited."""
        spent = as_number(reply.get("spent", self.spent + waited), "spent")
        if spent < self.spent:
            raise FormatError(
                f"spent not to fall below {self.spent:.6g}",
                f"{spent:.6g}",
                "Say it in each reply, or in none.",
            )
        return spent

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as replies:
            for line in replies:
                self._replies.put(line)
        self._replies.put("")

    def _last_words(self) -> str:
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a word"


class Speaking:
    """A process as a player."""

    def __init__(self, lines: Lines, domain: Domain, seed: int) -> None:
        self._lines, self._domain = lines, domain
        lower, upper = _bounds(domain)
        self._width = np.where(upper > lower, upper - lower, 1.0)
        bounds = {"lower": lower.tolist(), "upper": upper.tolist(), "seed": seed}
        try:
            lines.request({"begin": bounds}, _START)
        except TimeoutError:
            raise HeliotropeError(
                "a command that begins", f"no reply within {_START:g} s"
            ) from None

    def ask(self, t: float, seconds: float) -> Place:
        """Choose a place."""
        reply = self._lines.request({"ask": t}, _BUSY * seconds)
        x = as_vector(reply.get("x", ()), "x", self._domain.dimension)
        if isinstance(self._domain, Finite):
            return _nearest(self._domain.points / self._width, x / self._width)
        return np.asarray(self._domain.places(x[None])[0])

    def tell(self, t: float, place: Place, y: float, seconds: float) -> None:
        """Pass on what was measured."""
        self.tell_many([(t, place, y)], seconds)

    def tell_many(self, results: Sequence[tuple[float, Place, float]], seconds: float) -> None:
        """Pass on several results at once."""
        told = [{"t": t, "x": self._point(place), "y": y} for t, place, y in results]
        self._lines.request({"tell": told}, _BUSY * seconds)

    def spent(self) -> float:
        """As it says itself."""
        return self._lines.spent

    def memory(self) -> float:
        """Nobody knows."""
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
