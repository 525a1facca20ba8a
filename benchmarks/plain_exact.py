"""Exact functions: every result is told, and the best parameters are the true ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.plain.named import cube
from heliotrope.validation import Array

FUNCTIONS, STEPS, CLOSE = 50, 150, 1e-3

Cost = Callable[[Array], float]


def exact_findings() -> Iterator[Finding]:
    study = ht.Study.create(
        "b", {"x": ht.Real(0, 1)}, direction="minimize", store="memory:", seed=0
    )
    report = study.optimize(lambda p: (p["x"] - 0.3) ** 2, n=STEPS, progress=False)
    error = abs(study.best_params["x"] - 0.3)
    yield Finding(
        f"(x - 0.3)^2: {STEPS} results told, none cancelled, and x within 0.001",
        f"{report.told} told, {report.cancelled} cancelled, x within {error:.2g}",
        report.told == STEPS and report.cancelled == 0 and error <= CLOSE,
    )
    refused, errors = zip(*map(exact_error, range(FUNCTIONS)), strict=True)
    for seed, (count, off) in enumerate(zip(refused, errors, strict=True)):
        if count or off > CLOSE:
            print(f"exact_function({seed}): {count} cancelled, x within {off:.2g}")
    far = sum(off > CLOSE for off in errors)
    yield Finding(
        f"{FUNCTIONS} exact functions of 1 to 3 coordinates: none of {STEPS} results cancelled, "
        "and all coordinates within 0.001",
        f"{sum(refused)} cancelled, {far} functions farther than 0.001",
        not any(refused) and not far,
    )


def exact_function(seed: int) -> tuple[Cost, Array]:
    """An exact function of the unit cube in a random unit, and its minimum."""
    rng = np.random.default_rng([seed, 6])
    c = rng.uniform(0.05, 0.95, 1 + seed % 3)
    weights, scale = rng.uniform(0.5, 4.0, len(c)), 10.0 ** rng.uniform(-6.0, 6.0)
    offset, kind = scale * rng.uniform(-10.0, 10.0), int(rng.integers(len(_KINDS)))

    def cost(x: Array) -> float:
        return float(offset + scale * _KINDS[kind](weights * (x - c) ** 2))

    return cost, c


_KINDS: tuple[Callable[[Array], float], ...] = (
    lambda squares: float(squares.sum()),
    lambda squares: float(-np.exp(-4.0 * squares.sum())),
    lambda squares: float(np.log1p(10.0 * squares.sum())),
    lambda squares: float(np.sqrt(0.01 + squares).sum()),
)


def exact_error(seed: int) -> tuple[int, float]:
    """How many results were cancelled, and the largest error of a coordinate of the best."""
    cost, c = exact_function(seed)
    study = ht.Study.create("exact", cube(len(c)), direction="minimize", store="memory:", seed=seed)
    report = study.optimize(lambda params: cost(_point(params)), n=STEPS, progress=False)
    return report.cancelled, float(np.abs(_point(study.best_params) - c).max())


def _point(params: Mapping[str, Any]) -> Array:
    return np.array(list(params.values()), dtype=float)
