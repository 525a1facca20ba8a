"""Maximum difference between each engine and the paper's dense formulas over 300 steps.

A box without a budget also goes to 2,000 steps; the benchmark ``boxes`` has the one with a budget.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from threadpoolctl import threadpool_limits

import heliotrope as ht
from benchmarks import boxes
from benchmarks.report import Finding
from heliotrope import posterior as engines
from heliotrope.domains import Domain
from heliotrope.posterior import DenseEngine, ReferenceEngine, finite
from heliotrope.terms import Drifts, Level, Season, Smooth, Stays, Term, Trend, Walks

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from scenario import play

STEPS = 300
GRID, BOX = ht.grid(7, 7), ht.Box([0.0, 0.0], [1.0, 1.0])
KERNELS = {
    "SE": RBF(0.2),
    "Matern 3/2": Matern(0.2, nu=1.5),
    "Matern 5/2": Matern(0.2, nu=2.5),
    "sum": 0.5 * RBF(0.1) + Matern(0.6, nu=1.5),
    "product": ConstantKernel(4.0) * RBF(0.5) * Matern(0.8, nu=2.5),
    "Tabulated": ht.Tabulated(2.0 * RBF(0.3)(GRID.points) + 0.1 * np.eye(len(GRID))),
}
STAYS = Stays(0.5 * Matern([0.3, 0.4], nu=2.5))
TREND = Trend(0.1 * RBF(0.5), origin=100.0, unit=100.0)
SMOOTH = Smooth(0.4 * RBF(0.4), length=15.0, nu=1.5)
SETTINGS = list(product(KERNELS, (0.0, 0.001, 0.03, 1.0), (1e-4, 1e-2, 1.0), (False, True)))


def findings() -> Iterator[Finding]:
    with threadpool_limits(1):
        for name in ("SE", "Matern 5/2"):
            yield _defaults(name)
        yield _worst("box", BOX)
        with patch.object(finite, "_LEAST_CAPACITY", 16):  # compress many times in 300 steps
            yield _worst("finite", GRID)
            yield _worst_sum("finite", GRID)
        yield _worst_sum("box", BOX)
        yield from boxes.without_budget()


def _defaults(name: str) -> Finding:
    """The paper's grid and drift, default settings, 1,000 steps, two compressions."""
    prior, domain = ht.Prior(KERNELS[name], ht.Forgetting(0.01), noise=0.01), ht.grid(50, 50)
    engine, reference = engines.build(prior, domain), ReferenceEngine(prior, domain)
    mean = variance = 0.0
    for step, t in enumerate(play([engine, reference], domain, prior, steps=1000, irregular=True)):
        if step % 20 == 19:
            exact, found = (e.predict(t, domain.indices) for e in (reference, engine))
            mean = max(mean, float(np.abs(found[0] - exact[0]).max()))
            variance = max(variance, float(np.abs(found[1] - exact[1]).max()))
    return Finding(
        f"2,500 points, {name}, defaults, 1,000 irregular, late and open evaluations: within 1e-6",
        f"mean {mean:.1e}, variance {variance:.1e}",
        max(mean, variance) < 1e-6,
    )


def _worst(name: str, domain: Domain) -> Finding:
    """The maximum differences over all settings, with late, out-of-order and open results."""
    mean = variance = 0.0
    count = 0
    for kernel, epsilon, noise, irregular in SETTINGS:
        if domain is BOX and kernel == "Tabulated":
            continue
        prior = ht.Prior(KERNELS[kernel], ht.Forgetting(epsilon), noise)
        found = _differences(prior, domain, irregular)
        mean, variance, count = max(mean, found[0]), max(variance, found[1]), count + 1
    return Finding(
        f"{name} and dense engines within 1e-6 of the dense formulas at each of {STEPS} steps",
        f"mean {mean:.1e}, variance {variance:.1e} over {count} settings",
        max(mean, variance) < 1e-6,
    )


def _worst_sum(name: str, domain: Domain) -> Finding:
    """The same for every kind of term and for sums of 2, 3 and 5, with results of any precision."""
    mean = variance = 0.0
    settings = list(_sums())
    for number, terms in enumerate(settings):
        prior = ht.Prior(noise=0.01, mean=0.3, terms=terms)
        found = _differences(prior, domain, irregular=number % 3 > 0, mixed=True)
        mean, variance = max(mean, found[0]), max(variance, found[1])
    return Finding(
        f"sums, {name} and dense engines, standard errors that differ by factors of 100: within "
        f"1e-6 at each of {STEPS} steps",
        f"mean {mean:.1e}, variance {variance:.1e} over {len(settings)} settings",
        max(mean, variance) < 1e-6,
    )


def _sums() -> Iterator[Sequence[Term]]:
    yield from ([STAYS], [TREND], [SMOOTH], [Smooth(Matern(0.4, nu=2.5), length=8.0, nu=2.5)])
    yield [Walks(0.5 * RBF(0.4), growth=0.02)]
    for epsilon in (0.0, 0.02, 0.3):
        drifts, level = Drifts(0.5 * Matern(0.2, nu=2.5), epsilon=epsilon), Level(0.7, epsilon)
        season = Season(0.3 * RBF(0.4), period=24.0, harmonics=2, epsilon=min(epsilon, 0.001))
        yield from ([drifts], [STAYS, level], [season], [drifts, Season(0.5, period=7.0)])
        yield from ([STAYS, drifts], [STAYS, drifts, level], [STAYS, TREND, level])
        yield [STAYS, drifts, level, season, SMOOTH]
        yield [drifts, level, season, TREND, Season(0.5, period=7.0)]


def _differences(
    prior: ht.Prior, domain: Domain, irregular: bool, mixed: bool = False
) -> tuple[float, float]:
    reference = ReferenceEngine(prior, domain)
    fast = [engines.build(prior, domain), DenseEngine(prior, domain)]
    places = GRID.indices if domain is GRID else np.random.default_rng(9).random((40, 2))
    worst = np.zeros(2)
    played = [reference, *fast]
    for t in play(played, domain, prior, steps=STEPS, irregular=irregular, mixed=mixed):
        exact = reference.predict(t + 0.25, places)
        for engine in fast:
            found = engine.predict(t + 0.25, places)
            gaps = [np.abs(f - e).max() for f, e in zip(found, exact, strict=True)]
            worst = np.maximum(worst, gaps)
    return float(worst[0]), float(worst[1])
