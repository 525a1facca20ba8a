"""What one fault, an outage, a jump or many outliers cost the default policy.

Worlds are drawn from the paper's model over 60 points of a line: Matern 5/2 of length scale 0.2 and
variance 1, noise variance 0.01, epsilon 0.003. Everything is learned. Each run has a twin in the
same world, with the same seed, without the disturbance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

import numpy as np
from sklearn.gaussian_process.kernels import Matern

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.environments import GPDrift
from heliotrope.validation import Array

DOMAIN, NOISE, FIRST_SEED = ht.grid(60), 0.01, 70_000
PRIOR = ht.Prior(Matern(0.2, nu=2.5), ht.Forgetting(0.003), NOISE)
SPIKES, LENGTHS = (3.0, 5.0, 10.0, 20.0, 100.0), (1, 2, 3, 5, 8, 12, 20, 30)
BEFORE, AFTER = 60, 100

Disturbance = Callable[[int, float], float]
"""The value that is told in place of another, by step."""


def findings() -> Iterator[Finding]:
    yield from _spikes(100)
    yield from _outages(24)
    yield from _jumps(40)
    yield _outliers(40)


def _world(seed: int, horizon: int) -> tuple[Array, Array]:
    """True and measured values, (T, M)."""
    values = GPDrift(DOMAIN, PRIOR).episode(horizon, FIRST_SEED + seed).values
    noise = np.random.default_rng([FIRST_SEED, seed]).normal(scale=NOISE**0.5, size=values.shape)
    return values.copy(), values + noise


def _step(opt: ht.Optimizer, measured: Array, told: Disturbance, step: int) -> int:
    ask = opt.ask()
    assert ask.index is not None
    opt.tell(ask, told(step, float(measured[step, ask.index])))
    return ask.index


def _regrets(opt: ht.Optimizer, values: Array, measured: Array, told: Disturbance) -> Array:
    chosen = [_step(opt, measured, told, step) for step in range(len(values))]
    return np.asarray(values.max(axis=1) - values[np.arange(len(values)), chosen])


def _new(seed: int) -> ht.Optimizer:
    return ht.Optimizer(DOMAIN, ht.auto(DOMAIN), seed=seed)


def _as_measured(_step: int, y: float) -> float:
    return y


def _always(value: float) -> Disturbance:
    return lambda _step, _y: value


def _spikes(worlds: int) -> Iterator[Finding]:
    """After 40 clean results comes one spike; the twin gets a clean result instead."""
    losses = {(factor, sign): list[float]() for factor in SPIKES for sign in (1.0, -1.0)}
    for seed in range(worlds):
        values, measured = _world(seed, 41)
        opt = _new(seed)
        _regrets(opt, values[:40], measured[:40], _as_measured)
        largest = float(np.abs(opt.history.y).max())
        clean = _loss_after(opt, values, measured, _as_measured)
        for factor, sign in losses:
            told = _always(sign * factor * largest)
            losses[factor, sign].append(_loss_after(opt, values, measured, told) - clean)
    for sign, name in ((1.0, "high"), (-1.0, "low")):
        shares = [float(np.mean(np.array(losses[one, sign]) < 0.1)) for one in SPIKES]
        said = ", ".join(f"{one:.0%}" for one in shares)
        yield Finding(
            f"a {name} spike of 3, 5, 10, 20, 100 times after 40 results: the believed best gets "
            "worse by less than a tenth of a deviation in 95 % of the worlds",
            f"{said} of {worlds} worlds",
            min(shares) >= 0.95,
        )


def _loss_after(opt: ht.Optimizer, values: Array, measured: Array, told: Disturbance) -> float:
    twin = deepcopy(opt)
    _step(twin, measured, told, 40)
    best = twin.best().index
    assert best is not None
    return float(values[40].max() - values[40, best])


def _outages(worlds: int) -> Iterator[Finding]:
    """Results of -10 for a while, which are 10 deviations; regret of the 100 steps after it."""
    ratios = []
    for length in LENGTHS:
        end = BEFORE + length

        def told(step: int, y: float, end: int = end) -> float:
            return -10.0 if BEFORE <= step < end else y

        own, clean = np.zeros(worlds), np.zeros(worlds)
        for seed in range(worlds):
            world = _world(100 + seed, end + AFTER)
            own[seed] = _regrets(_new(seed), *world, told)[end:].mean()
            clean[seed] = _regrets(_new(seed), *world, _as_measured)[end:].mean()
        ratios.append(own.mean() / clean.mean())
    yield Finding(
        f"outages of {', '.join(map(str, LENGTHS))} results: regret over the next {AFTER} steps at "
        "most 1.3 times that of the clean twin",
        f"{', '.join(f'{one:.2f}' for one in ratios)}, {worlds} worlds each",
        max(ratios) <= 1.3,
    )


def _jumps(worlds: int) -> Iterator[Finding]:
    """A jump of the level by 5, of the place (the line turned around), or of both."""
    for name, level, turned in (("level", 5.0, False), ("place", 0.0, True), ("both", 5.0, True)):
        own, fresh = np.zeros(worlds), np.zeros(worlds)
        for seed in range(worlds):
            values, measured = _world(200 + seed, BEFORE + AFTER)
            for some in (values, measured):
                some[BEFORE:] = some[BEFORE:, ::-1] if turned else some[BEFORE:]
                some[BEFORE:] += level * (-1.0) ** seed
            own[seed] = _regrets(_new(seed), values, measured, _as_measured)[BEFORE:].mean()
            later = values[BEFORE:], measured[BEFORE:]
            fresh[seed] = _regrets(_new(seed), *later, _as_measured).mean()
        ratio = own.mean() / fresh.mean()
        yield Finding(
            f"a jump of {name}: regret over the next {AFTER} steps at most 1.5 times that of an "
            "optimizer that starts at the jump",
            f"{own.mean():.3f} against {fresh.mean():.3f}: {ratio:.2f} times, {worlds} worlds",
            ratio <= 1.5,
        )


def _outliers(worlds: int) -> Finding:
    """One result in ten is 3 to 100 deviations away, of either sign."""
    own, clean = np.zeros(worlds), np.zeros(worlds)
    for seed in range(worlds):
        rng, horizon = np.random.default_rng([FIRST_SEED, seed, 1]), BEFORE + AFTER
        added = rng.choice([-1.0, 1.0], horizon) * 3.0 * (100.0 / 3.0) ** rng.random(horizon)
        added[rng.random(horizon) >= 0.1] = 0.0

        def told(step: int, y: float, added: Array = added) -> float:
            return y + float(added[step])

        world = _world(300 + seed, horizon)
        own[seed] = _regrets(_new(seed), *world, told).mean()
        clean[seed] = _regrets(_new(seed), *world, _as_measured).mean()
    ratio = own.mean() / clean.mean()
    return Finding(
        "10 % outliers of 3 to 100 deviations: regret at most 1.5 times that of the clean twin",
        f"{own.mean():.3f} against {clean.mean():.3f}: {ratio:.2f} times, {worlds} worlds",
        ratio <= 1.5,
    )
