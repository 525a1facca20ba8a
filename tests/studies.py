"""Shared by the tests of studies: configurations, twins, and a drifting world in any unit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import heliotrope as ht
from heliotrope.lab.plain.surfaces import replayed
from heliotrope.spaces import Options, SearchSpace
from heliotrope.storage import Store
from heliotrope.study import Evaluation, Study
from heliotrope.validation import Array

SPACES: dict[str, SearchSpace | Options] = {
    "options": ht.Options(["hall", "roof", "cellar", "yard", "loft"]),
    "features": ht.Options(["a", "b", "c"], features=[[0.0, 1.0], [0.5, 3.0], [2.0, 1.0]]),
    "grid": ht.SearchSpace({"fan": ht.Integer(1, 6), "eco": ht.Boolean()}),
    "box": ht.SearchSpace({"x": ht.Real(0, 1), "y": ht.Real(1e-3, 1e3, log=True)}),
    "mixed": ht.SearchSpace(
        {"x": ht.Real(-2, 3), "n": ht.Integer(1, 9), "mode": ht.Categorical(["a", "b", "c"])}
    ),
    "one option": ht.Options(["only"]),
    "one configuration": ht.SearchSpace({"n": ht.Integer(3, 3), "mode": ht.Categorical(["a"])}),
    "constant beside real": ht.SearchSpace({"n": ht.Integer(3, 3), "x": ht.Real(0, 1)}),
}
OUTSIDE = ht.SearchSpace({"outside": ht.Real(-10, 40)})
DAYS = ht.SearchSpace({"day": ht.Categorical(["mon", "tue", "sun"]), "wet": ht.Boolean()})
CONTEXTUAL: dict[str, tuple[str, SearchSpace]] = {  # a space, and what is given beside it
    "box in the weather": ("box", OUTSIDE),
    "grid on days": ("grid", DAYS),  # all pairs are listed
    "grid in the weather": ("grid", OUTSIDE),
    "options in the weather": ("options", OUTSIDE),
    "options on days": ("options", DAYS),
    "features in the weather": ("features", OUTSIDE),
    "mixed on days": ("mixed", DAYS),
    "one configuration in the weather": ("one configuration", OUTSIDE),
    "box in one context": ("box", ht.SearchSpace({"n": ht.Integer(3, 3)})),
}
NOISE = 0.01  # variance, in a drifting world
POLICIES: dict[str, dict[str, Any]] = {
    "learned": {},
    "given": {"epsilon": 0.05, "mean": 1.0, "variance": 2.0, "noise": 0.1, "length_scale": 0.4},
    "drift given": {"epsilon": 0.05},
    "static": {"kind": "gp_ucb", "beta": {"c1": 0.8, "c2": 4.0}},
    "restarts": {"kind": "r_gp_ucb", "every": 4.0, "noise": 0.2},
    "restarts learned": {"kind": "r_gp_ucb"},
    "window": {"kind": "sw_gp_ucb", "window": 6},
    "weights": {"kind": "wgp_ucb", "weight": 0.9},
    "events": {"kind": "et_gp_ucb", "delta": 0.2},
    "jumps": {"kind": "cp_gp_ucb", "hazard": 0.05},
    "pruned": {"kind": "wdbo", "epsilon": 0.05},
    "walk": {"kind": "ui_gp_ucb", "rate": 0.02},
    "drawn": {"kind": "tv_ts"},
    "rexp3": {"kind": "rexp3", "low": -1.0, "high": 2.0, "batch": 5},
    "uniform": {"kind": "uniform"},
}


def policy_for(name: str, space: SearchSpace | Options) -> dict[str, Any]:
    """A policy, without a length scale if the options are independent."""
    chosen = dict(POLICIES[name])
    if isinstance(space, Options) and space.features is None:
        chosen.pop("length_scale", None)
    return chosen


def some_context(study: Study, rng: random.Random) -> dict[str, Any] | None:
    """Some context of a study; None if it has none."""
    space = study.config.context
    if space is None:
        return None
    point = [rng.random() for _ in range(space.cube.dimension)]
    return study.config.adapter.check_context(space.params(point))


def some_choice(study: Study, rng: random.Random) -> Any:
    """Some parameters of a study, or some option."""
    space = study.config.space
    if isinstance(space, Options):
        return rng.choice(space.names)
    return space.params([rng.random() for _ in range(space.cube.dimension)])


def some_result(study: Study, rng: random.Random) -> Any:
    """Some value, or values of some metrics."""
    names = list(study.config.metrics)
    if len(names) == 1:
        return rng.gauss(10.0, 3.0)
    return {name: rng.gauss(10.0, 3.0) for name in rng.sample(names, rng.randint(1, len(names)))}


def what(ask: Evaluation) -> tuple[Any, ...]:
    """An ask without its id's beginning, which is the study's own."""
    return ask.id.rpartition("-")[2], ask.t, ask.params, ask.option, ask.context, ask.reason


def shown(study: Study, *times: float) -> list[Any]:
    """Everything visible of a study except its names."""
    summary = study.summary()
    for name in ("name", "uid", "created"):
        del summary[name]
    asks = [what(ask) for ask in study.open_asks()]
    del summary["open"]
    summary["faults"] = [id.rpartition("-")[2] for id in summary["faults"]]  # as in what()
    return [summary, asks, study.belief(), study.track(), *(study.belief(t) for t in times)]


def twin_of(store: Store, name: str) -> Study:
    """Another study of the same events, in a separate store, replayed from the first event."""
    return replayed(Study(store, name))


class Watch:
    """A wall clock that tests set."""

    def __init__(self, seconds: float = 1_700_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


class DriftingWorld:
    """The paper's drift over the unit cube, by random Fourier features: an SE kernel in space.

    ``everywhere`` (q, d) is where its best and its mean are looked for.
    """

    def __init__(
        self, everywhere: Array, horizon: int, seed: int, *, epsilon: float, length: float
    ) -> None:
        rng, count = np.random.default_rng(seed), 200
        self._frequencies = rng.standard_normal((everywhere.shape[1], count)) / length
        self._phases = rng.uniform(0.0, 2.0 * np.pi, count)
        self._weights = rng.standard_normal((horizon, count)) * np.sqrt(2.0 / count)
        for t in range(1, horizon):
            fresh = np.sqrt(epsilon) * self._weights[t]
            self._weights[t] = np.sqrt(1.0 - epsilon) * self._weights[t - 1] + fresh
        self._noise = rng.normal(scale=np.sqrt(NOISE), size=horizon)
        self._everywhere = self._features(everywhere) @ self._weights.T

    def value(self, point: Array, step: int) -> float:
        return float(self._features(point[None])[0] @ self._weights[step])

    def measured(self, point: Array, step: int) -> float:
        return self.value(point, step) + float(self._noise[step])

    def best(self, step: int) -> float:
        return float(self._everywhere[:, step].max())

    def regret_of_chance(self) -> float:
        return float(np.mean(self._everywhere.max(axis=0) - self._everywhere.mean(axis=0)))

    def _features(self, points: Array) -> Array:
        features: Array = np.cos(points @ self._frequencies + self._phases)
        return features


def standard_error(values: Sequence[float]) -> float:
    """Of the mean of independent trials."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))
