"""The price of moving: the length of the path, and the regret, by the cost of a move.

The function is a Gaussian process of variance 1 over 41 points of the unit interval, its parameters
are known, and 200 steps are made. ``python -m benchmarks.live_moves PICTURE`` also draws them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.environments import GPDrift
from heliotrope.live import Live

POINTS, STEPS, WORLDS, FIRST_SEED, NOISE = 41, 200, 8, 50_000, 0.01
DRIFTS, COSTS, DEAR, LARGEST = (0.003, 0.02), (0.0, 1.0, 3.0, 10.0), 3.0, 0.1


class Path(NamedTuple):
    """Averages over a run: regret and distance of a step; and its longest step."""

    regret: float
    length: float
    longest: float

    def paid(self, cost: float) -> float:
        """Regret and cost of a step, if moving by 1 costs this much."""
        return self.regret + cost * self.length


def play(drift: float, seed: int, live: Live) -> Path:
    domain = ht.grid(POINTS)
    prior = ht.Prior(RBF(0.2), ht.Forgetting(drift), NOISE)
    values = GPDrift(domain, prior).episode(STEPS, FIRST_SEED + seed).values
    noise = np.sqrt(NOISE) * np.random.default_rng([FIRST_SEED, seed]).standard_normal(STEPS)
    opt = ht.Optimizer(domain, ht.tv_gp_ucb(prior, beta=2.0), seed=seed, live=live)
    for step in range(STEPS):
        ask = opt.ask()
        opt.tell(ask, float(values[step, ask.index] + noise[step]))
    runs = opt.history.index
    moved = np.abs(np.diff(opt.history.x[:, 0]))
    regret = values.max(axis=1) - values[np.arange(STEPS), runs]
    return Path(float(regret.mean()), float(moved.mean()), float(moved.max()))


@cache
def average(drift: float, cost: float, largest: float | None = None) -> Path:
    """Averages over the worlds, and the longest step of all."""
    bounds = {} if largest is None else {"0": largest}
    live = Live(moves={"cost": {"0": cost}, "largest": bounds}, safe=[POINTS // 2])
    runs = np.array([play(drift, seed, live) for seed in range(WORLDS)])
    regret, length, _ = runs.mean(axis=0).tolist()
    return Path(regret, length, float(runs[:, 2].max()))


def findings() -> Iterator[Finding]:
    for drift in DRIFTS:
        runs = {cost: average(drift, cost) for cost in COSTS}
        told = ", ".join(f"{c:g}: {one.length:.4f}, {one.regret:.3f}" for c, one in runs.items())
        free = runs[0.0]
        saved = {c: 1.0 - one.paid(c) / free.paid(c) for c, one in runs.items() if c}
        yield Finding(
            f"drift {drift}: with dear moves, regret plus cost is lower than if cost is ignored",
            f"length and regret of a step by cost: {told}; saved "
            + ", ".join(f"{share:.0%}" for share in saved.values()),
            min(share for cost, share in saved.items() if cost >= DEAR) > 0.0,
        )
        near = average(drift, 0.0, LARGEST)
        yield Finding(
            f"drift {drift}: no step longer than {LARGEST}",
            f"longest {near.longest:.3f}, regret {near.regret:.3f} against {free.regret:.3f}",
            near.longest <= LARGEST + 1e-9,
        )


def picture(path: str) -> None:
    """Draw the regret over the length of the path, one line for each drift."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
    for drift in DRIFTS:
        runs = [average(drift, cost) for cost in COSTS]
        lengths, regrets = [one.length for one in runs], [one.regret for one in runs]
        axes.plot(lengths, regrets, "o-", label=f"drift {drift}")
        for cost, one in zip(COSTS, runs, strict=True):
            at = (one.length, one.regret)
            axes.annotate(f"{cost:g}", at, textcoords="offset points", xytext=(6, 6))
    axes.set(
        xlabel="distance moved in a step",
        ylabel="regret of a step",
        title="Labels are the cost of moving by 1",
    )
    axes.margins(0.1)
    axes.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    for found in findings():
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}", flush=True)
    if len(sys.argv) > 1:
        picture(sys.argv[1])
