"""Every bound beside what is measured: the work behind ``heliotrope bounds``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern
from threadpoolctl import threadpool_limits

from heliotrope.acquisition import LogBeta
from heliotrope.domains import Finite, grid
from heliotrope.errors import InputError
from heliotrope.lab.environments import FiniteEpisode, GPDrift, Step, play
from heliotrope.lab.theory.bounds import (
    Problem,
    RegretBound,
    r_bound,
    run_genie,
    tv_block_bound,
    tv_bound,
)
from heliotrope.lab.theory.constants import KernelConstants, tail
from heliotrope.lab.theory.gains import Gain, best_gain, gain_curve
from heliotrope.lab.theory.information import expect, standing_still
from heliotrope.lab.theory.rates import block_length
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy, gp_ucb, r_gp_ucb, tv_gp_ucb, uniform
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array, as_positive, as_whole

Tick = Callable[[], None]
"""Called once for each run of a policy."""

Player = Callable[[FiniteEpisode, int], Iterator[Step]]
"""Plays an episode with a seed."""

TV, R, RANDOM = "TV-GP-UCB", "R-GP-UCB", "a random point"
GENIE = "genie (knows f_{t-1}, from t = 2 on)"
PRACTICAL, THEOREM = "0.8 log(4 t)", "theorem"

_MOST_POINTS, _MOST_DIMENSIONS = 10_000, 20  # of a grid whose covariance matrix is formed


@dataclass(frozen=True)
class Setting:
    """A kernel and a problem over a grid of ``side`` points a coordinate, and what to simulate."""

    kernel: Kernel
    problem: Problem
    side: int
    trials: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("side", 1), ("trials", 1), ("seed", 0)):
            object.__setattr__(self, name, as_whole(getattr(self, name), name, least))
        d = expect(self.problem, Problem).dimension
        if d > _MOST_DIMENSIONS or self.side**d > _MOST_POINTS:
            raise InputError(
                f"a grid of at most {_MOST_POINTS} points in {_MOST_DIMENSIONS} dimensions",
                f"side^dimension = {self.side:g}^{d:g}",
                "Worlds are drawn from the covariance of all its points: take a smaller side.",
            )
        last_seed = self.seed + self.trials - 1
        Optimizer(self.domain, tv_gp_ucb(self.prior), last_seed)  # refuses what no player can use

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


def constants(
    kernel: Kernel, dimension: int, given: Mapping[str, float | None], r: float = 1.0
) -> KernelConstants:
    """Derive the kernel's constants over [0, r]^dimension, but for those that are given.

    A pair of which both are given is not derived, so that the kernel may be any.
    """
    known = {name: value for name, value in given.items() if value is not None}
    for order, names in enumerate((("a0", "b0"), ("a1", "b1"))):
        if not known.keys() >= set(names):
            derived = dict(zip(names, tail(order, kernel, dimension, r), strict=True))
            known = derived | known
    return KernelConstants(**known)


def theory(setting: Setting) -> Theory:
    """Compute beta, the information gains over the grid, and every bound of R_T."""
    problem, prior, domain = setting.problem, setting.prior, setting.domain
    T, N = problem.horizon, setting.block
    with threadpool_limits(1):
        curve = gain_curve(prior, domain, T)
        static = best_gain(standing_still(prior), domain, curve)
        drifting = best_gain(prior, domain, curve)
    bounds = (
        tv_bound(problem, drifting.upper),
        tv_block_bound(problem, curve.upper),
        r_bound(problem, N, float(curve.upper[N - 1])),
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
    return {key: partial(play, policy) for key, policy in policies.items()} | {
        (GENIE, ""): _informed
    }


def _informed(episode: FiniteEpisode, seed: int) -> Iterator[Step]:
    """The genie without its first step, at which it knows nothing yet."""
    return islice(run_genie(episode, seed), min(1, episode.horizon - 1), None)


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
    for player in who.values():
        averages.append(np.mean([step.regret for step in player(episode, seed)]))
        tick()
    return np.array(averages)
