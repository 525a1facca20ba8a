"""What is remembered: which past evaluations count at time t."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.memory.change_points import RunLengthEngine
from heliotrope.memory.detectors import Detector, EventTrigger
from heliotrope.memory.regression import RegressionEngine, Store
from heliotrope.memory.resets import ResettingEngine
from heliotrope.memory.stores import Fading, Newest
from heliotrope.memory.wasserstein import Relevant
from heliotrope.posterior import Engine, EngineOptions, build
from heliotrope.posterior.options import check_noise
from heliotrope.priors import Forgetting, Prior
from heliotrope.serialization.codec import register
from heliotrope.validation import as_number, as_positive, as_whole

_ROUNDING = 1e-9  # 1 + 3 * 0.1 is the beginning of a block, though floats put it just before


@runtime_checkable
class Memory(Protocol):
    """What counts: evaluations of one's own epoch of time, as far as the engine remembers them."""

    def epoch(self, t: float) -> float:
        """Return the epoch of time t, never less than an earlier time's."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return an engine without data that remembers so."""


class _OneEpoch:
    """A memory whose engine does all the forgetting."""

    def epoch(self, t: float) -> float:
        """Return the only epoch."""
        return 0.0


@register
@dataclass(frozen=True)
class KeepAll(_OneEpoch):
    """Everything counts for ever."""

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the engine that forgets nothing but by the prior."""
        return build(prior, domain, options)


@register
@dataclass(frozen=True)
class Restart:
    """Begin anew every so many units of time: before steps 1, N + 1, 2 N + 1, ...

    Algorithm alg:R's "t mod N = 1" never holds for N = 1; this is what it means.

    Examples
    --------
    >>> [Restart(2).epoch(t) for t in (1, 2, 3, 4, 5)]
    [0.0, 0.0, 1.0, 1.0, 2.0]
    """

    every: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", as_positive(self.every, "every"))

    def epoch(self, t: float) -> float:
        """Return the number of restarts before time t."""
        return float(np.floor((t - 1.0) / self.every + _ROUNDING))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the engine of one epoch."""
        return build(prior, domain, options)


@register
@dataclass(frozen=True)
class Window(_OneEpoch):
    """Only the last ``length`` values count, by the times of their evaluations."""

    length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", as_whole(self.length, "length", least=1))

    @classmethod
    def of_variation(cls, horizon: int, variation: float, gain: float = 1.0) -> Window:
        """The window of Zhou and Shroff (2021): W = gamma_T^(1/4) sqrt(T / B_T), at most T.

        ``variation`` is the budget B_T, the sum over the steps of how far the function moves in
        the norm of the kernel's space, and ``gain`` is the maximum information gain gamma_T.

        Examples
        --------
        >>> Window.of_variation(horizon=1000, variation=10.0, gain=16.0)
        Window(length=20)
        """
        T = as_whole(horizon, "horizon", least=1)
        B, gamma = as_positive(variation, "variation"), as_positive(gain, "gain")
        return cls(int(np.ceil(min(gamma**0.25 * np.sqrt(T / B), T))))

    @classmethod
    def of_drift(cls, horizon: int, epsilon: float, gain: float = 1.0) -> Window:
        """The same where f is a GP that forgets, for which B_T = T sqrt(2 (1 - rho)).

        So far does f move at a point in T steps, as a root mean square: about T sqrt(epsilon).
        The window is (gamma_T / epsilon)^(1/4) then, of the order of R-GP-UCB's blocks, whose
        factor 12 for SE is a gain of 12^4.

        Examples
        --------
        >>> Window.of_drift(horizon=1000, epsilon=0.01, gain=12**4)
        Window(length=38)
        """
        step = float(np.sqrt(2.0 * (1.0 - Forgetting(epsilon).rho)))
        T = as_whole(horizon, "horizon", least=1)
        return cls.of_variation(T, T * step, gain) if step else cls(T)

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the regression on the newest values."""
        return _regression(prior, domain, options, Newest(prior, domain, self.length))


@register
@dataclass(frozen=True)
class Weights(_OneEpoch):
    """A value of time s weighs ``rate``^(t - s) at time t (Deng et al. 2022).

    Its noise variance is sigma^2 over the weight for the mean, and over the weight's square for
    the width. Over a Finite domain under a Static prior the values of a point are merged, so a
    step costs no more than the number of points asks for. In a Box values of a weight below 1e-4
    go, which are that share of all: log(1e-4) / log(rate) of them are kept, with a rate of 1 all.
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", as_number(self.rate, "rate"))
        if not 0.0 < self.rate <= 1.0:
            raise InputError("a rate above 0 and at most 1", repr(self.rate))

    @property
    def grows(self) -> bool:
        """Whether what is kept grows with every result, unless a Finite domain lets it merge."""
        return self.rate == 1.0

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the regression on fading values."""
        return _regression(prior, domain, options, Fading(prior, domain, self.rate))


@register
@dataclass(frozen=True)
class Wasserstein(_OneEpoch):
    """Values go that the future posterior would miss least: W-DBO (Bardou et al. 2024).

    Parameters
    ----------
    alpha
        By what share the budget for removals grows in the time in which the function is
        forgotten, -1 / log(rho).
    most
        Values that are kept at most, whatever the budget: a step costs O(most^3).
    """

    alpha: float = 0.25
    most: int = 200

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", as_positive(self.alpha, "alpha"))
        object.__setattr__(self, "most", as_whole(self.most, "most", least=2))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the regression on the relevant values."""
        return _regression(prior, domain, options, Relevant(prior, domain, self.alpha, self.most))


@register
@dataclass(frozen=True)
class ResetOnChange(_OneEpoch):
    """Begin anew, with the newest value alone, when a detector tells of a change."""

    detector: Detector = field(default_factory=EventTrigger)

    def __post_init__(self) -> None:
        if isinstance(self.detector, type) or not isinstance(self.detector, Detector):
            raise InputError("a detector, such as EventTrigger()", repr(self.detector))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the engine of one run between changes, which is renewed."""
        return ResettingEngine(prior, domain, lambda: build(prior, domain, options), self.detector)


@register
@dataclass(frozen=True)
class ChangePoints(_OneEpoch):
    """The function may jump: all times of the latest jump are tracked side by side.

    Bayesian online change-point detection (Adams and MacKay 2007). Between jumps the prior's own
    drift goes on.

    Parameters
    ----------
    hazard
        Probability of a jump in one unit of time.
    most
        Times of the latest jump that are tracked; the likeliest are, and the newest.
    """

    hazard: float = 0.01
    most: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "hazard", as_number(self.hazard, "hazard"))
        if not 0.0 < self.hazard < 1.0:
            raise InputError("a hazard between 0 and 1", repr(self.hazard))
        object.__setattr__(self, "most", as_whole(self.most, "most", least=2))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        """Return the mixture of engines, one a time of the latest jump."""
        return RunLengthEngine(lambda: build(prior, domain, options), self.hazard, self.most)


def _regression(
    prior: Prior, domain: Domain, options: EngineOptions | None, store: Store
) -> Engine:
    if options is not None:
        raise InputError("no engine named: this memory brings its own", repr(options))
    check_noise(prior, domain)
    return RegressionEngine(prior, domain, store)
