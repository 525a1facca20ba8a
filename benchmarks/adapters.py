"""The suite through the Optuna and gest-api adapters, beside ``auto`` itself in the same worlds.

Optuna drives its adapter by ``study.optimize``, gest-api by ``suggest`` and ``ingest``. Regrets
are shares of the average regret of ``auto`` on the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import optuna
from gest_api.vocs import VOCS
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.integrations.gest_api import HeliotropeGenerator
from heliotrope.integrations.optuna import HeliotropeSampler
from heliotrope.lab.environments import Episode, Place, play
from heliotrope.lab.environments.suite import problem
from heliotrope.validation import Array

PROBLEMS = ("paper/se/0.01", "jumps/drift", "peaks/steady", "sliced/hartmann-3")
TRIALS, HORIZON, FIRST_SEED = 18, 80, 500
SIDE = 20  # of the suite's grids

Runner = Callable[[Episode, int], float]  # average regret in an episode, with a seed


def findings() -> Iterator[Finding]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    runners: dict[str, Runner] = {
        "gest-api": by_gest_api,
        "Optuna": lambda episode, seed: by_optuna(episode, seed, None),
        "Optuna with a given search space": lambda episode, seed: by_optuna(
            episode, seed, distributions(episode)
        ),
    }
    regrets = {name: relative_regrets(runner) for name, runner in runners.items()}
    for name, shares in regrets.items():
        above = shares - 1.0
        error = pooled_error(above)
        yield Finding(
            f"through {name}: regret at most one paired standard error above that of auto",
            f"{shares.mean():.3f} times auto's, standard error {error:.3f}; by problem "
            + ", ".join(f"{share:.3f}" for share in shares.mean(axis=1)),
            bool(above.mean() <= error),
        )


def relative_regrets(runner: Runner) -> Array:
    """1 + (regret - auto's regret) / mean of auto's regret, (problems, trials)."""
    rows = []
    for id in PROBLEMS:
        pairs = np.array([_pair(runner, id, FIRST_SEED + trial) for trial in range(TRIALS)])
        rows.append(1.0 + (pairs[:, 0] - pairs[:, 1]) / pairs[:, 1].mean())
    return np.array(rows)


def pooled_error(differences: Array) -> float:
    """Standard error of the mean over problems, from the spread over trials."""
    variances = differences.var(axis=1, ddof=1) / TRIALS
    return float(np.sqrt(variances.sum()) / len(differences))


def _pair(runner: Runner, id: str, seed: int) -> tuple[float, float]:
    return runner(_episode(id, seed), seed), by_auto(id, seed)


@cache
def by_auto(id: str, seed: int) -> float:
    episode = _episode(id, seed)
    return float(np.mean([step.regret for step in play(ht.auto(episode.domain), episode, seed)]))


def _episode(id: str, seed: int) -> Episode:
    return problem(id).world().episode(HORIZON, seed)


def by_gest_api(episode: Episode, seed: int) -> float:
    variables: dict[str, object] = {
        name: set(range(SIDE)) if isinstance(episode.domain, ht.Finite) else [one.low, one.high]
        for name, one in distributions(episode).items()
        if isinstance(one, (FloatDistribution, IntDistribution))
    }
    generator = HeliotropeGenerator(
        VOCS(variables=variables, objectives={"f": "MAXIMIZE"}), seed=seed
    )
    regret = []
    for t in episode.times.tolist():
        (point,) = generator.suggest(1)
        place = place_of(episode, [point[name] for name in variables])
        generator.ingest([{**point, "f": episode.measure(t, place)}])
        regret.append(episode.regret(t, place))
    return float(np.mean(regret))


def by_optuna(episode: Episode, seed: int, space: dict[str, BaseDistribution] | None) -> float:
    regret = list[float]()

    def objective(trial: optuna.Trial) -> float:
        t = trial.number + 1.0
        place = place_of(
            episode, [_suggested(trial, *one) for one in distributions(episode).items()]
        )
        regret.append(episode.regret(t, place))
        return episode.measure(t, place)

    sampler = HeliotropeSampler(seed=seed, search_space=space)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    study.optimize(objective, n_trials=episode.horizon)
    return float(np.mean(regret))


def distributions(episode: Episode) -> dict[str, BaseDistribution]:
    """Rows and columns of a grid, or the coordinates of a box."""
    domain = episode.domain
    if isinstance(domain, ht.Finite):
        return {name: IntDistribution(0, SIDE - 1) for name in ("row", "column")}
    bounds = zip(domain.lower.tolist(), domain.upper.tolist(), strict=True)
    return {f"x{i}": FloatDistribution(*ends) for i, ends in enumerate(bounds)}


def place_of(episode: Episode, values: list[float]) -> Place:
    if isinstance(episode.domain, ht.Finite):
        row, column = map(int, values)
        return row * SIDE + column
    return np.array(values)


def _suggested(trial: optuna.Trial, name: str, one: BaseDistribution) -> float:
    if isinstance(one, IntDistribution):
        return trial.suggest_int(name, one.low, one.high)
    assert isinstance(one, FloatDistribution)
    return trial.suggest_float(name, one.low, one.high)
