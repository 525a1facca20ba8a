"""Every bound beside what is measured: the work behind ``heliotrope bounds``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern
from threadpoolctl import threadpool_limits

from heliotrope.arrays import Array, as_positive, as_whole
from heliotrope.choosing import LogBeta
from heliotrope.domains import Finite, grid
from heliotrope.environments import Episode, GPDrift, Step, run
from heliotrope.errors import InputError
from heliotrope.policies import Policy, gp_ucb, r_gp_ucb, tv_gp_ucb, uniform
from heliotrope.priors import Forgetting, Prior
from heliotrope.theory.bounds import Problem, RegretBound, r_bound, tv_block_bound, tv_bound
from heliotrope.theory.constants import KernelConstants, kernel_constants
from heliotrope.theory.gains import Gain, gain_curve, max_information_gain
from heliotrope.theory.genie import run_genie
from heliotrope.theory.information import standing_still
from heliotrope.theory.rates import block_length

Tick = Callable[[], None]
"""Called once for each run of a policy."""

Player = Callable[[Episode, int], Iterator[Step]]
"""Plays an episode with a seed."""

TV, R, GENIE, RANDOM = "TV-GP-UCB", "R-GP-UCB", "genie (knows f_{t-1})", "a random point"
PRACTICAL, THEOREM = "0.8 log(4 t)", "theorem"


@dataclass(frozen=True)
class Setting:
    """A kernel and a problem over a grid of ``side`` points a coordinate, and what to simulate."""

    kernel: Kernel
    problem: Problem
    side: int
    trials: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        as_whole(self.side, "points a coordinate", least=1)
        as_whole(self.trials, "trials", least=1)
        as_whole(self.seed, "seed", least=0)

    @cached_property
    def domain(self) -> Finite:
        """The grid, in the cube of the problem."""
        return grid(*[self.side] * self.problem.dimension, upper=self.problem.r)

    @cached_property
    def prior(self) -> Prior:
        """The drifting prior."""
        return Prior(self.kernel, Forgetting(self.problem.epsilon), self.problem.noise)

    @property
    def block(self) -> int:
        """N that the paper suggests for R-GP-UCB."""
        problem = self.problem
        return block_length(problem.epsilon, problem.horizon, self.kernel, problem.dimension)


@dataclass(frozen=True)
class Theory:
    """The numbers of the theorems in one setting."""

    tv_beta: float
    r_beta: float
    static_gain: Gain
    drifting_gain: Gain
    bounds: tuple[RegretBound, RegretBound, RegretBound]


@dataclass(frozen=True)
class Measured:
    """Average regret a step of one player: mean over the trials, and its standard error."""

    player: str
    beta: str
    mean: float
    error: float


def named_kernel(name: str, length: float, nu: float) -> Kernel:
    """Return the SE ("se") or Matern ("matern") kernel of variance 1."""
    length = as_positive(length, "length")
    if name == "se":
        return RBF(length)
    if name == "matern":
        return Matern(length, nu=as_positive(nu, "nu"))
    raise InputError("se or matern as kernel", repr(name))


def constants(kernel: Kernel, dimension: int, given: Mapping[str, float | None]) -> KernelConstants:
    """Derive the kernel's constants, but for those that are given."""
    derived = kernel_constants(kernel, dimension)
    return replace(derived, **{name: a for name, a in given.items() if a is not None})


def theory(setting: Setting) -> Theory:
    """Compute beta, the information gains over the grid, and every bound of R_T."""
    problem, prior, domain = setting.problem, setting.prior, setting.domain
    T, N = problem.horizon, setting.block
    with threadpool_limits(1):
        static = max_information_gain(standing_still(prior), domain, T)
        drifting = max_information_gain(prior, domain, T)
        gains = gain_curve(prior, domain, T).upper
    bounds = (
        tv_bound(problem, drifting.upper),
        tv_block_bound(problem, gains),
        r_bound(problem, N, float(gains[N - 1])),
    )
    return Theory(problem.tv_schedule()(T), problem.r_schedule()(T), static, drifting, bounds)


def players(setting: Setting) -> Mapping[tuple[str, str], Player]:
    """Return who is measured, by name and kind of beta; R-GP-UCB restarts as suggested."""
    prior, every, practical = setting.prior, setting.block, LogBeta(0.8, 4.0)
    problem = setting.problem
    policies: dict[tuple[str, str], Policy] = {
        (TV, THEOREM): tv_gp_ucb(prior, problem.tv_schedule()),
        (R, THEOREM): r_gp_ucb(prior, every, problem.r_schedule()),
        (TV, PRACTICAL): tv_gp_ucb(prior, practical),
        (R, PRACTICAL): r_gp_ucb(prior, every, practical),
        ("GP-UCB", PRACTICAL): gp_ucb(prior, practical),
        (RANDOM, ""): uniform(),
    }
    return {key: partial(run, policy) for key, policy in policies.items()} | {
        (GENIE, ""): run_genie
    }


def simulate(setting: Setting, tick: Tick) -> list[Measured]:
    """Let all players face the same worlds; ticks once a world and player."""
    who = players(setting)
    with threadpool_limits(1):  # a step is too short to share out
        world = GPDrift(setting.domain, setting.prior)
        averages = np.array(
            [_trial(world, setting, trial, who, tick) for trial in range(setting.trials)]
        )
    lone = setting.trials == 1
    errors = np.full(len(who), np.nan) if lone else averages.std(axis=0, ddof=1)
    errors /= np.sqrt(setting.trials)
    return [
        Measured(*key, float(mean), float(error))
        for key, mean, error in zip(who, averages.mean(axis=0), errors, strict=True)
    ]


def verdict(setting: Setting, numbers: Theory, measured: list[Measured]) -> str:
    """Say in one sentence how loose the theory is here."""
    bound = min(numbers.bounds[:2], key=lambda bound: bound.corrected)
    a_step = bound.corrected / setting.problem.horizon
    mean = {(m.player, m.beta): m.mean for m in measured}
    cautious, practical, blind = mean[TV, THEOREM], mean[TV, PRACTICAL], mean[RANDOM, ""]
    worth = "no more" if a_step >= blind else "more"
    return (
        f"The tightest bound that holds for TV-GP-UCB, {a_step:.3g} a step ({bound.equation}), is "
        f"{_times(a_step, cautious)} what it lost with the theorem's beta ({cautious:.3g}) and "
        f"{_times(a_step, practical)} what it lost with the practical one ({practical:.3g}), while "
        f"the genie lost {mean[GENIE, '']:.2g}; it promises {worth} than points drawn at random "
        f"achieve ({blind:.3g})."
    )


def _times(bound: float, lost: float) -> str:
    return f"{bound / lost:.3g} times" if lost > 0.0 else "above"


def _trial(
    world: GPDrift, setting: Setting, trial: int, who: Mapping[tuple[str, str], Player], tick: Tick
) -> Array:
    """Average regret of each player in one world."""
    seed = setting.seed + trial
    episode = world.episode(setting.problem.horizon, seed)
    averages = []
    for play in who.values():
        averages.append(np.mean([step.regret for step in play(episode, seed)]))
        tick()
    return np.array(averages)
