"""Servers whose load comes round: the share of the best setting for each load.

Twenty servers are drawn (:mod:`heliotrope.lab.environments.server`). Each meets three loads for 20
measurements each, three times. No tuner is told which load it is; "one for each load" is, and is
what a perfect memory of the loads would give. Answers per second vary by 3 %, p99 by 8 %.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

import heliotrope as ht
from benchmarks.kept import Kept
from benchmarks.report import Finding
from heliotrope.lab.environments.server import Server
from heliotrope.live import Live
from heliotrope.validation import Array

SERVERS, FIRST_SEED = 20, 500_000
ROUNDS, STEPS = 3, 20
NOISE, TAIL_NOISE = 0.03, 0.08  # deviations of the logarithms

Measure = Callable[[Mapping[str, int]], tuple[float, float]]


class Tuner(Protocol):
    """What chooses settings, measures them, and learns."""

    def step(self, measure: Measure, load: int) -> None:
        """Measure a setting."""


class Tracker:
    """Heliotrope, with the limit and the baseline or without rules."""

    def __init__(self, server: Server, seed: int, *, limit: bool) -> None:
        live = Live(
            {"rate": "maximize", "p99": "watch"},
            limits={"p99": {"below": server.limit}},
            baseline=server.baseline,
        )
        self._limit, policy = limit, ht.auto(server.space)
        self._opt = ht.Optimizer(server.space, policy, seed=seed, live=live if limit else None)

    def step(self, measure: Measure, load: int) -> None:
        ask = self._opt.ask()
        rate, p99 = measure(ask.params)
        self._opt.tell(ask, {"rate": rate, "p99": p99} if self._limit else rate)


class OneForEachLoad:
    """A tracker for each load, told which it is."""

    def __init__(self, server: Server, seed: int, *, limit: bool) -> None:
        loads = range(len(server.loads))
        self._trackers = [Tracker(server, seed + load, limit=limit) for load in loads]

    def step(self, measure: Measure, load: int) -> None:
        self._trackers[load].step(measure, load)


class OptunaSampler:
    """Optuna's TPE sampler; it starts with the baseline."""

    def __init__(self, server: Server, seed: int, *, limit: bool) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._study.enqueue_trial(server.baseline)
        self._server, self._limit = server, limit

    def step(self, measure: Measure, load: int) -> None:
        trial, settings = self._study.ask(), self._server.choices
        rate, p99 = measure(
            {
                name: trial.suggest_int(name, values[0], values[-1], step=values.step)
                for name, values in settings.items()
            }
        )
        if self._limit:
            trial.set_constraint("p99", p99 - self._server.limit)
        self._study.tell(trial, rate)


TUNERS: Mapping[str, Callable[..., Tuner]] = {
    "Heliotrope": Tracker,
    "one for each load": OneForEachLoad,
    "Optuna TPE": OptunaSampler,
}


class Outcome(NamedTuple):
    """The mean share in each round, and the share of measurements that crossed the limit."""

    rounds: list[float]
    crossed: float


def play(name: str, seed: int, *, limit: bool) -> Outcome:
    server, rng = Server.drawn(FIRST_SEED + seed), np.random.default_rng([FIRST_SEED, seed])
    tuner, loads = TUNERS[name](server, seed, limit=limit), len(server.loads)
    shares, crossed = list[float](), list[bool]()
    for load in np.tile(np.repeat(np.arange(loads), STEPS), ROUNDS).tolist():

        def measure(params: Mapping[str, int], load: int = load) -> tuple[float, float]:
            i, performance = server.index(params), server.performances[load]
            rate, p99 = float(performance.rate[i]), float(performance.p99[i])
            shares.append(rate / server.best(load, limit=limit))
            crossed.append(p99 > server.limit)
            noise = np.exp([NOISE, TAIL_NOISE] * rng.standard_normal(2))
            return rate * float(noise[0]), p99 * float(noise[1])

        tuner.step(measure, load)
    return Outcome(
        np.mean(np.reshape(shares, (ROUNDS, -1)), axis=1).tolist(), float(np.mean(crossed))
    )


def best_fixed(seed: int, *, limit: bool) -> float:
    """The mean share of the best fixed setting in hindsight."""
    server = Server.drawn(FIRST_SEED + seed)
    i, loads = server.best_fixed(limit=limit), range(len(server.loads))
    rates = (server.performances[load].rate[i] / server.best(load, limit=limit) for load in loads)
    return float(np.mean(list(rates)))


def findings(servers: int = SERVERS) -> Iterator[Finding]:
    for limit, (least, least_last) in ((False, (0.88, 0.95)), (True, (0.85, 0.92))):
        yield from _findings(servers, least, least_last, limit=limit)


def _findings(servers: int, least: float, least_last: float, *, limit: bool) -> Iterator[Finding]:
    rules = "with limit and baseline" if limit else "without rules"
    kept, seeds = Kept("servers"), range(servers)
    outcomes = {
        name: [
            Outcome(*kept.get(f"{name} {limit} {seed}", partial(play, name, seed, limit=limit)))
            for seed in seeds
        ]
        for name in TUNERS
    }
    rounds = {name: np.array([one.rounds for one in played]) for name, played in outcomes.items()}
    own = rounds["Heliotrope"]
    yield Finding(
        f"servers {rules}: mean share of the best at least {least:g}, in the last round "
        f"{least_last:g}",
        f"{_shown(own.mean(axis=1))}, {_shown(own[:, -1])}; one for each load "
        f"{_shown(rounds['one for each load'].mean(axis=1))}",
        own.mean() >= least and own[:, -1].mean() >= least_last,
    )
    rivals = {"Optuna TPE": rounds["Optuna TPE"][:, -1]}
    rivals["the best fixed setting"] = np.array([best_fixed(seed, limit=limit) for seed in seeds])
    for name, theirs in rivals.items():
        ahead = own[:, -1] - theirs
        error = float(ahead.std(ddof=1)) / np.sqrt(servers)
        yield Finding(
            f"servers {rules}: in the last round ahead of {name} by more than 3 paired errors",
            f"{ahead.mean():+.3f} +- {error:.3f}",
            bool(ahead.mean() > 3.0 * error),
        )
    if limit:
        crossed = float(np.mean([one.crossed for one in outcomes["Heliotrope"]]))
        claim = "servers: the limit is crossed in at most 3 % of the measurements"
        yield Finding(claim, f"{crossed:.1%}", crossed <= 0.03)


def _shown(shares: Array) -> str:
    return f"{shares.mean():.3f} +- {shares.std(ddof=1) / np.sqrt(len(shares)):.3f}"


if __name__ == "__main__":
    for found in findings(int(sys.argv[1]) if len(sys.argv) > 1 else SERVERS):
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}", flush=True)
