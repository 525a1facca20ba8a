"""TV-GP-UCB that knows a plain world: the rival where nobody can be much better than random.

Its mean, variance, length scale and drift are the most likely ones, given exact values at 150
random places, times and contexts of the world; its noise is the true one. Its time is the step.

Symbols: U (n, d) places and their contexts, s (n,) steps, z (n,) standardized values; K (n, n)
their covariance, L (n, n) its factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from heliotrope.lab.plain.player import Record, play
from heliotrope.lab.plain.surfaces import StudySurface
from heliotrope.lab.plain.truth import Truth
from heliotrope.lab.plain.world import PlainWorld
from heliotrope.spaces import Options
from heliotrope.validation import Array

_COUNT = 150  # exact values
_LENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_EPSILONS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_VARIANCES = (1.0, 4.0, 16.0)
_LEAST_NOISE = 1e-3  # variance beside a variance of 1


def play_reference(world: PlainWorld, steps: int) -> Record:
    """Play a world with the policy that knows it."""
    truth = Truth(replace(world, clock=None))
    return play(truth, StudySurface(truth, policy=knowing_policy(truth, steps)), steps)


def knowing_policy(truth: Truth, steps: int) -> Mapping[str, Any]:
    """The policy of a study for a world, as JSON: parameters without a kind are TV-GP-UCB's."""
    U, s, values = _sampled(truth, steps)
    mean, deviation = float(values.mean()), float(values.std()) or 1.0
    noise = max((truth.noise() * truth.deviation / deviation) ** 2, _LEAST_NOISE)
    z = (values - mean) / deviation
    length, epsilon, variance = _most_likely(U, s, z)
    scale, offset = truth.told_in
    policy = {
        "epsilon": epsilon,
        "mean": offset + scale * mean,
        "variance": variance * (scale * deviation) ** 2,
        "noise": noise * (scale * deviation) ** 2,
    }
    space = truth.world.space
    is_listed = isinstance(space, Options) and space.features is None
    return policy if is_listed else policy | {"length_scale": length}


def _sampled(truth: Truth, steps: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng([truth.world.seed, 4])
    s = rng.integers(steps, size=_COUNT)
    places = truth.candidates[rng.integers(len(truth.candidates), size=_COUNT)]
    contexts = [truth.context(int(step)) for step in s]
    listed = zip(places, s, contexts, strict=True)
    values = [float(truth.values(u[None], int(step), context)[0]) for u, step, context in listed]
    joined = [np.append(u, truth.outside(c)) for u, c in zip(places, contexts, strict=True)]
    return np.array(joined), s.astype(float), np.array(values)


def _most_likely(U: Array, s: Array, z: Array) -> tuple[float, float, float]:
    """The length scale, the drift and the variance that make standardized values most likely."""
    distances = np.sqrt(np.sum((U[:, None] - U[None]) ** 2, axis=-1))
    lags, best, likely = np.abs(s[:, None] - s[None]), -np.inf, (0.2, 0.0, 1.0)
    jitter = _LEAST_NOISE * np.eye(len(z))
    for length, epsilon, variance in product(_LENGTHS, _EPSILONS, _VARIANCES):
        r = 5.0**0.5 * distances / length
        K = variance * (1.0 + r + r**2 / 3.0) * np.exp(-r) * (1.0 - epsilon) ** (0.5 * lags)
        L = np.linalg.cholesky(K + jitter)
        density = -np.log(np.diag(L)).sum() - 0.5 * np.sum(np.linalg.solve(L, z) ** 2)
        if density > best:
            best, likely = float(density), (length, epsilon, variance)
    return likely
