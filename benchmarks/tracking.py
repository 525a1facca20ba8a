"""Average regret in the paper's matched setting: TV-GP-UCB below GP-UCB and R-GP-UCB."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.environments import Environment, GPDrift, play
from heliotrope.policies import Policy
from heliotrope.validation import Array

TRIALS, HORIZON = 40, 300


def findings() -> Iterator[Finding]:
    prior, beta = ht.Prior(RBF(0.2), ht.Forgetting(0.01), noise=0.01), ht.LogBeta(0.8, 4.0)
    policies: dict[str, Policy] = {
        "GP-UCB": ht.gp_ucb(prior, beta),
        "R-GP-UCB": ht.r_gp_ucb(prior, every=38, beta=beta),
        "TV-GP-UCB": ht.tv_gp_ucb(prior, beta),
    }
    regrets = average_regrets(GPDrift(ht.grid(50, 50), prior), policies)
    for rival in ("GP-UCB", "R-GP-UCB"):
        difference = regrets[rival] - regrets["TV-GP-UCB"]
        error = difference.std(ddof=1) / np.sqrt(TRIALS)
        yield Finding(
            f"TV-GP-UCB's average regret below {rival}'s by more than 3 paired standard errors",
            f"{regrets['TV-GP-UCB'].mean():.3f} against {regrets[rival].mean():.3f}: "
            f"{difference.mean() / error:.1f} standard errors, {TRIALS} trials",
            bool(difference.mean() > 3 * error),
        )


def average_regrets(
    world: Environment, policies: dict[str, Policy], trials: int = TRIALS
) -> dict[str, Array]:
    """R_T / T of each policy in each trial; all policies of a trial face the same world."""
    regrets: dict[str, list[float]] = {name: [] for name in policies}
    for trial in range(trials):
        episode = world.episode(HORIZON, seed=trial)
        for name, policy in policies.items():
            steps = play(policy, episode, seed=trial)
            regrets[name].append(float(np.mean([step.regret for step in steps])))
    return {name: np.array(values) for name, values in regrets.items()}
