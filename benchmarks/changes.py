"""The change-point memory against plain TV-GP-UCB, with jumps and with steady drift."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from benchmarks.report import Finding
from benchmarks.tracking import TRIALS, average_regrets
from heliotrope.lab.environments import GPDrift
from heliotrope.lab.environments.suite import Jumps

EVERY = 75.0  # steps between jumps, on average
STEADY_TRIALS = 200  # a difference of 5 % needs many trials
DOMAIN, BETA = ht.grid(25, 20), ht.LogBeta(0.8, 4.0)


def findings() -> Iterator[Finding]:
    for epsilon in (0.0, 0.003):
        yield from _where_it_jumps(epsilon)
    for epsilon in (0.001, 0.01, 0.03):
        yield _where_it_drifts(epsilon)


def _where_it_jumps(epsilon: float) -> Iterator[Finding]:
    """TV-GP-UCB knows the drift between jumps, or learns a drift that covers the jumps."""
    prior = _prior(epsilon)
    regrets = average_regrets(
        Jumps(DOMAIN, prior, EVERY),
        {
            "change points": ht.policies.cp_gp_ucb(prior, beta=BETA),
            "TV-GP-UCB": ht.tv_gp_ucb(prior, BETA),
            "TV-GP-UCB that learns its drift": ht.tv_gp_ucb(prior, BETA, learn=ht.Learn()),
        },
    )
    own = regrets.pop("change points")
    for rival, theirs in regrets.items():
        gain = theirs - own
        error = float(gain.std(ddof=1)) / np.sqrt(TRIALS)
        yield Finding(
            f"jumps every {EVERY:.0f} steps, epsilon {epsilon:g} in between: average regret with "
            f"change points below that of {rival} by more than 3 paired standard errors",
            f"{own.mean():.3f} against {theirs.mean():.3f}: "
            f"{gain.mean() / error:.1f} standard errors, {TRIALS} trials",
            bool(gain.mean() > 3.0 * error),
        )


def _where_it_drifts(epsilon: float) -> Finding:
    prior = _prior(epsilon)
    regrets = average_regrets(
        GPDrift(DOMAIN, prior),
        {"own": ht.policies.cp_gp_ucb(prior, beta=BETA), "plain": ht.tv_gp_ucb(prior, BETA)},
        STEADY_TRIALS,
    )
    own, plain = regrets["own"], regrets["plain"]
    error = float((own - plain).std(ddof=1)) / np.sqrt(STEADY_TRIALS) / plain.mean()
    ratio = float(own.mean() / plain.mean())
    return Finding(
        f"steady drift, epsilon {epsilon:g}: within 5 % of plain TV-GP-UCB",
        f"{own.mean():.3f} against {plain.mean():.3f}: {100 * (ratio - 1):+.1f} % "
        f"(standard error {100 * error:.1f} %), {STEADY_TRIALS} trials",
        ratio <= 1.05,
    )


def _prior(epsilon: float) -> ht.Prior:
    return ht.Prior(RBF(0.2), ht.Forgetting(epsilon), noise=0.01)
