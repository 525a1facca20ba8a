"""Functions that come back: A B A B A, and the regret after each change.

A and B are drawn over 60 points of a line (Matern 5/2, length scale 0.2, variance 1, noise variance
0.01), with levels that differ by up to 6. Each holds for 60 results. Everything is learned. The
rival is a jump to something new: A, then another function at each change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.gaussian_process.kernels import Matern

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.validation import Array

DOMAIN, NOISE, FIRST_SEED = ht.grid(60), 0.01, 520_000
RESULTS, AFTER, WORLDS = 60, 30, 20


def regrets(functions: Sequence[Array], seed: int) -> Array:
    """The mean regret of the first results under each function."""
    opt, rng = ht.Optimizer(DOMAIN, ht.auto(DOMAIN), seed=seed), np.random.default_rng([seed, 1])
    means = []
    for f in functions:
        chosen = []
        for _ in range(RESULTS):
            ask = opt.ask()
            assert ask.index is not None
            opt.tell(ask, float(f[ask.index]) + NOISE**0.5 * rng.standard_normal())
            chosen.append(float(f.max() - f[ask.index]))
        means.append(float(np.mean(chosen[:AFTER])))
    return np.array(means)


def findings(worlds: int = WORLDS) -> Iterator[Finding]:
    K = Matern(0.2, nu=2.5)(DOMAIN.points) + 1e-9 * np.eye(len(DOMAIN))
    L, back, new = np.linalg.cholesky(K), [], []
    for seed in range(FIRST_SEED, FIRST_SEED + worlds):
        rng = np.random.default_rng(seed)
        drawn = [L @ rng.standard_normal(len(L)) + rng.uniform(-3.0, 3.0) for _ in range(5)]
        a, b = drawn[:2]
        back.append(regrets([a, b, a, b, a], seed)[2:])
        new.append(regrets(drawn, seed)[2:])
    ratios = np.mean(back, axis=0) / np.mean(new, axis=0)
    error = float(np.std(np.mean(back, axis=1), ddof=1) / np.sqrt(worlds) / np.mean(new))
    yield Finding(
        f"A B A B A: regret of the first {AFTER} results after the returns at most 0.5 of that "
        "after a jump to something new",
        f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} (+- {error:.2f}), {worlds} worlds",
        bool((ratios[1:] <= 0.5).all()),
    )


if __name__ == "__main__":
    for found in findings():
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}", flush=True)
