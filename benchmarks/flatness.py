"""A step's cost and the memory after many steps, against those after few."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.arrays import Array
from heliotrope.domains import Domain
from heliotrope.policies import Policy

EARLY, LATE = (1_000, 2_000), (19_000, 20_000)
BOX_SAMPLE = 300  # steps timed in each stretch of a Box
FULL, LAST = (3_000, 4_000), (9_000, 10_000)  # memories have by then forgotten what they will


def findings() -> Iterator[Finding]:
    yield from _finite()
    yield _box("2-D Box, SE", ht.Box([0] * 2, [1] * 2), ht.Prior(RBF(0.2), ht.Forgetting(0.01)))
    rough = ht.Prior(Matern(0.5, nu=2.5), ht.Forgetting(0.01))
    yield _box("6-D Box, Matern 5/2", ht.Box([0] * 6, [1] * 6), rough)
    yield from _memories()


def _finite() -> Iterator[Finding]:
    prior = ht.Prior(Matern(0.2, nu=2.5), ht.Forgetting(0.01), noise=0.01)
    optimizer = ht.Optimizer(ht.grid(50, 50), ht.tv_gp_ucb(prior), seed=0)
    rng = np.random.default_rng(0)
    seconds, memory = np.zeros(LATE[1]), {}
    for step in range(LATE[1]):
        if step in (EARLY[1], LATE[1] - 1):
            memory[step] = _resident_megabytes()
        seconds[step] = _timed_step(optimizer, rng)
    early, late = float(seconds[slice(*EARLY)].mean()), float(seconds[slice(*LATE)].mean())
    yield Finding(
        "2,500 points: a step in 19,000 to 20,000 at most 1.25 times one in 1,000 to 2,000",
        f"{1e3 * late:.2f} ms against {1e3 * early:.2f} ms: {late / early:.2f} times",
        late / early <= 1.25,
    )
    grown = memory[LATE[1] - 1] - memory[EARLY[1]]
    yield Finding(
        "2,500 points: resident memory grows by less than 20 MB between",
        f"{grown:.1f} MB",
        grown < 20,
    )


def _memories() -> Iterator[Finding]:
    """Every memory over 500 points."""
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.01), noise=0.01)
    policies: dict[str, Policy] = {
        "SW-GP-UCB, window 100": ht.sw_gp_ucb(prior, window=100),
        "WGP-UCB, weight 0.98": ht.wgp_ucb(prior, weight=0.98),
        "ET-GP-UCB": ht.et_gp_ucb(prior),
        "change points": ht.cp_gp_ucb(prior),
        "W-DBO's memory": ht.wdbo(prior),
    }
    for name, policy in policies.items():
        optimizer = ht.Optimizer(ht.grid(25, 20), policy, seed=0)
        rng = np.random.default_rng(0)
        seconds = np.array([_timed_step(optimizer, rng) for _ in range(LAST[1])])
        early, late = float(seconds[slice(*FULL)].mean()), float(seconds[slice(*LAST)].mean())
        yield Finding(
            f"{name}, 500 points: a step after 9,000 at most 1.5 times one after 3,000",
            f"{1e3 * late:.2f} ms against {1e3 * early:.2f} ms: {late / early:.2f} times",
            late / early <= 1.5,
        )


def _box(name: str, box: Domain, prior: ht.Prior) -> Finding:
    """Steps in between are told without asking, or this would take half an hour."""
    optimizer = ht.Optimizer(box, ht.tv_gp_ucb(prior), seed=0)
    rng = np.random.default_rng(0)
    means = []
    for start, _ in (EARLY, LATE):
        while len(optimizer.history) < start:
            _tell_block(optimizer, rng)
        means.append(float(np.mean([_timed_step(optimizer, rng) for _ in range(BOX_SAMPLE)])))
    early, late = means
    return Finding(
        f"{name}: a step after 19,000 told at most 1.5 times one after 1,000",
        f"{1e3 * late:.1f} ms against {1e3 * early:.1f} ms: {late / early:.2f} times",
        late / early <= 1.5,
    )


def _tell_block(optimizer: ht.Optimizer, rng: np.random.Generator) -> None:
    told = len(optimizer.history)
    latest = optimizer.history.t[-1] if told else 0.0
    times = latest + np.arange(1.0, 1.0 + min(1_000, 19_000 - told))
    points = rng.random((len(times), optimizer.domain.dimension))
    values = [_value(x, t) + 0.1 * rng.normal() for x, t in zip(points, times, strict=True)]
    optimizer.tell_many(times, points, values)


def _timed_step(optimizer: ht.Optimizer, rng: np.random.Generator) -> float:
    started = perf_counter()
    suggestion = optimizer.ask()
    asked = perf_counter()
    y = _value(suggestion.x, suggestion.t) + 0.1 * rng.normal()
    telling = perf_counter()
    optimizer.tell(suggestion, y)
    return perf_counter() - telling + asked - started


def _value(x: Array, t: float) -> float:
    return float(np.sin(6.0 * x[0] + t / 50.0) + np.cos(5.0 * x[1] - t / 80.0))


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
