"""Detectors report that the function has changed, from how observations differ from predictions.

Symbols
-------
n      observations since the latest reset, this one included
sigma  posterior deviation of f at the place        sigma_n^2  variance of the noise
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from math import log, pi, sqrt
from typing import Any, ClassVar, Protocol, runtime_checkable

from heliotrope.errors import InputError, requires_extra
from heliotrope.serialization.codec import register
from heliotrope.validation import Checked, as_share, checked


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
