"""Accuracy of the learned drift: from panels, and by a policy from its own data."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

import heliotrope as ht
from benchmarks.report import Finding
from benchmarks.tracking import average_regrets
from heliotrope.estimation import Observations, Panel, fit, log_likelihood
from heliotrope.lab.environments import Episode, GPDrift
from heliotrope.policies import Policy
from heliotrope.terms import Drifts, Level, Stays

REPETITIONS, SUMS = 100, 40


def findings() -> Iterator[Finding]:
    yield from _panel_speed()
    with threadpool_limits(1):
        for epsilon in (0.003, 0.03, 0.3):
            yield _coverage(epsilon)
        yield from _sum_coverage()
        for epsilon, limit in ((0.001, 1.20), (0.006, 1.05), (0.02, 1.05), (0.05, 1.05)):
            yield from _regret(epsilon, limit)
        yield _flat()


def _panel(epsilon: float, points: int, steps: int, seed: int, noise: float) -> Panel:
    domain = ht.Finite(np.random.default_rng(1).random((points, 2)))
    world = GPDrift(domain, ht.Prior(RBF(0.4), ht.Forgetting(epsilon), noise))
    values = world.episode(steps, seed).values
    z = np.random.default_rng([seed, 7]).normal(scale=np.sqrt(noise), size=values.shape)
    return Panel(np.arange(1.0, steps + 1.0), values + z, domain.points)


def _panel_speed() -> Iterator[Finding]:
    """46 sensors x 432 steps; the dense formula is timed at 2,000 values and grows as n^3."""
    panel, prior = _panel(0.03, 46, 432, 0, 0.5), ht.Prior(RBF(0.4), ht.Forgetting(0.1), 0.5)
    seconds = _best_of(5, lambda: log_likelihood(prior, panel))
    few, rng = 2_000, np.random.default_rng(0)
    data = Observations(np.repeat(np.arange(50.0), 40), rng.random((few, 2)), rng.normal(size=few))
    dense = _best_of(3, lambda: log_likelihood(prior, data)) * (panel.values.size / few) ** 3
    yield Finding(
        "46 x 432 panel: a likelihood under 30 ms, 100 times faster than dense (extrapolated)",
        f"{1e3 * seconds:.0f} ms against {dense:.0f} s: {dense / seconds:.0f} times",
        seconds < 0.03 and dense / seconds > 100,
        ratio=dense / seconds,
    )
    fitting = _best_of(3, lambda: fit(prior, panel).value)
    yield Finding(
        "46 x 432 panel: epsilon with its interval, noise and length scale within 2 s",
        f"{fitting:.2f} s",
        fitting < 2,
    )


def _coverage(epsilon: float) -> Finding:
    prior, covered = ht.Prior(RBF(0.4), ht.Forgetting(0.1), 0.05), 0
    for seed in range(REPETITIONS):
        found = fit(prior, _panel(epsilon, 30, 300, seed, 0.05), learn=("epsilon",))
        assert found.interval is not None
        covered += found.interval[0] <= epsilon <= found.interval[1]
    return Finding(
        f"30 x 300 panels, epsilon {epsilon}: 95 % interval covers the true value in 90 of 100",
        f"{covered} of {REPETITIONS}",
        covered >= 90,
    )


def _sum_coverage() -> Iterator[Finding]:
    """200 results at random cells of 15 places x 60 steps; every parameter is unknown."""
    truth = _stays_drifts_level(0.5, 0.5, 0.4, 0.05, 0.08, 0.03)
    start = _stays_drifts_level(0.4, 0.4, 0.3, 0.05, 0.1, 0.1)
    signal = 0.5 + 0.5 + 0.4 + 0.05
    true = {"stays": 0.5 / signal, "drifts": 0.5 / signal, "level": 0.4 / signal}
    true |= {"noise": 0.05 / signal, "drifts.epsilon": 0.08, "level.epsilon": 0.03}
    covered = dict.fromkeys(true, 0)
    for seed in range(SUMS):
        found = fit(start, _drawn(truth, 200, seed), restarts=0)
        for name, one in {**found.shares, **found.rates}.items():
            covered[name] += one.low <= true[name] <= one.high
    for name, count in covered.items():
        yield Finding(
            f"stays + drifts + level: 95 % interval of {name} covers the true value in 34 of 40",
            f"{count} of {SUMS}",
            count >= 34,
        )


def _stays_drifts_level(
    stays: float, drifts: float, level: float, noise: float, epsilon: float, of_level: float
) -> ht.Prior:
    terms = [
        Stays(stays * RBF(0.3)),
        Drifts(drifts * RBF(0.3), epsilon=epsilon),
        Level(level, epsilon=of_level),
    ]
    return ht.Prior(noise=noise, terms=terms)


def _drawn(prior: ht.Prior, count: int, seed: int) -> Observations:
    rng = np.random.default_rng(seed)
    places, cells = rng.random((15, 1)), rng.choice(15 * 60, count, replace=False)
    t, x = 1.0 + (cells // 15).astype(float), places[cells % 15]
    domain, index = ht.Finite(places), cells % 15
    C = prior.noise * np.eye(count)
    for term, kernel in zip(prior.terms, prior.kernels_over(domain), strict=True):
        C += kernel.block(index, index) * term.in_time(t[:, None], t[None, :])
    return Observations(t, x, np.linalg.cholesky(C) @ rng.normal(size=count))


def _regret(epsilon: float, limit: float) -> Iterator[Finding]:
    prior = ht.Prior(RBF(0.2), ht.Forgetting(epsilon), noise=0.01)
    wrong = [value for value in (epsilon / 20, epsilon * 20) if value <= 1.0]
    policies: dict[str, Policy] = {
        "known": ht.tv_gp_ucb(prior),
        "learned": ht.tv_gp_ucb(prior, learn=ht.Learn()),
    }
    for value in wrong:
        mistaken = ht.Prior(RBF(0.2), ht.Forgetting(value), noise=0.01)
        policies[f"fixed {value:g}"] = ht.tv_gp_ucb(mistaken)
    regrets = average_regrets(GPDrift(ht.grid(50, 50), prior), policies)
    ratio = float(regrets["learned"].mean() / regrets["known"].mean())
    yield Finding(
        f"epsilon {epsilon} unknown: regret within {limit - 1:.0%} of knowing it",
        f"{regrets['learned'].mean():.3f} against {regrets['known'].mean():.3f}: {ratio:.3f}",
        ratio <= limit,
        ratio=ratio,
    )
    for value in wrong:
        fixed = float(regrets[f"fixed {value:g}"].mean())
        yield Finding(
            f"epsilon {epsilon} unknown: regret below that of the fixed wrong {value:g}",
            f"{regrets['learned'].mean():.3f} against {fixed:.3f}",
            float(regrets["learned"].mean()) < fixed,
        )


def _flat() -> Finding:
    """Early and late steps alternate, so that other work on the machine slows both."""
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.01), noise=0.01)
    domain, policy = ht.grid(25, 25), ht.tv_gp_ucb(prior, learn=ht.Learn())
    episode = GPDrift(domain, prior).episode(5_000, seed=0)
    runs = ht.Optimizer(domain, policy, seed=0), ht.Optimizer(domain, policy, seed=0)
    for optimizer, steps in zip(runs, (500, 4_000), strict=True):
        for _ in range(steps):
            _step_seconds(optimizer, episode)
    seconds = [[_step_seconds(optimizer, episode) for optimizer in runs] for _ in range(1_000)]
    early, late = np.mean(seconds, axis=0).tolist()
    return Finding(
        "learning while tracking: steps 4,000 to 5,000 cost the same as steps 500 to 1,500",
        f"{1e3 * late:.2f} ms against {1e3 * early:.2f} ms: {late / early:.2f} times",
        late / early <= 1.25,
    )


def _step_seconds(optimizer: ht.Optimizer, episode: Episode) -> float:
    started = perf_counter()
    suggestion = optimizer.ask()
    value = episode.measure(len(optimizer.history) + 1, suggestion.index or 0)
    optimizer.tell(suggestion, value)
    return perf_counter() - started


def _best_of(repeats: int, action: object) -> float:
    assert callable(action)
    seconds = []
    for _ in range(repeats):
        started = perf_counter()
        action()
        seconds.append(perf_counter() - started)
    return min(seconds)
