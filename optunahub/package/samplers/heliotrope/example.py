"""Track a minimum that moves: the sampler's choices stay near it."""

from __future__ import annotations

import math

import optuna
import optunahub


def minimum(number: int) -> float:
    return 0.5 + 0.4 * math.sin(number / 20.0)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    return (x - minimum(trial.number)) ** 2


if __name__ == "__main__":
    module = optunahub.load_module("samplers/heliotrope")
    study = optuna.create_study(sampler=module.HeliotropeSampler(seed=0))
    study.optimize(objective, n_trials=60)
    for trial in study.trials[-5:]:
        print(f"{trial.number}: chose {trial.params['x']:.2f}, best {minimum(trial.number):.2f}")
