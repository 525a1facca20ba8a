"""What tells that the function has changed, from how a told value differs from the expected.

Symbols
-------
n      values since the latest reset, this one among them
sigma  posterior deviation of f at the place        sigma_n^2  variance of the noise
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from math import log, pi, sqrt
from typing import Any, Protocol, runtime_checkable

from heliotrope.errors import InputError
from heliotrope.serialization.codec import register
from heliotrope.validation import as_number


@dataclass(frozen=True, slots=True)
class Surprise:
    """A told value seen from the belief before it."""

    residual: float
    deviation: float
    noise: float
    count: int

    @property
    def standardized(self) -> float:
        """The residual in units of its own deviation, noise included."""
        return self.residual / sqrt(self.deviation**2 + self.noise)


class Watch(Protocol):
    """A detector at work since the latest reset."""

    def changed(self, surprise: Surprise) -> bool:
        """Take the next surprise; say whether the function has changed."""


@runtime_checkable
class Detector(Protocol):
    """How a change is told.

    ``span`` is how many past surprises a watch depends on; a watch that has seen twice as many is
    replaced by one that saw the last ``span``, so that a saved one can be made again from them.
    """

    @property
    def span(self) -> int:
        """Number of surprises to keep."""

    def watch(self) -> Watch:
        """Return a watch that has seen nothing."""


@register
@dataclass(frozen=True)
class EventTrigger:
    """ET-GP-UCB's trigger (Brunzema et al. 2025): the value lies outside its confidence interval.

    |y - mu(x)| > sqrt(rho_n) sigma(x) + w_n, where rho_n = 2 ln(2 pi_n / delta),
    w_n^2 = 2 sigma_n^2 ln(2 pi_n / delta) and pi_n = pi^2 n^2 / 6: without any change, this
    happens with probability ``delta`` at most, ever.

    Examples
    --------
    >>> trigger = EventTrigger(delta=0.1)
    >>> [trigger.changed(Surprise(r, deviation=0.5, noise=0.01, count=3)) for r in (1.0, 3.0)]
    [False, True]
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", as_number(self.delta, "delta"))
        if not 0.0 < self.delta < 1.0:
            raise InputError("delta between 0 and 1", repr(self.delta))

    @property
    def span(self) -> int:
        """It depends on no surprise but the present one."""
        return 0

    def watch(self) -> Watch:
        """Return itself, which keeps nothing."""
        return self

    def changed(self, surprise: Surprise) -> bool:
        """Whether the value lies outside the interval."""
        rho = 2.0 * log(pi**2 * surprise.count**2 / (3.0 * self.delta))
        within = sqrt(rho) * (surprise.deviation + sqrt(surprise.noise))
        return abs(surprise.residual) > within


_RIVER = "river.drift"
_SPAN = 250


@register
@dataclass(frozen=True)
class River:
    """A drift detector of the river package, by its name, on the sizes of standardized surprises.

    A jump makes surprises large, of either sign; so detectors see their absolute values. One
    that draws random numbers (KSWIN) gets a seed. Needs the extra ``river``.

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
        self.watch()

    @property
    def span(self) -> int:
        """How many surprises it is made anew from."""
        return _SPAN

    def watch(self) -> Watch:
        """Return a fresh detector."""
        kind = _river_class(self.name)
        parameters = dict(self.parameters)
        if "seed" in signature(kind).parameters:
            parameters.setdefault("seed", 0)
        try:
            return _RiverWatch(kind(**parameters))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"parameters of river's {self.name}", repr(self.parameters), str(error)
            ) from None


class _RiverWatch:
    def __init__(self, detector: Any) -> None:
        self._detector = detector

    def changed(self, surprise: Surprise) -> bool:
        """Hand the surprise on."""
        self._detector.update(abs(surprise.standardized))
        return bool(self._detector.drift_detected)


def _river_class(name: str) -> Any:
    try:
        drift = import_module(_RIVER)
    except ImportError:
        raise InputError(
            "the package river, for its detectors", "none", "pip install 'heliotrope[river]'"
        ) from None
    kind = getattr(drift, name, None) if isinstance(name, str) else None
    if not (isinstance(kind, type) and hasattr(kind, "drift_detected")):
        raise InputError("the name of a detector of river.drift", repr(name), "Such as 'ADWIN'.")
    return kind
