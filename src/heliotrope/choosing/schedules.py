"""How much weight the deviation gets at time t: beta_t, never negative.

t is the time of the suggestion itself, which for the paper's steps is 1, 2, 3, ..., and goes on
through the restarts of R-GP-UCB.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import Protocol, runtime_checkable

from heliotrope.arrays import as_number, as_positive, as_whole
from heliotrope.codec import register
from heliotrope.errors import InputError


@runtime_checkable
class Beta(Protocol):
    """A schedule of beta."""

    def __call__(self, t: float) -> float:
        """Return beta_t >= 0."""


@register
@dataclass(frozen=True)
class ConstantBeta:
    """The same beta at all times: what a world that never settles calls for."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_number(self.value, "beta"))
        if self.value < 0.0:
            raise InputError("beta of at least 0", repr(self.value))

    def __call__(self, t: float) -> float:
        """Return beta_t."""
        return self.value


@register
@dataclass(frozen=True)
class LogBeta:
    """The paper's practical schedule, beta_t = c1 log(c2 t), clipped at 0.

    Examples
    --------
    >>> LogBeta(0.8, 4.0)(1)
    1.1090354888959124
    >>> LogBeta(0.8, 0.4)(2)
    0.0
    """

    c1: float = 0.8
    c2: float = 4.0

    def __post_init__(self) -> None:
        for name in ("c1", "c2"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))

    def __call__(self, t: float) -> float:
        """Return beta_t."""
        return self.c1 * log(self.c2 * t) if self.c2 * t > 1.0 else 0.0


@register
@dataclass(frozen=True)
class TVBeta:
    """The schedule of Theorem thm:general (eq:beta_T), under which TV-GP-UCB's bound holds.

    Parameters
    ----------
    delta
        Probability with which the bound may fail.
    dimension, r
        The domain lies in [0, r]^dimension.
    a, b
        The constants of the kernel's derivatives (eq:k_deriv1).
    """

    delta: float = 0.1
    dimension: int = 1
    r: float = 1.0
    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        _normalize_constants(self)

    def __call__(self, t: float) -> float:
        """Return beta_t."""
        rounds = pi**2 / (2.0 * self.delta)  # 3 pi_t / delta, over t^2
        return _theorem(rounds, t, self.dimension, self.r * self.b, self.a)


@register
@dataclass(frozen=True)
class RBeta:
    """The schedule of Theorem thm:general_R (eq:beta_T_R), for R-GP-UCB; parameters as TVBeta's."""

    delta: float = 0.1
    dimension: int = 1
    r: float = 1.0
    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        _normalize_constants(self)

    def __call__(self, t: float) -> float:
        """Return beta_t."""
        rounds = 2.0 * pi**2 / (3.0 * self.delta)  # 4 pi_t / delta, over t^2
        return _theorem(rounds, t, self.dimension, self.r * self.b, self.a)


def as_beta(beta: Beta | float) -> Beta:
    """Return a schedule; a number is a constant one."""
    if isinstance(beta, Beta):
        return beta
    return ConstantBeta(as_number(beta, "beta"))


def _theorem(rounds: float, t: float, d: int, rb: float, a: float) -> float:
    """2 log(rounds t^2) + 2 d log(tau_t), tau_t = r d b t^2 sqrt(log(d a rounds t^2)).

    tau_t is the number of discretization points a coordinate, so it is at least 1, and before
    the first step there is nothing to bound. All in logarithms, which cannot overflow.
    """
    if t <= 0.0:
        return 0.0
    log_rounds = log(rounds) + 2.0 * log(t)
    deviation = log(d * a) + log_rounds
    log_tau = log(rb * d) + 2.0 * log(t) + 0.5 * log(deviation) if deviation > 0.0 else 0.0
    return max(2.0 * log_rounds + 2.0 * d * max(log_tau, 0.0), 0.0)


def _normalize_constants(schedule: TVBeta | RBeta) -> None:
    if not 0.0 < as_number(schedule.delta, "delta") < 1.0:
        raise InputError("delta between 0 and 1", repr(schedule.delta))
    object.__setattr__(schedule, "dimension", as_whole(schedule.dimension, "dimension", least=1))
    for name in ("delta", "r", "a", "b"):
        object.__setattr__(schedule, name, as_positive(getattr(schedule, name), name))
