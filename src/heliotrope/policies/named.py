"""The named GP policies: each composes a prior, a memory and an acquisition in a few lines."""

from heliotrope.acquisition import UCB, Beta, LogBeta, SafeOpt, Thompson
from heliotrope.errors import InputError
from heliotrope.memory import (
    ChangePoints,
    EventTrigger,
    KeepAll,
    ResetOnChange,
    Restart,
    Wasserstein,
    Weights,
    Window,
)
from heliotrope.policies.gp import EngineLike, First, GPPolicy
from heliotrope.posterior import Learn
from heliotrope.priors import Prior, Static, Wiener

__all__ = [
    "cp_gp_ucb",
    "et_gp_ucb",
    "gp_ucb",
    "r_gp_ucb",
    "sw_gp_ucb",
    "tv_gp_ucb",
    "tv_safe_opt",
    "tv_ts",
    "ui_gp_ucb",
    "wdbo",
    "wgp_ucb",
]


def gp_ucb(
    prior: Prior, beta: Beta | float = LogBeta(), *, first: First = None, engine: EngineLike = None
) -> GPPolicy:
    """GP-UCB (Srinivas et al. 2012): it assumes a static function.

    Static replaces the prior's own time kernel, so that one prior serves all policies.
    """
    return GPPolicy(_static(prior), UCB(beta), KeepAll(), first, engine)


def r_gp_ucb(
    prior: Prior,
    every: float,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: EngineLike = None,
) -> GPPolicy:
    """R-GP-UCB (Bogunovic et al. 2016, Algorithm alg:R): GP-UCB that restarts at regular times.

    ``every`` is the time between restarts.
    """
    return GPPolicy(_static(prior), UCB(beta), Restart(every), first, engine)


def tv_gp_ucb(
    prior: Prior,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: EngineLike = None,
    learn: Learn | None = None,
) -> GPPolicy:
    """TV-GP-UCB (Bogunovic et al. 2016, Algorithm alg:TV): older observations count for less.

    The prior's time kernel says how: Forgetting(epsilon), or any stationary kernel. With
    ``learn=Learn()`` the drift rate is learned from the observations, whatever the prior's
    epsilon.
    """
    return GPPolicy(prior, UCB(beta), KeepAll(), first, engine, learn)


def sw_gp_ucb(
    prior: Prior, window: int, beta: Beta | float = LogBeta(), *, first: First = None
) -> GPPolicy:
    """SW-GP-UCB (Zhou and Shroff 2021): GP-UCB on the last ``window`` values."""
    return GPPolicy(_static(prior), UCB(beta), Window(window), first)


def wgp_ucb(
    prior: Prior, weight: float, beta: Beta | float = LogBeta(), *, first: First = None
) -> GPPolicy:
    """WGP-UCB (Deng et al. 2022): each unit of time multiplies a value's weight by ``weight``."""
    return GPPolicy(_static(prior), UCB(beta), Weights(weight), first)


def et_gp_ucb(
    prior: Prior,
    beta: Beta | float = LogBeta(),
    delta: float = 0.1,
    *,
    first: First = None,
    engine: EngineLike = None,
) -> GPPolicy:
    """ET-GP-UCB (Brunzema et al. 2025): GP-UCB that restarts when a value is a surprise.

    ``delta`` is the probability that it ever restarts although nothing changes.
    """
    memory = ResetOnChange(EventTrigger(delta))
    return GPPolicy(_static(prior), UCB(beta), memory, first, engine)


def cp_gp_ucb(
    prior: Prior,
    hazard: float = 0.01,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: EngineLike = None,
    learn: Learn | None = None,
) -> GPPolicy:
    """CP-GP-UCB: TV-GP-UCB for a function that jumps with probability ``hazard`` per unit of time.

    The time of the latest jump is learned from the observations (Adams and MacKay 2007).
    """
    return GPPolicy(prior, UCB(beta), ChangePoints(hazard), first, engine, learn)


def wdbo(
    prior: Prior, beta: Beta | float = LogBeta(), alpha: float = 0.25, *, first: First = None
) -> GPPolicy:
    """TV-GP-UCB with W-DBO's memory (Bardou et al. 2024): it drops the least relevant observations.

    ``alpha`` says how fast the budget for removals grows.
    """
    return GPPolicy(prior, UCB(beta), Wasserstein(alpha), first)


def ui_gp_ucb(
    prior: Prior,
    rate: float,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: EngineLike = None,
) -> GPPolicy:
    """UI-GP-UCB (Brunzema et al. 2022): GP-UCB with injected uncertainty, f is a random walk.

    Per unit of time the variance grows by ``rate`` times the space kernel's, and the mean stays.
    Wiener(rate) replaces the prior's own time kernel.
    """
    return GPPolicy(_drifting(prior, Wiener(rate)), UCB(beta), KeepAll(), first, engine)


def tv_safe_opt(
    prior: Prior,
    threshold: float,
    beta: Beta | float = 4.0,
    *,
    first: First = None,
    engine: EngineLike = None,
) -> GPPolicy:
    """TVSafeOpt (Li et al. 2024): it keeps f above a threshold, over a Finite domain.

    ``first`` should be a safe point. The bounds are those of the time-varying posterior, in place
    of the paper's Lipschitz constants. Limits on other metrics, and parameters that are learned,
    are those of :class:`heliotrope.live.Live`.
    """
    return GPPolicy(prior, SafeOpt(threshold, beta), KeepAll(), first, engine)


def tv_ts(
    prior: Prior, learn: Learn | None = None, *, first: First = None, engine: EngineLike = None
) -> GPPolicy:
    """TV-TS: Thompson sampling from the time-varying posterior. It has no beta: the draw explores.

    The prior's time kernel says how the function drifts. With ``learn=Learn()`` the drift rate is
    unknown: one hypothesis is drawn by its weight, then a function.
    """
    return GPPolicy(prior, Thompson(), KeepAll(), first, engine, learn)


def _static(prior: Prior) -> Prior:
    return _drifting(prior, Static())


def _drifting(prior: Prior, time: Static | Wiener) -> Prior:
    if not isinstance(prior, Prior):
        raise InputError("a prior", repr(prior))
    return prior.with_time(time)
