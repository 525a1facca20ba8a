"""When to measure: holding by the value of a measurement, against measuring at fixed intervals.

At each of 300 steps the system runs the setting that is believed best. A measurement costs 0.3, and
at its step the system runs the setting that is asked for. The function is a Gaussian process of
variance 1 over 25 points of a line; its parameters are known to all. The cost of a step is the
regret of what runs, and the price of the measurement if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.environments import GPDrift
from heliotrope.live import Live

POINTS, STEPS, WORLDS, FIRST_SEED = 25, 300, 12, 40_000
COST, NOISE = 0.3, 0.01
DRIFTS, INTERVALS = (0.003, 0.01, 0.03), (1, 2, 3, 5, 8, 12, 20, 30)

When = Callable[[ht.Optimizer, float], bool]


def every(interval: int) -> When:
    return lambda _, t: (t - 1.0) % interval == 0.0


def when_worth(opt: ht.Optimizer, t: float) -> bool:
    return opt.hold(COST, t) is None


def play(drift: float, seed: int, when: When) -> tuple[float, float]:
    """The cost of a step, and the share of steps with a measurement."""
    domain = ht.grid(POINTS)
    prior = ht.Prior(RBF(0.2), ht.Forgetting(drift), NOISE)
    values = GPDrift(domain, prior).episode(STEPS, FIRST_SEED + seed).values
    noise = np.sqrt(NOISE) * np.random.default_rng([FIRST_SEED, seed]).standard_normal(STEPS)
    opt = ht.Optimizer(domain, ht.tv_gp_ucb(prior, beta=2.0), seed=seed, live=Live())
    paid, measured = 0.0, 0
    for step in range(STEPS):
        t = step + 1.0
        if when(opt, t):
            ask = opt.ask(t)
            runs = int(ask.index or 0)
            opt.tell(ask, float(values[step, runs] + noise[step]))
            paid, measured = paid + COST, measured + 1
        else:
            runs = int(opt.best(t).index or 0)
        paid += float(values[step].max() - values[step, runs])
    return paid / STEPS, measured / STEPS


def findings() -> Iterator[Finding]:
    for drift in DRIFTS:
        fixed = {
            n: np.mean([play(drift, s, every(n))[0] for s in range(WORLDS)]) for n in INTERVALS
        }
        held = np.array([play(drift, seed, when_worth) for seed in range(WORLDS)])
        best = min(fixed, key=lambda n: fixed[n])
        table = ", ".join(f"{n}: {cost:.3f}" for n, cost in fixed.items())
        yield Finding(
            f"drift {drift}: regret plus cost at most 10 % above the best fixed interval",
            f"{held[:, 0].mean():.3f} against {fixed[best]:.3f} at {best} "
            f"({held[:, 0].mean() / fixed[best] - 1.0:+.0%}); it measured {held[:, 1].mean():.0%} "
            f"of the steps; by interval {table}",
            bool(held[:, 0].mean() <= 1.1 * fixed[best]),
        )


if __name__ == "__main__":
    for found in findings():
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}", flush=True)
