"""Reset on change: discard the past when a detector reports that the function has changed."""

from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from functools import partial

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import InputError
from heliotrope.memory.detectors import ChangeMonitor, Detector, EventTrigger, Innovation
from heliotrope.memory.restarts import OneEpoch
from heliotrope.posterior import EngineOptions, build
from heliotrope.posterior.protocol import Accuracy, Engine, HasSurface, Surface
from heliotrope.posterior.spacetime import Records, SpaceTime
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State, part, register, under
from heliotrope.validation import Array


@register
@dataclass(frozen=True)
class ResetOnChange(OneEpoch):
    """Keep only the newest observation when a detector reports a change."""

    detector: Detector = field(default_factory=EventTrigger)

    def __post_init__(self) -> None:
        if isinstance(self.detector, type) or not isinstance(self.detector, Detector):
            raise InputError("a detector, such as EventTrigger()", repr(self.detector))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        make = partial(build, prior, domain, options)
        return ResetOnChangeEngine(prior, domain, make, self.detector)


class ResetOnChangeEngine:
    """The posterior given the observations since the latest reset and the one that caused it.

    A late result is compared with the posterior at the latest time. Evaluations that are open at
    a reset stay open, and count once their results arrive.
    """

    def __init__(
        self, prior: Prior, domain: Domain, build: Callable[[], Engine], detector: Detector
    ) -> None:
        self._noise, self._build, self._detector = prior.noise, build, detector
        self._open = Records(SpaceTime(prior, domain).no_places)
        self._now, self._count = -np.inf, 0  # observations since the reset
        self._before = 0.0  # log density of the observations before it
        self._engine, self._seen, self._monitor = build(), list[Innovation](), detector.monitor()

    @property
    def log_likelihood(self) -> float:
        return self._before + self._engine.log_likelihood

    def open(self, key: int, t: float, place: Places) -> None:
        self._engine.open(key, t, place)
        self._open.open(key, t, place)
        self._now = t

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        _, place = self._open.get(key)
        mean, variance = self._engine.predict(self._now, place, count_open=False)
        residual, deviation = y - float(mean[0]), float(np.sqrt(variance[0]))
        innovation = Innovation(residual, deviation, precision.noise(self._noise), self._count + 1)
        changed = self._changed(innovation)  # first, as a detector may raise
        self._engine.tell(key, y, precision)
        self._count += 1
        if changed:
            self._reset(key, y, precision)
        else:
            self._remember(innovation)
        self._open.close(key)

    def cancel(self, key: int) -> None:
        self._engine.cancel(key)
        self._open.close(key)

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        return self._engine.predict(t, places, count_open=count_open, part=part)

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        return self._engine.covariance(t, places, others, part=part)

    def surface(self, t: float) -> Surface:
        assert isinstance(self._engine, HasSurface)
        return self._engine.surface(t)

    def accuracy(self) -> Accuracy:
        return self._engine.accuracy()

    def state(self) -> State:
        seen = np.array([astuple(innovation) for innovation in self._seen]).reshape(-1, 4)
        own = {"scalars": np.array([self._now, self._count, self._before]), "seen": seen}
        parts = under("open/", self._open.state()) | under("engine/", self._engine.state())
        return own | parts

    def restore(self, state: State) -> None:
        self._now, count, self._before = state["scalars"].tolist()
        self._count = int(count)
        self._seen = [Innovation(r, s, noise, int(n)) for r, s, noise, n in state["seen"].tolist()]
        self._monitor = self._monitor_of(self._seen)
        self._open.restore(part(state, "open/"), self._noise)
        self._engine = self._build()
        self._engine.restore(part(state, "engine/"))

    def _changed(self, innovation: Innovation) -> bool:
        """Whether the innovation indicates a change; a monitor that fails is rebuilt without it."""
        try:
            return self._monitor.changed(innovation)
        except Exception:
            self._monitor = self._monitor_of(self._seen)
            raise

    def _remember(self, innovation: Innovation) -> None:
        """Keep the innovations that the monitor depends on, so that a file can hold them."""
        span = self._detector.span
        if not span:
            return
        self._seen.append(innovation)
        if len(self._seen) == 2 * span:
            self._seen = self._seen[span:]
            self._monitor = self._monitor_of(self._seen)

    def _monitor_of(self, seen: list[Innovation]) -> ChangeMonitor:
        monitor = self._detector.monitor()
        for innovation in seen:
            monitor.changed(innovation)
        return monitor

    def _reset(self, newest: int, y: float, precision: Precision) -> None:
        """Rebuild the engine from the newest observation and the open evaluations."""
        engine = self._build()
        for key in self._open.open_keys:
            engine.open(key, *self._open.get(key))
        engine.tell(newest, y, precision)
        self._before += self._engine.log_likelihood - engine.log_likelihood
        self._engine, self._count = engine, 0
        self._seen, self._monitor = [], self._detector.monitor()
