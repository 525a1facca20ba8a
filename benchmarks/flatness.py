"""Cost of a step and memory after many steps, compared with few steps.

The cost is processor time, which other work on the machine affects little.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.domains import Domain
from heliotrope.lab.environments import Episode, GPDrift
from heliotrope.ledger import Suggestion
from heliotrope.policies import Policy
from heliotrope.terms import Drifts, Level, Stays
from heliotrope.validation import Array

Measure = Callable[[Suggestion], float]
EARLY, LATE = (1_000, 2_000), (19_000, 20_000)
SUM_LATE = (9_000, 10_000)
BOX_SAMPLE = 300  # steps timed in each interval of a Box
FULL, LAST = 3_000, 9_000  # steps; after the first number memories are full
SAMPLE = 1_000  # steps timed after each
SIDES = (25, 20)  # of the grid of the policies


def findings() -> Iterator[Finding]:
    yield from _finite()
    yield _box("2-D Box, SE", ht.Box([0] * 2, [1] * 2), ht.Prior(RBF(0.2), ht.Forgetting(0.01)))
    rough = ht.Prior(Matern(0.5, nu=2.5), ht.Forgetting(0.01))
    yield _box("6-D Box, Matern 5/2", ht.Box([0] * 6, [1] * 6), rough)
    slow = ht.Prior(Matern(0.2, nu=2.5), ht.Forgetting(0.001), noise=0.01)
    yield _box("3-D Box, Matern 5/2, epsilon 0.001", ht.Box([0] * 3, [1] * 3), slow)
    yield from _sums()
    yield from _policies()


def _finite() -> Iterator[Finding]:
    prior = ht.Prior(Matern(0.2, nu=2.5), ht.Forgetting(0.01), noise=0.01)
    yield from _over_2500_points("2,500 points", prior, LATE, _noisy_hill)


def _sums() -> Iterator[Finding]:
    """Stays + drifts + level, SE and Matern: over points in a world of the prior, and in a Box."""
    for name, kernel in (("SE", RBF), ("Matern 5/2", partial(Matern, nu=2.5))):
        prior = ht.Prior(
            noise=0.01,
            terms=[
                Stays(0.5 * kernel(0.3)),
                Drifts(0.5 * kernel(0.2), epsilon=0.02),
                Level(0.7, epsilon=0.02),
            ],
        )
        episode = GPDrift(ht.grid(50, 50), prior).episode(SUM_LATE[1], seed=0)
        worlds = partial(partial, _of_world, episode)
        yield from _over_2500_points(f"stays + drifts + level, {name}", prior, SUM_LATE, worlds)
        del episode, worlds
        box = ht.Box([0] * 2, [1] * 2)
        yield _box(f"2-D Box, stays + drifts + level, {name}", box, prior, SUM_LATE)


def _over_2500_points(
    name: str, prior: ht.Prior, late: tuple[int, int], measure: Callable[[], Measure]
) -> Iterator[Finding]:
    """A young and an old optimizer alternate, so that other work on the machine slows both."""
    young, old = (_begun(prior, measure()) for _ in range(2))
    _repeat(young, EARLY[0])
    _repeat(old, EARLY[1])
    before = _resident_megabytes()
    _repeat(old, late[0] - EARLY[1])
    grown = _resident_megabytes() - before
    first, last = np.mean([(young(), old()) for _ in range(SAMPLE)], axis=0).tolist()
    yield Finding(
        f"{name}: steps {late[0]:,} to {late[1]:,} take at most 1.25 times steps 1,000 to 2,000",
        f"{1e3 * last:.2f} ms against {1e3 * first:.2f} ms: {last / first:.2f} times",
        last / first <= 1.25,
        ratio=last / first,
    )
    yield Finding(
        f"{name}: resident memory grows by less than 20 MB in between",
        f"{grown:.1f} MB",
        grown < 20,
    )


def _begun(prior: ht.Prior, measure: Measure) -> Callable[[], float]:
    """A function that runs and times one more step over 2,500 points."""
    optimizer = ht.Optimizer(ht.grid(50, 50), ht.tv_gp_ucb(prior), seed=0)
    return partial(_timed_step, optimizer, measure)


def _repeat(step: Callable[[], float], count: int) -> None:
    for _ in range(count):
        step()


def _policies() -> Iterator[Finding]:
    """Every policy over 500 points, and a study with default settings."""
    for name, policy in _named().items():
        yield _over_500_points(name, partial(_optimizing, policy))
    yield _over_500_points("a study in memory, default settings", _studying)


def _named() -> dict[str, Policy]:
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.01), noise=0.01)
    low, high = -2.5, 2.5
    return {
        "GP-UCB": ht.gp_ucb(prior),
        "R-GP-UCB, every 38": ht.r_gp_ucb(prior, every=38),
        "TV-GP-UCB": ht.tv_gp_ucb(prior),
        "TV-GP-UCB that learns its drift": ht.tv_gp_ucb(prior, learn=ht.Learn()),
        "SW-GP-UCB, window 100": ht.policies.sw_gp_ucb(prior, window=100),
        "WGP-UCB, weight 0.98": ht.policies.wgp_ucb(prior, weight=0.98),
        "ET-GP-UCB": ht.policies.et_gp_ucb(prior),
        "change points": ht.policies.cp_gp_ucb(prior),
        "W-DBO's memory": ht.policies.wdbo(prior),
        "UI-GP-UCB, rate 0.01": ht.policies.ui_gp_ucb(prior, rate=0.01),
        "Thompson sampling": ht.policies.tv_ts(prior),
        "PE-GP-UCB, 3 candidates": ht.policies.pe_gp_ucb(prior, (0.001, 0.01, 0.1)),
        "D-UCB, discount 0.999": ht.policies.d_ucb(low, high, discount=0.999),
        "SW-UCB, window 1,000": ht.policies.sw_ucb(low, high, window=1_000),
        "Exp3": ht.policies.exp3(low, high, horizon=LAST + SAMPLE),
        "RExp3, batch 500": ht.policies.rexp3(low, high, batch=500),
        "auto": ht.auto(ht.grid(*SIDES)),
    }


def _over_500_points(name: str, begin: Callable[[], Callable[[], float]]) -> Finding:
    """Both alternate, so that other work on the machine slows both."""
    young, old = begin(), begin()
    _repeat(young, FULL)
    _repeat(old, LAST)
    milliseconds = 1e3 * np.array([(young(), old()) for _ in range(SAMPLE)])
    early, late = np.median(milliseconds, axis=0).tolist()
    mean_early, mean_late = milliseconds.mean(axis=0).tolist()
    return Finding(
        f"{name}, 500 points: a step after 9,000 at most 1.5 times one after 3,000",
        f"median {late:.2f} ms against {early:.2f} ms: {late / early:.2f} times; "
        f"mean {mean_late:.2f} ms against {mean_early:.2f} ms",
        late / early <= 1.5,
    )


def _optimizing(policy: Policy) -> Callable[[], float]:
    optimizer = ht.Optimizer(ht.grid(*SIDES), policy, seed=0)
    rng = np.random.default_rng(0)
    return lambda: _timed_step(optimizer, partial(_hill, rng))


def _studying() -> Callable[[], float]:
    """Steps of a study over the same points, as integers."""
    space = {f"x{i}": ht.Integer(0, side - 1) for i, side in enumerate(SIDES)}
    study = ht.Study.create("flat", space, store="memory:")
    rng, longest = np.random.default_rng(0), np.array(SIDES) - 1.0

    def step() -> float:
        started = process_time()
        ask = study.ask()
        asked = process_time()
        x = np.array([ask.params[name] for name in space]) / longest
        y = _value(x, ask.t) + 0.1 * rng.normal()
        telling = process_time()
        study.tell(ask.id, y)
        return process_time() - telling + asked - started

    return step


def _box(name: str, box: Domain, prior: ht.Prior, last: tuple[int, int] = LATE) -> Finding:
    """Steps in between are told without asking, which saves half an hour."""
    optimizer = ht.Optimizer(box, ht.tv_gp_ucb(prior), seed=0)
    rng = np.random.default_rng(0)
    means, measure = [], partial(_hill, rng)
    for start, _ in (EARLY, last):
        while len(optimizer.history) < start:
            _tell_block(optimizer, rng, start)
        means.append(float(np.mean([_timed_step(optimizer, measure) for _ in range(BOX_SAMPLE)])))
    early, late = means
    return Finding(
        f"{name}: a step after {last[0]:,} told at most 1.5 times one after 1,000",
        f"{1e3 * late:.1f} ms against {1e3 * early:.1f} ms: {late / early:.2f} times",
        late / early <= 1.5,
    )


def _tell_block(optimizer: ht.Optimizer, rng: np.random.Generator, most: int) -> None:
    told = len(optimizer.history)
    latest = optimizer.history.t[-1] if told else 0.0
    times = latest + np.arange(1.0, 1.0 + min(1_000, most - told))
    points = rng.random((len(times), optimizer.domain.dimension))
    values = [_value(x, t) + 0.1 * rng.normal() for x, t in zip(points, times, strict=True)]
    optimizer.tell_many(times, points, values)


def _of_world(episode: Episode, asked: Suggestion) -> float:
    return episode.measure(asked.t, asked.index or 0)


def _noisy_hill() -> Measure:
    return partial(_hill, np.random.default_rng(0))


def _hill(rng: np.random.Generator, asked: Suggestion) -> float:
    """A moving hill, measured with noise."""
    return _value(asked.x, asked.t) + 0.1 * float(rng.normal())


def _timed_step(optimizer: ht.Optimizer, measure: Measure) -> float:
    started = process_time()
    suggestion = optimizer.ask()
    asked = process_time()
    y = measure(suggestion)
    telling = process_time()
    optimizer.tell(suggestion, y)
    return process_time() - telling + asked - started


def _value(x: Array, t: float) -> float:
    return float(np.sin(6.0 * x[0] + t / 50.0) + np.cos(5.0 * x[1] - t / 80.0))


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
