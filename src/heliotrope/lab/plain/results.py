"""The kinds of results in plain worlds: what a measurement returns, as arguments of ``tell``.

A world's function has deviation 1. Counts and proportions have means of their own: exp(1 + 0.7 v)
and 1 / (1 + exp(-v)) for a value v, which is clipped to [-5, 5].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from heliotrope.validation import Array

Told: TypeAlias = dict[str, Any]
"""Arguments of ``tell`` by name."""
Draw: TypeAlias = Callable[[float, float, np.random.Generator], Told]
"""Draws a result from its mean and the deviation of its noise."""

_LEAST_STD = 1e-9  # standard error that is told with an exact value
_TRIALS, _EXPOSURE, _REPEATS = 20, 4.0, 6


def _itself(values: Array) -> Array:
    return values


def _rates(values: Array) -> Array:
    return np.asarray(np.exp(1.0 + 0.7 * np.clip(values, -5.0, 5.0)))


def _shares(values: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -5.0, 5.0))))


def _value(mean: float, noise: float, rng: np.random.Generator) -> Told:
    return {"value": mean + noise * float(rng.standard_normal())}


def _heavy(mean: float, noise: float, rng: np.random.Generator) -> Told:
    return {"value": mean + noise * float(rng.standard_t(1.5))}


def _with_std(mean: float, noise: float, rng: np.random.Generator) -> Told:
    std = max(noise, _LEAST_STD) * float(rng.uniform(0.5, 2.0))
    return _value(mean, std, rng) | {"std": std}


def _with_n(mean: float, noise: float, rng: np.random.Generator) -> Told:
    n = int(rng.integers(1, _REPEATS))
    return _value(mean, noise / n**0.5, rng) | {"n": n}


def _count(mean: float, _: float, rng: np.random.Generator) -> Told:
    return {"value": int(rng.poisson(mean))}


def _count_and_exposure(mean: float, _: float, rng: np.random.Generator) -> Told:
    return {"count": int(rng.poisson(_EXPOSURE * mean)), "exposure": _EXPOSURE}


def _zero_or_one(mean: float, _: float, rng: np.random.Generator) -> Told:
    return {"value": float(rng.random() < mean)}


def _proportion(mean: float, _: float, rng: np.random.Generator) -> Told:
    return {"value": int(rng.binomial(_TRIALS, mean)) / _TRIALS}


def _successes(mean: float, _: float, rng: np.random.Generator) -> Told:
    return {"successes": int(rng.binomial(_TRIALS, mean)), "trials": _TRIALS}


@dataclass(frozen=True)
class Results:
    """A kind of result: its mean for a value, its draw, and its noise deviations for means (n,).

    ``noise`` is None for results that have the noise, unit and offset of the world.
    """

    draw: Draw
    mean: Callable[[Array], Array] = _itself
    noise: Callable[[Array], Array] | None = None

    @property
    def in_units(self) -> bool:
        """Whether values have a unit and an offset."""
        return self.noise is None


def _noise_of_count(means: Array) -> Array:
    return np.sqrt(means)


def _noise_of_exposure(means: Array) -> Array:
    return np.sqrt(means / _EXPOSURE)


def _noise_of_one_trial(means: Array) -> Array:
    return np.sqrt(means * (1.0 - means))


def _noise_of_trials(means: Array) -> Array:
    return np.sqrt(means * (1.0 - means) / _TRIALS)


RESULTS: Mapping[str, Results] = {
    "values": Results(_value),
    "heavy tails": Results(_heavy),
    "with std": Results(_with_std),
    "with n": Results(_with_n),
    "counts": Results(_count, _rates, _noise_of_count),
    "count and exposure": Results(_count_and_exposure, _rates, _noise_of_exposure),
    "zeros and ones": Results(_zero_or_one, _shares, _noise_of_one_trial),
    "proportions": Results(_proportion, _shares, _noise_of_trials),
    "successes and trials": Results(_successes, _shares, _noise_of_trials),
}
"""The kinds of results by name."""


def in_unit(told: Told, scale: float, offset: float) -> Told:
    """A result in another unit; ``scale`` is negative if low values are good."""
    changed = {"value": offset + scale * told["value"]}
    changed |= {"std": abs(scale) * told["std"]} if "std" in told else {}
    return told | changed
