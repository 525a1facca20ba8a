"""The protocol of memories, and those that keep all, restart at times, or reset on change.

Reset on change: discard the past when a detector reports that the function has changed.
Detectors judge how observations differ from predictions.

Symbols
-------
n      observations since the latest reset, this one included
sigma  posterior deviation of f at the place        sigma_n^2  variance of the noise
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from importlib import import_module
from inspect import signature
from math import log, pi, sqrt
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import InputError, requires_extra
from heliotrope.posterior import Engine, EngineOptions, build
from heliotrope.posterior.protocol import Accuracy
from heliotrope.posterior.spacetime import Delegates, Records, SpaceTime
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State, register
from heliotrope.validation import Checked, as_positive, as_share, checked

_ROUNDING = 1e-9  # 1 + 3 * 0.1 begins a block, but floating point places it just before


@runtime_checkable
class Memory(Protocol):
    """Which observations count: those of the current epoch, as far as the engine keeps them."""

    def epoch(self, t: float) -> float:
        """Return the epoch of time t; epochs never decrease with time."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return an engine without data that applies this memory."""


class OneEpoch:
    """A memory whose engine does all the forgetting, so time has a single epoch."""

    def epoch(self, t: float) -> float:
        return 0.0


@register
@dataclass(frozen=True)
class KeepAll(OneEpoch):
    """Every observation counts forever."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return build(prior, domain, options)


@register
@dataclass(frozen=True)
class Restart(Checked):
    """Discard everything every ``every`` = N units of time: before steps 1, N + 1, 2 N + 1, ...

    Algorithm alg:R says "t mod N = 1", which never holds for N = 1; this rule covers N = 1 too.

    Examples
    --------
    >>> [Restart(2).epoch(t) for t in (1, 2, 3, 4, 5)]
    [0.0, 0.0, 1.0, 1.0, 2.0]
    """

    every: float = field(metadata=checked(as_positive))

    def epoch(self, t: float) -> float:
        return float(np.floor((t - 1.0) / self.every + _ROUNDING))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return build(prior, domain, options)


@dataclass(frozen=True, slots=True)
class Innovation:
    """How an observation differs from the prediction before it."""

    residual: float
    deviation: float
    noise: float
    count: int


class ChangeMonitor(Protocol):
    """A running detector, started at the latest reset."""

    def changed(self, innovation: Innovation) -> bool:
        """Take the next innovation; return whether the function has changed."""


@runtime_checkable
class Detector(Protocol):
    """How a change is detected.

    ``span`` is the number of past innovations that a monitor depends on. A monitor that has seen
    twice as many is replaced by one that saw the last ``span``, so a saved monitor can be rebuilt.
    """

    @property
    def span(self) -> int: ...

    def monitor(self) -> ChangeMonitor:
        """Return a monitor that has seen nothing."""


@register
@dataclass(frozen=True)
class EventTrigger(Checked):
    """ET-GP-UCB's trigger (Brunzema et al. 2025): a value outside its confidence interval.

    |y - mu(x)| > sqrt(rho_n) sigma(x) + w_n, where rho_n = 2 ln(2 pi_n / delta),
    w_n^2 = 2 sigma_n^2 ln(2 pi_n / delta) and pi_n = pi^2 n^2 / 6. Without a change, the
    probability that this ever happens is at most ``delta``.

    Examples
    --------
    >>> trigger = EventTrigger(delta=0.1)
    >>> [trigger.changed(Innovation(r, deviation=0.5, noise=0.01, count=3)) for r in (1.0, 3.0)]
    [False, True]
    """

    delta: float = field(default=0.1, metadata=checked(as_share))

    span: ClassVar[int] = 0  # it depends on the current innovation only

    def monitor(self) -> ChangeMonitor:
        return self

    def changed(self, innovation: Innovation) -> bool:
        rho = 2.0 * log(pi**2 * innovation.count**2 / (3.0 * self.delta))
        within = sqrt(rho) * (innovation.deviation + sqrt(innovation.noise))
        return abs(innovation.residual) > within


@register
@dataclass(frozen=True)
class River:
    """A drift detector of the river package, applied to absolute standardized innovations.

    A jump makes innovations large, of either sign. A detector that draws random numbers (KSWIN)
    gets a fixed seed. Needs the extra ``river``.

    Parameters
    ----------
    name
        A class of ``river.drift``: "ADWIN", "PageHinkley", "KSWIN", ...
    parameters
        Its parameters by name.

    Examples
    --------
    >>> River("PageHinkley", {"threshold": 20.0}).parameters
    (('threshold', 20.0),)
    """

    name: str
    parameters: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()

    def __post_init__(self) -> None:
        try:
            parameters = dict(self.parameters)
        except (TypeError, ValueError):
            raise InputError("parameters by name", repr(self.parameters)) from None
        object.__setattr__(self, "parameters", tuple(sorted(parameters.items())))
        self.monitor()

    span: ClassVar[int] = 250

    def monitor(self) -> ChangeMonitor:
        kind = _river_class(self.name)
        parameters = dict(self.parameters)
        if "seed" in signature(kind).parameters:
            parameters.setdefault("seed", 0)
        try:
            return _RiverMonitor(kind(**parameters))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"parameters of river's {self.name}", repr(self.parameters), str(error)
            ) from None


class _RiverMonitor:
    def __init__(self, detector: Any) -> None:
        self._detector = detector

    def changed(self, innovation: Innovation) -> bool:
        deviation = sqrt(innovation.deviation**2 + innovation.noise)
        self._detector.update(abs(innovation.residual / deviation))
        return bool(self._detector.drift_detected)


def _river_class(name: str) -> Any:
    with requires_extra("river"):
        drift = import_module("river.drift")
    kind = getattr(drift, name, None) if isinstance(name, str) else None
    if not (isinstance(kind, type) and hasattr(kind, "drift_detected")):
        raise InputError("a detector's name in river.drift", repr(name), "For example 'ADWIN'.")
    return kind


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


class ResetOnChangeEngine(Delegates):
    """The posterior given the observations since the latest reset and the one that caused it.

    A late result is compared with the posterior at the latest time. Evaluations that are open at
    a reset stay open, and count once their results arrive.
    """

    _stored = ("_now", "_count", "_before", "_open", "_engine")

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

    def _posterior(self, t: float) -> Engine:
        return self._engine

    def accuracy(self) -> Accuracy:
        return self._engine.accuracy()

    def state(self) -> State:
        seen = np.array([astuple(innovation) for innovation in self._seen]).reshape(-1, 4)
        return {"seen": seen} | super().state()

    def restore(self, state: State) -> None:
        super().restore(state)
        self._seen = [Innovation(r, s, noise, int(n)) for r, s, noise, n in state["seen"].tolist()]
        self._monitor = self._monitor_of(self._seen)

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
