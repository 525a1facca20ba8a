"""Every memory given results whose standard errors differ by factors of up to 100."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.domains import Domain, Places
from heliotrope.memory import (
    ChangePoints,
    EventTrigger,
    KeepAll,
    Memory,
    ResetOnChange,
    Restart,
    Wasserstein,
    Weights,
    Window,
)
from heliotrope.posterior import ReferenceEngine
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.precision import USUAL, Precision
from heliotrope.validation import Array
from scenario import play

GRID, BOX = ht.grid(6, 6), ht.Box([0.0, -1.0], [1.0, 1.0])
STILL = ht.Prior(RBF(0.4), ht.Static(), 0.05, mean=0.3)
DRIFT = ht.Prior(RBF(0.4), ht.Forgetting(0.05), 0.05, mean=0.3)


@dataclass
class Told:
    """The evaluations that were told, in the order of their times."""

    t: Array
    places: Places
    y: Array
    noise: Array

    def last(self, count: int) -> Told:
        return Told(*(column[-count:] for column in vars(self).values()))


class Recorder(ReferenceEngine):
    """An engine that also lists what it was told."""

    def __init__(self, prior: ht.Prior, domain: Domain) -> None:
        super().__init__(prior, domain)
        self._usual, self._listed = prior.noise, list[tuple[float, Places, float, float]]()

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        self._listed.append((*self._records.get(key), y, precision.noise(self._usual)))
        super().tell(key, y, precision)

    def told(self) -> Told:
        rows = sorted(self._listed, key=lambda row: row[0])
        t, places, y, noise = zip(*rows, strict=True)
        return Told(np.array(t), np.concatenate(places), np.array(y), np.array(noise))


def dense(
    prior: ht.Prior, domain: Domain, told: Told, noise: Array, t: float, places: Places
) -> tuple[Array, Array]:
    """The posterior mean and variance of f_t, given the noise variance of each result."""
    model = SpaceTime(prior, domain)
    K = model.between(told.t, told.places, told.t, told.places) + np.diag(noise)
    k = model.block(told.t, told.places, t, places)
    mean = prior.mean_at(places) + k.T @ np.linalg.solve(K, told.y - prior.mean_at(told.places))
    return mean, model.variance(places, t) - np.sum(k * np.linalg.solve(K, k), axis=0)


def window(told: Told, _: float) -> tuple[Told, Array, Array]:
    newest = told.last(12)
    return newest, newest.noise, newest.noise


def weights(told: Told, t: float) -> tuple[Told, Array, Array]:
    w = 0.93 ** (t - told.t)
    return told, told.noise / w, told.noise / w**2


def everything(told: Told, _: float) -> tuple[Told, Array, Array]:
    return told, told.noise, told.noise


Rule = Callable[[Told, float], tuple[Told, Array, Array]]
"""The results that count at a time, with their noise for the mean and for the variance."""

MEMORIES: dict[str, tuple[Memory, Rule]] = {
    "keep all": (KeepAll(), everything),
    "restart": (Restart(1e6), everything),
    "window": (Window(12), window),
    "weights": (Weights(0.93), weights),
    "reset": (ResetOnChange(EventTrigger(1e-300)), everything),
    "change points": (ChangePoints(1e-99), everything),
    "wasserstein": (Wasserstein(1e-9, most=1000), everything),
}


def places_of(domain: Domain) -> Places:
    if isinstance(domain, ht.Finite):
        return domain.indices
    return domain.scaled(np.random.default_rng(9).random((20, 2)))


@pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
@pytest.mark.parametrize("prior", [STILL, DRIFT], ids=["still", "drifting"])
@pytest.mark.parametrize("name", MEMORIES)
def test_a_memory_weighs_results_by_their_noise(name: str, prior: ht.Prior, domain: Domain) -> None:
    memory, rule = MEMORIES[name]
    engine, recorder = memory.engine(prior, domain, None), Recorder(prior, domain)
    places = places_of(domain)
    for step, t in enumerate(
        play([engine, recorder], domain, prior, steps=60, irregular=True, mixed=True)
    ):
        if step % 5 or step < 5:
            continue
        counted, for_mean, for_variance = rule(recorder.told(), t + 0.5)
        mean, _ = dense(prior, domain, counted, for_mean, t + 0.5, places)
        _, variance = dense(prior, domain, counted, for_variance, t + 0.5, places)
        found = engine.predict(t + 0.5, places, count_open=False)
        np.testing.assert_allclose(found, (mean, variance), rtol=0, atol=1e-6)
    spread = recorder.told().noise
    assert np.sqrt(spread.max() / spread.min()) > 50.0
