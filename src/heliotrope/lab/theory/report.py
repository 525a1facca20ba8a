"""Bounds and measured regret, for ``heliotrope bounds``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np
from threadpoolctl import threadpool_limits

from heliotrope.acquisition import LogBeta
from heliotrope.domains import Finite, grid
from heliotrope.errors import InputError
from heliotrope.kernels import RBF, SMOOTHNESSES, Matern, SpaceKernel, is_kernel
from heliotrope.lab.environments import FiniteEpisode, GPDrift, Step, play
from heliotrope.lab.theory.bounds import (
    Assumptions,
    RegretBound,
    psi,
    r_bound,
    tv_block_bound,
    tv_bound,
)
from heliotrope.lab.theory.constants import KernelConstants, second_tail, tail
from heliotrope.lab.theory.gains import Gain, best_gain, gain_curve
from heliotrope.lab.theory.genie import genie_bound, run_genie
from heliotrope.lab.theory.information import (
    Corrected,
    DriftInformation,
    drift_information,
    expect,
    without_drift,
)
from heliotrope.lab.theory.rates import block_length
from heliotrope.lazy import lazy_module
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy, Uniform, gp_ucb, r_gp_ucb, tv_gp_ucb
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array, as_positive, as_whole

Strategy = Callable[[FiniteEpisode, int], Iterator[Step]]
"""Runs through an episode with a seed."""

TV, R, _RANDOM = "TV-GP-UCB", "R-GP-UCB", "a random point"
GENIE = "genie (knows f_{t-1}, from t = 2 on)"
PRACTICAL, THEOREM = "0.8 log(4 t)", "theorem"

_DRAWS = 1000  # functions whose maximizers are counted
_MOST_POINTS, _MOST_DIMENSIONS = 10_000, 20  # of a grid, because its covariance matrix is computed

scikit = lazy_module("sklearn.gaussian_process.kernels")


@dataclass(frozen=True)
class Setting:
    """A kernel, the theorems' assumptions, a grid of ``side`` points per coordinate, and trials."""

    kernel: SpaceKernel
    assumptions: Assumptions
    side: int
    trials: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("side", 1), ("trials", 1), ("seed", 0)):
            object.__setattr__(self, name, as_whole(getattr(self, name), name, least))
        d = expect(self.assumptions, Assumptions).dimension
        if d > _MOST_DIMENSIONS or self.side**d > _MOST_POINTS:
            raise InputError(
                f"a grid of at most {_MOST_POINTS} points in {_MOST_DIMENSIONS} dimensions",
                f"side^dimension = {self.side:g}^{d:g}",
                "Use a smaller side: worlds are drawn from the covariance of all points.",
            )
        last_seed = self.seed + self.trials - 1
        Optimizer(self.domain, tv_gp_ucb(self.prior), last_seed)  # rejects what no policy can use

    @cached_property
    def domain(self) -> Finite:
        """The grid in [0, r]^dimension."""
        return grid(*[self.side] * self.assumptions.dimension, upper=self.assumptions.r)

    @cached_property
    def prior(self) -> Prior:
        """The drifting prior."""
        if not is_kernel(self.kernel):
            raise InputError("a kernel", f"a {type(self.kernel).__name__}")
        return Prior(self.kernel, Forgetting(self.assumptions.epsilon), self.assumptions.noise)

    @property
    def block(self) -> int:
        """The paper's N for R-GP-UCB."""
        assumptions = self.assumptions
        return block_length(
            assumptions.epsilon, assumptions.horizon, self.kernel, assumptions.dimension
        )


@dataclass(frozen=True)
class Theory:
    """The numbers of the theorems in one setting."""

    tv_beta: float
    r_beta: float
    static_gain: Gain
    drifting_gain: Gain
    bounds: tuple[RegretBound, RegretBound, RegretBound]
    psi: Corrected
    drift: DriftInformation
    lower: float


@dataclass(frozen=True)
class MeasuredRegret:
    """Average regret per step of one policy: mean over the trials, and its standard error."""

    strategy: str
    beta: str
    mean: float
    error: float


def named_kernel(name: str, length: float, nu: float) -> SpaceKernel:
    """Return the SE ("se") or Matern ("matern") kernel with variance 1."""
    length = as_positive(length, "length")
    if name == "se":
        return RBF(length)
    if name == "matern":
        is_own = as_positive(nu, "nu") in SMOOTHNESSES
        return (Matern if is_own else scikit.Matern)(length, nu=nu)
    raise InputError("kernel to be se or matern", repr(name))


def constants(
    kernel: SpaceKernel, dimension: int, given: Mapping[str, float | None], r: float = 1.0
) -> KernelConstants:
    """Derive the kernel's constants over [0, r]^dimension, except for those that are given.

    If both constants of a pair are given, the kernel can be any.
    """
    known = {name: value for name, value in given.items() if value is not None}
    for order, names in enumerate((("a0", "b0"), ("a1", "b1"))):
        if not known.keys() >= set(names):
            derived = dict(zip(names, tail(order, kernel, dimension, r), strict=True))
            known = derived | known
    second = zip(("a2", "b2"), second_tail(kernel, dimension, r), strict=False)
    return KernelConstants(**(dict(second) | known))


def theory(setting: Setting) -> Theory:
    """Compute beta, the information gains over the grid, and all bounds of R_T.

    The drift term is that of blocks of R-GP-UCB's length.
    """
    assumptions, prior, domain = setting.assumptions, setting.prior, setting.domain
    T, N = assumptions.horizon, setting.block
    with threadpool_limits(1):
        curve = gain_curve(prior, domain, T)
        static = best_gain(without_drift(prior), domain, curve)
        drifting = best_gain(prior, domain, curve)
    bounds = (
        tv_bound(assumptions, drifting.upper),
        tv_block_bound(assumptions, curve.upper),
        r_bound(assumptions, N, float(curve.upper[N - 1])),
    )
    return Theory(
        assumptions.tv_schedule()(T),
        assumptions.r_schedule()(T),
        static,
        drifting,
        bounds,
        psi(assumptions, N),
        drift_information(N, assumptions.epsilon, assumptions.noise),
        genie_bound(assumptions, setting.kernel, boundary_distances(setting)),
    )


def boundary_distances(setting: Setting) -> Array:
    """Distances from the boundary of the maximizers of independent draws of f."""
    independent = Prior(setting.kernel, Forgetting(1.0), setting.assumptions.noise)
    with threadpool_limits(1):
        f = GPDrift(setting.domain, independent).episode(_DRAWS, setting.seed).values
    x = setting.domain.points[f.argmax(axis=1)]
    return np.asarray(np.minimum(x, setting.assumptions.r - x).min(axis=1))


def strategies(setting: Setting) -> Mapping[tuple[str, str], Strategy]:
    """Return the simulated strategies by name and kind of beta; R-GP-UCB uses the paper's N."""
    prior, every, practical = setting.prior, setting.block, LogBeta(0.8, 4.0)
    assumptions = setting.assumptions
    policies: dict[tuple[str, str], Policy] = {
        (TV, THEOREM): tv_gp_ucb(prior, assumptions.tv_schedule()),
        (R, THEOREM): r_gp_ucb(prior, every, assumptions.r_schedule()),
        (TV, PRACTICAL): tv_gp_ucb(prior, practical),
        (R, PRACTICAL): r_gp_ucb(prior, every, practical),
        ("GP-UCB", PRACTICAL): gp_ucb(prior, practical),
        (_RANDOM, ""): Uniform(),
    }
    return {key: partial(play, policy) for key, policy in policies.items()} | {
        (GENIE, ""): _informed
    }


def _informed(episode: FiniteEpisode, seed: int) -> Iterator[Step]:
    """The genie without its first, random step."""
    return islice(run_genie(episode, seed), min(1, episode.horizon - 1), None)


def simulate(
    setting: Setting,
    tick: Callable[[], None],
    only: Sequence[tuple[str, str]] | None = None,
) -> list[MeasuredRegret]:
    """Run strategies, by default all, in the same worlds; tick once per world and strategy."""
    known = strategies(setting)
    compared = {key: known[key] for key in (known if only is None else only)}
    with threadpool_limits(1):  # a step is too short for several threads
        world = GPDrift(setting.domain, setting.prior)
        averages = np.array(
            [_trial(world, setting, trial, compared, tick) for trial in range(setting.trials)]
        )
    lone = setting.trials == 1
    errors = np.full(len(compared), np.nan) if lone else averages.std(axis=0, ddof=1)
    errors /= np.sqrt(setting.trials)
    return [
        MeasuredRegret(*key, float(mean), float(error))
        for key, mean, error in zip(compared, averages.mean(axis=0), errors, strict=True)
    ]


def summarize_bounds(setting: Setting, numbers: Theory, measured: list[MeasuredRegret]) -> str:
    """Say in one sentence how loose the bounds are."""
    bound = min(numbers.bounds[:2], key=lambda bound: bound.valid)
    per_step = bound.valid / setting.assumptions.horizon
    mean = {(m.strategy, m.beta): m.mean for m in measured}
    theorem, practical, random = mean[TV, THEOREM], mean[TV, PRACTICAL], mean[_RANDOM, ""]
    worth = "no better" if per_step >= random else "better"
    return (
        f"The tightest valid bound for TV-GP-UCB is {per_step:.3g} per step ({bound.equation}): "
        f"{_times(per_step, theorem)} its regret with the theorem's beta ({theorem:.3g}) and "
        f"{_times(per_step, practical)} its regret with the practical beta ({practical:.3g}). The "
        f"genie's regret is {mean[GENIE, '']:.2g}, and thm:conv's lower bound "
        f"{numbers.lower:.2g}. The bound is {worth} than the regret of random points "
        f"({random:.3g})."
    )


def _times(bound: float, regret: float) -> str:
    return f"{bound / regret:.3g} times" if regret > 0.0 else "above"


def _trial(
    world: GPDrift,
    setting: Setting,
    trial: int,
    compared: Mapping[tuple[str, str], Strategy],
    tick: Callable[[], None],
) -> Array:
    """Average regret of each strategy in one world."""
    seed = setting.seed + trial
    episode = world.episode(setting.assumptions.horizon, seed)
    averages = []
    for strategy in compared.values():
        averages.append(np.mean([step.regret for step in strategy(episode, seed)]))
        tick()
    return np.array(averages)
