"""Results of mixed precision: their standard errors told, against not told, in the same worlds.

Half of the results have a standard error of 0.1, the others of 1, where the function has the
variance 1. Without their errors, TV-GP-UCB knows the average noise variance; ``auto`` and studies
estimate it. The settings were chosen with other seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.environments import GPDrift
from heliotrope.policies import Policy
from heliotrope.validation import Array

ERRORS = np.array([0.1, 1.0])
SIDE, HORIZON, FIRST_SEED = 15, 300, 2_000
KERNELS: dict[str, Kernel] = {"SE": RBF(0.2), "Matern 5/2": Matern(0.2, nu=2.5)}


@dataclass(frozen=True, eq=False)
class Trial:
    """A world with its noise: values (T, M), the noise of each step and its standard error.

    The noise variance of the ``prior`` is the average.
    """

    prior: ht.Prior
    domain: ht.Finite
    seed: int
    values: Array
    noise: Array
    std: Array

    @classmethod
    def draw(cls, prior: ht.Prior, domain: ht.Finite, seed: int) -> Trial:
        rng = np.random.default_rng([seed, HORIZON])
        std = rng.choice(ERRORS, HORIZON)
        noise = std * rng.standard_normal(HORIZON)
        values = GPDrift(domain, prior).episode(HORIZON, seed).values
        return cls(prior, domain, seed, values, noise, std)

    def regret(self, step: int, index: int) -> float:
        return float(self.values[step].max() - self.values[step, index])

    def result(self, step: int, index: int) -> float:
        return float(self.values[step, index] + self.noise[step])


Player = Callable[[Trial, bool], float]
"""The average regret in a trial, with the standard errors told or not."""


def tv_gp_ucb(trial: Trial, is_told: bool) -> float:
    return _played(ht.tv_gp_ucb(trial.prior), trial, is_told)


def auto(trial: Trial, is_told: bool) -> float:
    return _played(ht.auto(trial.domain), trial, is_told)


def study(trial: Trial, is_told: bool) -> float:
    """A study with its default policy, over the same points as options with features."""
    points = trial.domain.points
    options = ht.Options([str(i) for i in range(len(points))], features=points.tolist())
    tracked = ht.Study.create("noise", options, seed=trial.seed, store="memory:")
    regrets = []
    for step, std in enumerate(trial.std.tolist()):
        ask = tracked.ask()
        index = int(ask.option or 0)
        tracked.tell(ask, trial.result(step, index), std=std if is_told else None)
        regrets.append(trial.regret(step, index))
    return float(np.mean(regrets))


def findings() -> Iterator[Finding]:
    for name, space in KERNELS.items():
        for epsilon in (0.01, 0.03):
            setting = f"{name}, epsilon {epsilon}"
            yield _finding(f"TV-GP-UCB, {setting}", tv_gp_ucb, space, epsilon, trials=200)
    for name, player in (("auto", auto), ("a study's default policy", study)):
        setting, space = f"{name}, Matern 5/2, epsilon 0.01", KERNELS["Matern 5/2"]
        yield _finding(setting, player, space, 0.01, trials=80)


def _finding(name: str, player: Player, space: Kernel, epsilon: float, trials: int) -> Finding:
    prior = ht.Prior(space, ht.Forgetting(epsilon), noise=float(np.mean(ERRORS**2)))
    seeds = range(FIRST_SEED, FIRST_SEED + trials)
    regrets = Parallel(n_jobs=-1)(delayed(_both)(player, prior, seed) for seed in seeds)
    told, silent = np.transpose(regrets)
    lower = silent - told
    error = float(lower.std(ddof=1) / np.sqrt(trials))
    return Finding(
        f"{name}: regret with the standard errors told below that without, by more than 3 paired "
        "standard errors",
        f"{told.mean():.3f} against {silent.mean():.3f}: ratio {told.mean() / silent.mean():.2f}, "
        f"lower by {lower.mean():.3f} +- {error:.3f}, {lower.mean() / error:.1f} standard errors, "
        f"{trials} trials",
        bool(lower.mean() > 3.0 * error),
    )


def _both(player: Player, prior: ht.Prior, seed: int) -> tuple[float, float]:
    trial = Trial.draw(prior, ht.grid(SIDE, SIDE), seed)
    return player(trial, True), player(trial, False)


def _played(policy: Policy, trial: Trial, is_told: bool) -> float:
    optimizer, regrets = ht.Optimizer(trial.domain, policy, trial.seed), []
    for step, std in enumerate(trial.std.tolist()):
        suggestion = optimizer.ask()
        index = suggestion.index or 0
        optimizer.tell(suggestion, trial.result(step, index), std=std if is_told else None)
        regrets.append(trial.regret(step, index))
    return float(np.mean(regrets))
