"""Schedules of beta_t >= 0, the weight of the posterior deviation at time t.

t is the suggestion's time: 1, 2, 3, ... for the paper's steps, also across R-GP-UCB's restarts.
"""

from dataclasses import dataclass, field
from math import log, pi
from typing import ClassVar, Protocol, runtime_checkable

from heliotrope.errors import InputError
from heliotrope.serialization.codec import register
from heliotrope.validation import Checked, as_number, as_positive, as_share, as_whole, checked


@runtime_checkable
class Beta(Protocol):
    """A schedule of beta."""

    def __call__(self, t: float) -> float:
        """Return beta_t >= 0."""


@register
@dataclass(frozen=True)
class ConstantBeta:
    """The same beta at all times, for functions that keep changing."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_number(self.value, "beta"))
        if self.value < 0.0:
            raise InputError("beta of at least 0", repr(self.value))

    def __call__(self, t: float) -> float:
        return self.value


@register
@dataclass(frozen=True)
class LogBeta(Checked):
    """The paper's practical schedule, beta_t = c1 log(c2 t), clipped at 0.

    Examples
    --------
    >>> LogBeta(0.8, 4.0)(1)
    1.1090354888959124
    >>> LogBeta(0.8, 0.4)(2)
    0.0
    """

    c1: float = field(default=0.8, metadata=checked(as_positive))
    c2: float = field(default=4.0, metadata=checked(as_positive))

    def __call__(self, t: float) -> float:
        return self.c1 * log(self.c2 * t) if self.c2 * t > 1.0 else 0.0


@dataclass(frozen=True)
class _TheoremBeta(Checked):
    """beta_t for which ``_events`` events hold jointly with probability 1 - delta.

    With pi_t = pi^2 t^2 / 6 and rounds = events pi_t / delta: 2 log(rounds) + 2 d log(tau_t),
    tau_t = r d b t^2 sqrt(log(d a rounds)). tau_t is the number of discretization points per
    coordinate, so it is at least 1. Before the first step beta is 0.
    """

    delta: float = field(default=0.1, metadata=checked(as_share))
    dimension: int = field(default=1, metadata=checked(as_whole, least=1))
    r: float = field(default=1.0, metadata=checked(as_positive))
    a: float = field(default=1.0, metadata=checked(as_positive))
    b: float = field(default=1.0, metadata=checked(as_positive))
    _events: ClassVar[int]

    def __call__(self, t: float) -> float:
        """Return beta_t, computed in logarithms to avoid overflow."""
        if t <= 0.0:
            return 0.0
        d, steps = self.dimension, 2.0 * log(t)
        log_rounds = log(self._events * pi**2 / 6.0) - log(self.delta) + steps
        spread = log(d * self.a) + log_rounds
        log_tau = log(self.r * self.b * d) + steps + 0.5 * log(spread) if spread > 0.0 else 0.0
        return max(2.0 * log_rounds + 2.0 * d * max(log_tau, 0.0), 0.0)


@register
@dataclass(frozen=True)
class TVBeta(_TheoremBeta):
    """The schedule of Theorem thm:general (eq:beta_T), for which TV-GP-UCB's bound holds.

    Parameters
    ----------
    delta
        Probability with which the bound may fail.
    dimension, r
        The domain lies in [0, r]^dimension.
    a, b
        The constants of the kernel's derivatives (eq:k_deriv1).
    """

    _events: ClassVar[int] = 3


@register
@dataclass(frozen=True)
class RBeta(_TheoremBeta):
    """The schedule of Theorem thm:general_R (eq:beta_T_R), for R-GP-UCB; parameters as TVBeta."""

    _events: ClassVar[int] = 4


@register
@dataclass(frozen=True)
class FiniteBeta(Checked):
    """The schedule for a Finite domain (Srinivas et al. 2012): 2 log(points pi^2 t^2 / (6 delta)).

    The confidence intervals of all points at times 1, 2, 3, ... hold jointly with probability
    1 - delta. The kernel needs no constants.

    Examples
    --------
    >>> round(FiniteBeta(points=2500, delta=0.1)(1), 2)
    21.25
    """

    points: int = field(metadata=checked(as_whole, least=1))
    delta: float = field(default=0.1, metadata=checked(as_share))

    def __call__(self, t: float) -> float:
        if t <= 0.0:
            return 0.0
        log_rounds = log(pi**2 / 6.0) + 2.0 * log(t) - log(self.delta)
        return max(2.0 * (log(self.points) + log_rounds), 0.0)


def as_beta(beta: Beta | float) -> Beta:
    """Return a schedule; a number means a constant one."""
    if isinstance(beta, (ConstantBeta, LogBeta, Beta)):  # the protocol last, as its check is slow
        return beta
    return ConstantBeta(as_number(beta, "beta"))
