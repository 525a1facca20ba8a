"""Regret bounds of Theorems thm:general (TV-GP-UCB) and thm:general_R (R-GP-UCB).

Each bound has a printed and a corrected form, and eq:weakened2 our tight one; theory.md has
the proofs. They hold with probability 1 - delta for k(x, x) <= 1 and the theorem's beta_t.

Symbols
-------
T        horizon                        N, N~    length of a block
gamma_N  maximum information gain; pass an upper bound of it
C_1      8 / log(1 + sigma^-2)          psi_T    cost of the mismatch per step of R-GP-UCB
"""

from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.acquisition import FiniteBeta, RBeta, TVBeta
from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.theory.constants import KernelConstants
from heliotrope.lab.theory.gains import max_information_gain
from heliotrope.lab.theory.information import (
    Corrected,
    drift_added,
    expect,
    information,
    without_drift,
)
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array, as_number, as_positive, as_vector, as_whole


@dataclass(frozen=True)
class Assumptions:
    """The theorems' assumptions: T steps over [0, r]^dimension, and the kernel's constants."""

    horizon: int
    epsilon: float
    noise: float
    constants: KernelConstants
    dimension: int = 1
    delta: float = 0.1
    r: float = 1.0

    def __post_init__(self) -> None:
        expect(self.constants, KernelConstants)
        schedule = self.tv_schedule()
        checked = {
            "horizon": as_whole(self.horizon, "horizon", least=1),
            "epsilon": Forgetting(self.epsilon).epsilon,
            "noise": as_positive(self.noise, "noise"),
            "dimension": schedule.dimension,
            "delta": schedule.delta,
            "r": schedule.r,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def c1(self) -> float:
        """C_1 = 8 / log(1 + sigma^-2)."""
        return 4.0 / float(information(1.0, self.noise))

    def tv_schedule(self) -> TVBeta:
        """beta_t of thm:general (eq:beta_T)."""
        return TVBeta(*self._scope)

    def r_schedule(self) -> RBeta:
        """beta_t of thm:general_R (eq:beta_T_R)."""
        return RBeta(*self._scope)

    @property
    def _scope(self) -> tuple[float, int, float, float, float]:
        return self.delta, self.dimension, self.r, self.constants.a1, self.constants.b1


@dataclass(frozen=True)
class RegretBound:
    """A bound of R_T by one equation of the paper, with the block length that each form uses.

    ``printed`` is the paper's bound and ``corrected`` the one that holds; they are equal where the
    paper is right. ``tight`` is our smaller bound, if there is one. A block length of None means
    that the bound has no blocks.
    """

    equation: str
    printed: float
    corrected: float
    printed_block: int | None = None
    corrected_block: int | None = None
    tight: float | None = None
    tight_block: int | None = None

    @property
    def valid(self) -> float:
        """The smallest form that holds."""
        return self.corrected if self.tight is None else min(self.corrected, self.tight)


def tv_bound(assumptions: Assumptions, gain: float) -> RegretBound:
    """sqrt(C_1 T beta_T gamma~_T) + 2 (eq:general_bound), correct as printed.

    It holds for every stationary time kernel and for sums of stationary terms too, with the gain of
    :func:`~heliotrope.lab.theory.max_information_gain`, if their variances sum to at most 1.
    """
    schedule = expect(assumptions, Assumptions).tv_schedule()
    bound = float(_from_gain(assumptions, schedule, _as_gain(gain)))
    return RegretBound("eq:general_bound", bound, bound)


def tv_block_bound(assumptions: Assumptions, gains: ArrayLike) -> RegretBound:
    """eq:weakened2 at the N~ that minimizes it; ``gains`` holds gamma_N for N = 1 .. T.

    sqrt(C_1 T beta_T (T / N~ + 1) (gamma_N~ + drift)) + 2, with the three forms of drift of
    :func:`~heliotrope.lab.theory.drift_information`. The tight form has ceil(T / N~) blocks.
    """
    T = expect(assumptions, Assumptions).horizon
    gamma = as_vector(gains, "gains")
    if gamma.shape != (T,) or gamma.min() < 0.0:
        raise InputError(f"{T} gains of at least 0, one per block length", f"shape {gamma.shape}")
    N = np.arange(1.0, T + 1.0)
    counts = T / N + 1.0, T / N + 1.0, np.ceil(T / N)
    (printed, n_printed), (corrected, n_corrected), (tight, n_tight) = (
        _least(_from_gain(assumptions, assumptions.tv_schedule(), blocks * (gamma + drift)))
        for blocks, drift in zip(
            counts, drift_added(T, assumptions.epsilon, assumptions.noise), strict=True
        )
    )
    return RegretBound("eq:weakened2", printed, corrected, n_printed, n_corrected, tight, n_tight)


def r_bound(assumptions: Assumptions, every: int, gain: float) -> RegretBound:
    """R-GP-UCB with blocks of N = ``every`` steps; ``gain`` is gamma_N (eq:general_bound_R).

    sqrt(C_1 T beta_T (T / N + 1) gamma_N) + 2 + T psi_T(N, epsilon).
    """
    cost, N, T = psi(assumptions, every), as_whole(every, "every", least=1), assumptions.horizon
    base = float(_from_gain(assumptions, assumptions.r_schedule(), (T / N + 1.0) * _as_gain(gain)))
    return RegretBound(
        "eq:general_bound_R", base + T * cost.printed, base + T * cost.corrected, N, N
    )


def psi(assumptions: Assumptions, every: int) -> Corrected:
    """psi_T(N, epsilon) of thm:general_R; the printed one lacks a factor 2 (eq:R_rt_5).

    B = (3 sigma^-2 + sigma^-4) N^3 epsilon (lem:Deltas; its proof has sqrt(B) instead), and L~
    bounds the measurements (eq:R_assump3). The paper assumes standard normal noise: it
    has 2 instead of sqrt(2) sigma, which is larger if sigma^2 > 2.
    """
    T, s = expect(assumptions, Assumptions).horizon, assumptions.noise
    grown = float(as_whole(every, "every", least=1)) ** 3 * assumptions.epsilon
    deviation = sqrt(grown) * sqrt(assumptions.r_schedule()(T) * (3.0 * s + 1.0)) / s
    a0, b0 = assumptions.constants.a0, assumptions.constants.b0
    log_rounds = log(2.0 * (1.0 + a0) * pi**2 / 3.0) + 2.0 * log(T) - log(assumptions.delta)
    mean = (s + 1.0) * (grown / s / s) * sqrt(log_rounds)  # s^2 may underflow
    noise = max(2.0, sqrt(2.0 * s))
    return Corrected(deviation + mean * (2.0 + b0), 2.0 * (deviation + mean * (noise + b0)))


def finite_bound(prior: Prior, domain: Finite, horizon: int, delta: float = 0.1) -> float:
    """Bound R_T of UCB with :class:`~heliotrope.acquisition.FiniteBeta` over a Finite domain.

    sqrt(C T beta_T gamma~_T) with C = 8 v / log(1 + v / sigma^2), where v is the largest variance
    of f. The prior may be any sum of stationary terms; it needs no constants. The policy must know
    the prior: tv_gp_ucb(prior, FiniteBeta(len(domain), delta)).
    """
    gain = max_information_gain(prior, domain, horizon).upper
    variances = [
        kernel.diagonal(domain.indices) for kernel in without_drift(prior).kernels_over(domain)
    ]
    v, beta = float(np.sum(variances, axis=0).max()), FiniteBeta(len(domain), delta)(horizon)
    return sqrt(4.0 * v / float(information(v, prior.noise)) * horizon) * sqrt(beta * gain)


def _from_gain(assumptions: Assumptions, schedule: TVBeta | RBeta, gain: float | Array) -> Array:
    """sqrt(C_1 T beta_T gain) + 2 (eq:gb6_3), as two roots to avoid overflow."""
    T = assumptions.horizon
    return np.asarray(np.sqrt(assumptions.c1 * T) * np.sqrt(schedule(T) * gain) + 2.0)


def _least(bounds: Array) -> tuple[float, int]:
    best = int(bounds.argmin())
    return float(bounds[best]), best + 1


def _as_gain(gain: float) -> float:
    number = as_number(gain, "gain")
    if number < 0.0:
        raise InputError("a gain of at least 0", repr(gain))
    return number
