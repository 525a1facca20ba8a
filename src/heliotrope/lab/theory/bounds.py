"""Regret bounds of Theorems thm:general (TV-GP-UCB) and thm:general_R (R-GP-UCB).

Each is given as printed and as corrected; docs/theory.md derives the difference. They hold with
probability 1 - delta for a kernel with k(x, x) <= 1 and beta_t of the theorem.

Symbols
-------
T        horizon                        N, N~    length of a block
gamma_N  maximum information gain; pass an upper bound of it, else the result bounds nothing
C_1      8 / log(1 + sigma^-2)          psi_T    what mismatch costs R-GP-UCB a step
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.acquisition import RBeta, TVBeta
from heliotrope.errors import InputError
from heliotrope.lab.environments import FiniteEpisode, Step
from heliotrope.lab.theory.constants import KernelConstants
from heliotrope.lab.theory.information import Corrected, drift_added, expect, information
from heliotrope.priors import Forgetting
from heliotrope.validation import Array, as_number, as_positive, as_vector, as_whole


@dataclass(frozen=True)
class Problem:
    """What the theorems speak of: T steps over [0, r]^dimension, and the kernel's constants."""

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
    """A bound of R_T by one equation of the paper, with the length of block that each form uses.

    ``printed`` is what the paper says and ``corrected`` what holds; where the two agree, nothing
    was wrong. A length of None says that the bound needs no blocks.
    """

    equation: str
    printed: float
    corrected: float
    printed_block: int | None = None
    corrected_block: int | None = None


def tv_bound(problem: Problem, gain: float) -> RegretBound:
    """sqrt(C_1 T beta_T gamma~_T) + 2 (eq:general_bound), in which nothing is wrong."""
    schedule = expect(problem, Problem).tv_schedule()
    bound = float(_from_gain(problem, schedule, _as_gain(gain)))
    return RegretBound("eq:general_bound", bound, bound)


def tv_block_bound(problem: Problem, gains: ArrayLike) -> RegretBound:
    """eq:weakened2 at the N~ that makes it least; ``gains`` holds gamma_N for N = 1 .. T.

    sqrt(C_1 T beta_T (T / N~ + 1) (gamma_N~ + drift)) + 2, the drift being N~^3 epsilon as
    printed and (N~ / 2) log(1 + N~^{3/2} epsilon / (sqrt(6) sigma^2)) as corrected.
    """
    T = expect(problem, Problem).horizon
    gamma = as_vector(gains, "gains")
    if gamma.shape != (T,) or gamma.min() < 0.0:
        raise InputError(f"{T} gains of at least 0, one a length of block", f"shape {gamma.shape}")
    N = np.arange(1.0, T + 1.0)
    (printed, n_printed), (corrected, n_corrected) = (
        _least(_from_gain(problem, problem.tv_schedule(), (T / N + 1.0) * (gamma + drift)))
        for drift in drift_added(N, problem.epsilon, problem.noise)
    )
    return RegretBound("eq:weakened2", printed, corrected, n_printed, n_corrected)


def r_bound(problem: Problem, every: int, gain: float) -> RegretBound:
    """R-GP-UCB with blocks of N = ``every`` steps; ``gain`` is gamma_N (eq:general_bound_R).

    sqrt(C_1 T beta_T (T / N + 1) gamma_N) + 2 + T psi_T(N, epsilon).
    """
    cost, N, T = psi(problem, every), as_whole(every, "every", least=1), problem.horizon
    base = float(_from_gain(problem, problem.r_schedule(), (T / N + 1.0) * _as_gain(gain)))
    return RegretBound(
        "eq:general_bound_R", base + T * cost.printed, base + T * cost.corrected, N, N
    )


def psi(problem: Problem, every: int) -> Corrected:
    """psi_T(N, epsilon) of thm:general_R; the printed one lacks a factor 2 (eq:R_rt_5).

    With B = (3 sigma^-2 + sigma^-4) N^3 epsilon (lem:Deltas, in whose place its proof has the
    square root of B) and the measurements bounded by L~ (eq:R_assump3), whose noise the paper
    takes for standard normal: 2 stands for sqrt(2) sigma, which is larger if sigma^2 > 2.
    """
    T, s = expect(problem, Problem).horizon, problem.noise
    grown = float(as_whole(every, "every", least=1)) ** 3 * problem.epsilon
    deviation = sqrt(grown) * sqrt(problem.r_schedule()(T) * (3.0 * s + 1.0)) / s
    a0, b0 = problem.constants.a0, problem.constants.b0
    log_rounds = log(2.0 * (1.0 + a0) * pi**2 / 3.0) + 2.0 * log(T) - log(problem.delta)
    mean = (s + 1.0) * (grown / s / s) * sqrt(log_rounds)  # s^2 may underflow
    noise = max(2.0, sqrt(2.0 * s))
    return Corrected(deviation + mean * (2.0 + b0), 2.0 * (deviation + mean * (noise + b0)))


def run_genie(episode: FiniteEpisode, seed: int = 0) -> Iterator[Step]:
    """Play an episode as one who sees all of f_{t-1}, without noise, before choosing x_t.

    This is no policy: it reads the world itself, never a measurement, so that it can only be run
    where the world was drawn. Given f_{t-1} the past says nothing more, and f_t(x) has the mean
    sqrt(1 - epsilon) f_{t-1}(x) under a constant prior mean; so the maximizer of f_{t-1} is the
    best choice there is, and its regret, of the order of epsilon a step, is the floor. At t = 1
    nothing is known and any point is as good: one is drawn by the seed.
    """
    rng = np.random.default_rng(as_whole(seed, "seed", least=0))
    index = int(rng.integers(len(expect(episode, FiniteEpisode).domain)))
    for t, values in zip(episode.times.tolist(), episode.values, strict=True):
        yield episode.step(t, index)
        index = int(values.argmax())


def _from_gain(problem: Problem, schedule: TVBeta | RBeta, gain: float | Array) -> Array:
    """sqrt(C_1 T beta_T gain) + 2 (eq:gb6_3), in two roots of which neither overflows."""
    T = problem.horizon
    return np.asarray(np.sqrt(problem.c1 * T) * np.sqrt(schedule(T) * gain) + 2.0)


def _least(bounds: Array) -> tuple[float, int]:
    best = int(bounds.argmin())
    return float(bounds[best]), best + 1


def _as_gain(gain: float) -> float:
    number = as_number(gain, "gain")
    if number < 0.0:
        raise InputError("a gain of at least 0", repr(gain))
    return number
