"""Play a plain world through a surface; record what went wrong, the regret and the times."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from heliotrope.lab.plain.surfaces import Asked, Surface
from heliotrope.lab.plain.truth import Truth, chosen, nearby
from heliotrope.linalg import fallback_log

T = TypeVar("T")

_REOPENED, _LOOKED = 3, 10  # times saved and opened again, and times that the user looks
_PLACES, _CLOSE = 3, 0.02  # places that the user repeats; deviation of a cluster
_PAUSE, _NIGHT = 600.0, 30_000.0  # seconds between asks


@dataclass
class Record:
    """What happened while a world was played.

    Attributes
    ----------
    failures
        The step, the call and the error of each call that failed.
    warnings
        Warnings of Python and NumPy.
    fallbacks, messages
        Log messages of ``heliotrope.linalg``, and all others of the package from WARNING on.
    differences
        Asks to which the twin, saved and opened again, gave another answer.
    regrets
        For each point that was asked for: the step, the regret and that of random choices.
    seconds
        The duration of each call.
    """

    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    regrets: list[tuple[int, float, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def later_regret(self, steps: int) -> tuple[float, float]:
        """Mean regret of the second half, and that of random choices."""
        later = np.array([row[1:] for row in self.regrets if row[0] >= steps // 2])
        own, random = later.mean(axis=0) if len(later) else (np.nan, np.nan)
        return float(own), float(random)

    @property
    def slowest(self) -> float:
        """The slowest call over the median one."""
        return max(self.seconds) / float(np.median(self.seconds)) if self.seconds else np.nan


def play(truth: Truth, surface: Surface, steps: int = 150) -> Record:
    """Play a world for some steps through a new surface, which is closed at the end."""
    player = _Player(truth, surface, steps)
    with _watched(player.record):
        for step in range(steps):
            player.step(step)
        player.finish(steps)
    return player.record


class _Player:
    """One run: the surface, the open evaluations, and the record."""

    def __init__(self, truth: Truth, surface: Surface, steps: int) -> None:
        self.truth, self.surface, self.record = truth, surface, Record()
        self._rng = np.random.default_rng([truth.world.seed, 3])
        self._open: list[tuple[Asked, int, Any]] = []
        self._seconds, self._now = 0.0, 0
        halves = (int(steps * (i + 0.5) / _REOPENED / 2) for i in range(_REOPENED))
        self._reopens = {2 * half for half in halves}  # the user asks at even steps
        self._looks = {int(steps * (i + 0.8) / _LOOKED) for i in range(_LOOKED)}
        self._places = [chosen(truth.world.space, self._rng) for _ in range(_PLACES)]

    def step(self, step: int) -> None:
        """One step: the user adds a result of their own choice, or asks; then results arrive."""
        self._now = step
        self._seconds += _pause(self._rng, step)
        context = self.truth.context(step)
        if self.truth.world.chooser != "asked" and step % 2:
            self._add(step, context)
        else:
            self._ask(step, context, step in self._reopens)
        while len(self._open) >= self.truth.world.workers:
            self._close_one()
        if step in self._looks:
            self._look()

    def finish(self, steps: int) -> None:
        """Close all open evaluations, and look a last time."""
        self._now = steps
        while self._open:
            self._close_one()
        self._look()
        self.surface.close()

    def _ask(self, step: int, context: Any, reopens: bool) -> None:
        twin = self._call("save and open", self.surface.twin) if reopens else None
        asked = self._call("ask", lambda: self.surface.ask(self._seconds, context), timed=True)
        if twin is not None:
            other = self._call("ask (reopened)", lambda: twin.ask(self._seconds, context))
            if asked is not None and other is not None and asked.choice != other.choice:
                self.record.differences.append(f"step {step}: {asked.choice} or {other.choice}")
            following = self.surface.following(twin)
            asked = asked if following is self.surface else other
            self.surface = following
        if asked is None:
            return
        self._open.append((asked, step, context))
        self.record.regrets.append((step, *self.truth.regret(asked.choice, step, context)))

    def _add(self, step: int, context: Any) -> None:
        choice = self._chosen()
        told = self.truth.measure(choice, step, context, self._rng)
        self._call(
            "add", lambda: self.surface.add(choice, told, self._seconds, context), timed=True
        )

    def _chosen(self) -> Any:
        world, rng = self.truth.world, self._rng
        if world.chooser == "repeated":
            return self._places[int(rng.integers(_PLACES))]
        if world.chooser == "clustered":
            return nearby(world.space, self._places[0], _CLOSE, rng)
        return chosen(world.space, rng)

    def _close_one(self) -> None:
        """Tell or cancel a random open evaluation."""
        asked, step, context = self._open.pop(int(self._rng.integers(len(self._open))))
        told = self.truth.measure(asked.choice, step, context, self._rng)
        if self._rng.random() < self.truth.world.cancelled:
            self._call("cancel", lambda: self.surface.cancel(asked))
        else:
            self._call("tell", lambda: self.surface.tell(asked, told), timed=True)

    def _look(self) -> None:
        """Read what a user reads, which must be finite."""
        numbers = self._call("best, belief, summary", self.surface.numbers)
        if numbers is not None and not np.all(np.isfinite(numbers)):
            self.record.failures.append(f"step {self._now}, best, belief, summary: not finite")

    def _call(self, name: str, call: Callable[[], T], timed: bool = False) -> T | None:
        """The result of a call, or None if it failed."""
        started = perf_counter()
        try:
            return call()
        except Exception as error:
            words = " ".join(str(error).split())
            self.record.failures.append(
                f"step {self._now}, {name}: {type(error).__name__}: {words}"
            )
            return None
        finally:
            if timed:
                self.record.seconds.append(perf_counter() - started)


def _pause(rng: np.random.Generator, step: int) -> float:
    """Seconds between two asks, with a night now and then."""
    return float(rng.exponential(_PAUSE)) + 1.0 + (_NIGHT if step % 60 == 59 else 0.0)


class _Messages(logging.Handler):
    """Collects the log of this package."""

    def __init__(self, record: Record) -> None:
        super().__init__(logging.WARNING)
        self._record = record

    def emit(self, record: logging.LogRecord) -> None:
        of_fallbacks = record.name == fallback_log.name
        listed = self._record.fallbacks if of_fallbacks else self._record.messages
        listed.append(f"{record.name}: {record.getMessage()}")


@contextmanager
def _watched(record: Record) -> Iterator[None]:
    """Record warnings and the messages of the log."""
    handler, logger = _Messages(record), logging.getLogger("heliotrope")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        record.warnings += [
            f"{Path(warning.filename).name}:{warning.lineno}: {warning.category.__name__}: "
            f"{warning.message}"
            for warning in caught
        ]
    finally:
        logger.removeHandler(handler)
