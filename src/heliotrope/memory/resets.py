"""An engine that begins anew when a detector tells that the function has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.memory.detectors import Detector, Surprise, Watch
from heliotrope.posterior.protocol import Engine, Surface, Surfaced
from heliotrope.posterior.records import Records
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Prior
from heliotrope.serialization.state import State, part, under
from heliotrope.validation import Array


class ResettingEngine:
    """The engine of the values since the latest reset, and of the one that caused it.

    A value that comes late is judged by the belief about the latest time. Evaluations that are
    open at a reset stay open, and count when they are told.
    """

    def __init__(
        self, prior: Prior, domain: Domain, build: Callable[[], Engine], detector: Detector
    ) -> None:
        self._noise, self._build, self._detector = prior.noise, build, detector
        self._open = Records(SpaceTime(prior, domain).no_places)
        self._now, self._count = -np.inf, 0  # values since the reset
        self._before = 0.0  # log density of what was told until then
        self._engine, self._seen, self._watch = build(), list[Surprise](), detector.watch()

    @property
    def log_likelihood(self) -> float:
        """Log density of all that was told, each value by the engine that it met."""
        return self._before + self._engine.log_likelihood

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation."""
        self._engine.open(key, t, place)
        self._open.open(key, t, place)
        self._now = t

    def tell(self, key: int, y: float) -> None:
        """Condition on a value, and begin anew with it if it tells of a change."""
        _, place = self._open.get(key)
        surprise = self._surprise(place, y)
        changed = self._judged(surprise)  # first, as a detector may refuse
        self._engine.tell(key, y)
        self._count += 1
        if changed:
            self._reset(key, y)
        else:
            self._see(surprise)
        self._open.close(key)

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        self._engine.cancel(key)
        self._open.close(key)

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean and variance of f_t at places."""
        return self._engine.predict(t, places, count_open=count_open)

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance of f_t at places."""
        return self._engine.covariance(t, places)

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions over a Box."""
        assert isinstance(self._engine, Surfaced)
        return self._engine.surface(t)

    def state(self) -> State:
        """Everything that is known, as arrays."""
        return (
            {
                "scalars": np.array([self._now, self._count, self._before]),
                "seen": np.array([astuple(surprise) for surprise in self._seen]).reshape(-1, 4),
            }
            | under("open/", self._open.state())
            | under("engine/", self._engine.state())
        )

    def restore(self, state: State) -> None:
        """Become the engine whose :meth:`state` this was."""
        self._now, count, self._before = state["scalars"].tolist()
        self._count = int(count)
        self._seen = [Surprise(r, s, noise, int(n)) for r, s, noise, n in state["seen"].tolist()]
        self._watch = self._watching(self._seen)
        self._open.restore(part(state, "open/"))
        self._engine = self._build()
        self._engine.restore(part(state, "engine/"))

    def _surprise(self, place: Places, y: float) -> Surprise:
        mean, variance = self._engine.predict(self._now, place, count_open=False)
        deviation = float(np.sqrt(variance[0]))
        return Surprise(y - float(mean[0]), deviation, self._noise, self._count + 1)

    def _judged(self, surprise: Surprise) -> bool:
        """Whether it tells of a change; a watch that fails has not seen it."""
        try:
            return self._watch.changed(surprise)
        except Exception:
            self._watch = self._watching(self._seen)
            raise

    def _see(self, surprise: Surprise) -> None:
        """Keep what the watch depends on, and no more than a file can hold."""
        span = self._detector.span
        if not span:
            return
        self._seen.append(surprise)
        if len(self._seen) == 2 * span:
            self._seen = self._seen[span:]
            self._watch = self._watching(self._seen)

    def _watching(self, seen: list[Surprise]) -> Watch:
        watch = self._detector.watch()
        for surprise in seen:
            watch.changed(surprise)
        return watch

    def _reset(self, newest: int, y: float) -> None:
        """Begin anew with the newest value, and the evaluations that are still open."""
        engine = self._build()
        for key in self._open.open_keys:
            engine.open(key, *self._open.get(key))
        engine.tell(newest, y)
        self._before += self._engine.log_likelihood - engine.log_likelihood
        self._engine, self._count = engine, 0
        self._seen, self._watch = [], self._detector.watch()
