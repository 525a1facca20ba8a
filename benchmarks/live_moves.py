"""The price of moving: the length of the path, and the regret, by the cost of a move.

The function is a Gaussian process of variance 1 over 41 points of the unit interval, its parameters
are known, and 200 steps are made. ``python -m benchmarks.live_moves PICTURE`` also draws them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.environments import GPDrift
from heliotrope.live import Live

POINTS, STEPS, WORLDS, FIRST_SEED, NOISE = 41, 200, 12, 50_000, 0.01
DRIFTS, COSTS, LARGEST = (0.003, 0.02), (0.0, 0.3, 1.0, 3.0, 10.0), 0.1


class Path(NamedTuple):
    """Averages over a run: regret and distance of a step; and its longest step."""

    regret: float
    length: float
    longest: float


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


def average(drift: float, live: Live) -> Path:
    runs = np.array([play(drift, seed, live) for seed in range(WORLDS)])
    regret, length, _ = runs.mean(axis=0).tolist()
    return Path(regret, length, float(runs[:, 2].max()))


def findings() -> Iterator[Finding]:
    for drift in DRIFTS:
        free, *dear = [average(drift, Live(moves={"cost": {"0": cost}})) for cost in COSTS]
        rows = zip(COSTS, [free, *dear], strict=True)
        told = ", ".join(f"{cost:g}: {one.length:.4f}, {one.regret:.3f}" for cost, one in rows)
        lengths = [free.length, *(one.length for one in dear)]
        yield Finding(
            f"drift {drift}: a dearer move makes the path shorter",
            f"length and regret of a step by cost: {told}",
            bool(np.all(np.diff(lengths) < 0.0)),
        )
        near = average(drift, Live(moves={"largest": {"0": LARGEST}}, safe=[POINTS // 2]))
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
        runs = [average(drift, Live(moves={"cost": {"0": cost}})) for cost in COSTS]
        axes.plot(
            [one.length for one in runs], [one.regret for one in runs], "o-", label=f"drift {drift}"
        )
        for cost, one in zip(COSTS, runs, strict=True):
            axes.annotate(
                f"{cost:g}", (one.length, one.regret), textcoords="offset points", xytext=(6, 6)
            )
    axes.set(
        xlabel="distance moved in a step",
        ylabel="regret of a step",
        title="Moves cost: labels are the cost of moving by 1",
    )
    axes.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    for found in findings():
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}", flush=True)
    if len(sys.argv) > 1:
        picture(sys.argv[1])
