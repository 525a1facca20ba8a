"""The gain over the baseline under a daily level that is five times as large as the gain.

The places of a line of 30 points differ by a Gaussian process that stays, of variance 1. All share
a level of period 24 and amplitude 2.5. The baseline is the point whose value is nearest to half a
deviation below the best. ``auto`` learns all parameters. After 200 results, the 95 % interval of
the gain should hold the true gain of the point that is believed best, and should exclude 0. A run
continues where the last one ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from benchmarks.kept import Kept
from benchmarks.report import Finding
from heliotrope.live import Live

POINTS, RESULTS, WORLDS, FIRST_SEED = 30, 200, 100, 130_000
GAIN, LEVEL, PERIOD, NOISE = 0.5, 2.5, 24.0, 0.3  # noise: standard deviation


class Outcome(NamedTuple):
    """The true gain, and its interval."""

    truth: float
    low: float
    high: float


def play(seed: int) -> Outcome:
    rng = np.random.default_rng([FIRST_SEED, seed])
    domain = ht.grid(POINTS)
    K = RBF(0.2)(domain.points) + 1e-9 * np.eye(POINTS)
    f = np.linalg.cholesky(K) @ rng.standard_normal(POINTS)
    baseline = int(np.abs(f - (f.max() - GAIN)).argmin())
    opt = ht.Optimizer(domain, ht.auto(domain), seed=seed, live=Live(baseline=baseline))
    for step in range(RESULTS):
        ask = opt.ask()
        level = LEVEL * np.sin(2.0 * np.pi * step / PERIOD)
        opt.tell(ask, float(f[ask.index] + level + NOISE * rng.standard_normal()))
    gain, best = opt.gain(), opt.best().index
    return Outcome(float(f[best] - f[baseline]), gain.low, gain.high)


def findings(worlds: int = WORLDS) -> Iterator[Finding]:
    kept = Kept("gain")
    outcomes = [Outcome(*kept.get(seed, partial(play, seed))) for seed in range(worlds)]
    held = sum(one.low <= one.truth <= one.high for one in outcomes)
    large = [one for one in outcomes if one.truth > 0.0]
    excluded = sum(one.low > 0.0 for one in outcomes)
    width = np.median([one.high - one.low for one in outcomes])
    yield Finding(
        "the interval of the gain holds the truth at least 92 times in 100",
        f"{held} of {worlds}, median width {width:.2f}",
        held >= 0.92 * worlds,
    )
    yield Finding(
        "after 200 results it excludes 0 at least 90 times in 100",
        f"{excluded} of {worlds}; the best was better in {len(large)}",
        excluded >= 0.9 * worlds,
    )


if __name__ == "__main__":
    for found in findings(int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS):
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}", flush=True)
