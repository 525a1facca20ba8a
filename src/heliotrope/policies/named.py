"""The named policies, each a composition of prior, memory and acquisition in a few lines."""

from __future__ import annotations

from dataclasses import replace

from heliotrope.acquisition import UCB, Beta, LogBeta, Thompson
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
from heliotrope.policies.gp import First, GPPolicy
from heliotrope.posterior import (
    EngineOptions,
    Learn,
)
from heliotrope.priors import Prior, Static, Wiener


def gp_ucb(
    prior: Prior,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: str | EngineOptions | None = None,
) -> GPPolicy:
    """GP-UCB (Srinivas et al. 2012): the function is taken to stand still.

    The prior's own time kernel is replaced by Static, so that one prior serves all policies.
    """
    return GPPolicy(_standing_still(prior), UCB(beta), KeepAll(), first, engine)


def r_gp_ucb(
    prior: Prior,
    every: float,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: str | EngineOptions | None = None,
) -> GPPolicy:
    """R-GP-UCB (Algorithm alg:R): GP-UCB that begins anew every ``every`` units of time."""
    return GPPolicy(_standing_still(prior), UCB(beta), Restart(every), first, engine)


def tv_gp_ucb(
    prior: Prior,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: str | EngineOptions | None = None,
    learn: Learn | None = None,
) -> GPPolicy:
    """TV-GP-UCB (Algorithm alg:TV): what was seen long ago counts for less.

    The prior's time kernel says how: Forgetting(epsilon), or any stationary kernel. With
    ``learn=Learn()`` the drift rate is unknown, whatever the prior's epsilon, and learned from
    what is told.
    """
    return GPPolicy(prior, UCB(beta), KeepAll(), first, engine, learn)


def sw_gp_ucb(
    prior: Prior, window: int, beta: Beta | float = LogBeta(), *, first: First = None
) -> GPPolicy:
    """SW-GP-UCB (Zhou and Shroff 2021): GP-UCB on the last ``window`` values alone."""
    return GPPolicy(_standing_still(prior), UCB(beta), Window(window), first)


def wgp_ucb(
    prior: Prior, weight: float, beta: Beta | float = LogBeta(), *, first: First = None
) -> GPPolicy:
    """WGP-UCB (Deng et al. 2022): a value weighs ``weight`` times less a unit of time later."""
    return GPPolicy(_standing_still(prior), UCB(beta), Weights(weight), first)


def et_gp_ucb(
    prior: Prior,
    beta: Beta | float = LogBeta(),
    delta: float = 0.1,
    *,
    first: First = None,
    engine: str | EngineOptions | None = None,
) -> GPPolicy:
    """ET-GP-UCB (Brunzema et al. 2025): GP-UCB that begins anew when a value is a surprise.

    ``delta`` is the probability of ever doing so where nothing changes.
    """
    memory = ResetOnChange(EventTrigger(delta))
    return GPPolicy(_standing_still(prior), UCB(beta), memory, first, engine)


def cp_gp_ucb(
    prior: Prior,
    hazard: float = 0.01,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: str | EngineOptions | None = None,
    learn: Learn | None = None,
) -> GPPolicy:
    """TV-GP-UCB in a world that also jumps, with probability ``hazard`` a unit of time.

    When it last did is learned from what is told (Adams and MacKay 2007).
    """
    return GPPolicy(prior, UCB(beta), ChangePoints(hazard), first, engine, learn)


def wdbo(
    prior: Prior,
    beta: Beta | float = LogBeta(),
    alpha: float = 0.25,
    *,
    first: First = None,
) -> GPPolicy:
    """W-DBO's memory (Bardou et al. 2024) under TV-GP-UCB: what is not missed goes.

    ``alpha`` is how fast the budget for that grows.
    """
    return GPPolicy(prior, UCB(beta), Wasserstein(alpha), first)


def ui_gp_ucb(
    prior: Prior,
    rate: float,
    beta: Beta | float = LogBeta(),
    *,
    first: First = None,
    engine: str | EngineOptions | None = None,
) -> GPPolicy:
    """GP-UCB with injected uncertainty (UI-TVBO, Brunzema et al. 2022): f is a random walk.

    In a unit of time the variance grows by ``rate`` times the space kernel's, and the mean stays
    what it was; the prior's own time kernel is replaced by Wiener(rate).
    """
    return GPPolicy(_drifting(prior, Wiener(rate)), UCB(beta), KeepAll(), first, engine)


def tv_ts(
    prior: Prior,
    learn: Learn | None = None,
    *,
    first: First = None,
    engine: str | EngineOptions | None = None,
) -> GPPolicy:
    """Thompson sampling by the time-varying posterior: no beta, a draw explores by itself.

    The prior's time kernel says how the function drifts; with ``learn=Learn()`` the drift rate is
    unknown, and one hypothesis is drawn by its weight before the function is.
    """
    return GPPolicy(prior, Thompson(), KeepAll(), first, engine, learn)


def _standing_still(prior: Prior) -> Prior:
    return _drifting(prior, Static())


def _drifting(prior: Prior, time: Static | Wiener) -> Prior:
    if not isinstance(prior, Prior):
        raise InputError("a prior", repr(prior))
    return replace(prior, time=time)
