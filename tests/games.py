"""Drawn sequences of commands, played by an optimizer and by studies on several surfaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

import heliotrope as ht
from heliotrope.domains import Contextual
from heliotrope.live import Live
from heliotrope.spaces import SearchSpace
from heliotrope.study.commands import Evaluation, Hold

Asked: TypeAlias = tuple[float, Any, str | None]
"""Time, choice and reason of an ask."""
BOX = {"x": ht.Real(-2.0, 3.0), "n": ht.Integer(1, 9)}
GRID = {"x": ht.Real(-2.0, 3.0, step=0.5), "n": ht.Integer(1, 9)}
NAMES = ["red", "green", "blue", "grey"]
CONTEXT = {"load": ht.Real(0.0, 1.0)}
START = {"x": 0.0, "n": 3}


@dataclass(frozen=True)
class Kind:
    """A kind of setup: arguments of ``Study.create`` and ``Live``, and what a sequence may hold."""

    rules: Mapping[str, Any] = field(default_factory=dict)
    options: bool = False
    context: bool = False
    cost: float | None = None
    failures: float = 0.0
    at_once: int = 1


KINDS: Mapping[str, Kind] = {
    "plain": Kind(),
    "options": Kind(options=True),
    "contexts": Kind(context=True),
    "baseline": Kind({"baseline": START}),
    "baseline of options": Kind({"baseline": "green"}, options=True),
    "baseline in contexts": Kind({"baseline": START}, context=True),
    "limits": Kind(
        {
            "metrics": {"rate": "maximize", "p99": "watch"},
            "limits": {"p99": {"below": 6.0}},
            "safe": [START],
        }
    ),
    "a limited objective": Kind(
        {
            "metrics": {"p99": "minimize"},
            "limits": {"p99": {"below": 6.0}},
            "safe": [START],
        }
    ),
    "relative limits": Kind(
        {
            "metrics": {"rate": "maximize", "p99": "watch"},
            "limits": {"p99": {"at_most": "130%"}},
            "baseline": START,
        }
    ),
    "two objectives": Kind({"metrics": {"rate": "maximize", "p99": "minimize"}}),
    "weights": Kind(
        {
            "metrics": {"rate": "maximize", "p99": "minimize"},
            "objective": {"rate": 1.0, "p99": -0.5},
        }
    ),
    "moves": Kind({"moves": {"largest": {"n": 2}, "cost": {"x": 0.05}}, "baseline": START}),
    "cost and hold": Kind({"baseline": START}, cost=0.3),
    "failures": Kind(failures=0.3),
    "failures with limits": Kind(
        {
            "metrics": {"rate": "maximize", "p99": "watch"},
            "limits": {"p99": {"below": 6.0}},
            "safe": [START],
        },
        failures=0.3,
    ),
    "late and open": Kind(at_once=3, failures=0.1),
    "late and open with a baseline": Kind({"baseline": START}, at_once=3, failures=0.1),
}


def space_of(kind: Kind, seed: int) -> SearchSpace | ht.Options:
    """The space of a sequence: options, a box, or for odd seeds a list of settings."""
    return ht.Options(NAMES) if kind.options else SearchSpace(GRID if seed % 2 else BOX)


class Surface(Protocol):
    """Something that asks and is told."""

    def ask(self, load: float | None, cost: float | None) -> tuple[Any, Asked] | float: ...
    def tell(self, ask: Any, values: Mapping[str, float]) -> None: ...
    def cancel(self, ask: Any) -> None: ...


class OptimizerSurface:
    """An optimizer over the same domain as the study of a kind."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self._kind = kind
        space = space_of(kind, seed)
        self._context = SearchSpace(CONTEXT) if kind.context else None
        self._space = space
        if self._context is None:
            self.optimizer = ht.Optimizer(space, ht.auto(space), seed, live=self._live())
        else:
            assert isinstance(space, SearchSpace)
            problem = Contextual(space.cube, self._context.cube)
            self.optimizer = ht.Optimizer(problem, ht.auto(problem), seed, live=self._live())

    def _live(self) -> Live | None:
        if not self._kind.rules:
            return None
        rules = dict(self._kind.rules)
        if self._context is not None:
            assert isinstance(self._space, SearchSpace)
            rules |= {"baseline": self._space.point(rules["baseline"])}
        return Live(**rules)

    def ask(self, load: float | None, cost: float | None) -> tuple[Any, Asked] | float:
        point = None if self._context is None else self._context.point({"load": load})
        if cost is not None:
            until = self.optimizer.hold(cost, context=point)
            if until is not None:
                return until
        ask = self.optimizer.ask(context=point)
        choice: Any = ask.params or ask.option
        if self._context is not None:
            assert isinstance(self._space, SearchSpace)
            choice = self._space.decoded(ask.choice)
        return ask, (ask.t, choice, ask.reason)

    def tell(self, ask: Any, values: Mapping[str, float]) -> None:
        self.optimizer.tell(ask, results(self._kind, values))

    def cancel(self, ask: Any) -> None:
        self.optimizer.cancel(ask)


class StudySurface:
    """A study, local or behind a service."""

    def __init__(self, study: Any, kind: Kind) -> None:
        self.study, self._kind = study, kind

    def ask(self, load: float | None, cost: float | None) -> tuple[Any, Asked] | float:
        given: dict[str, Any] = {} if load is None else {"context": {"load": load}}
        given |= {} if cost is None else {"cost": cost}
        ask = self.study.ask(**given)
        if isinstance(ask, Hold):
            return ask.until
        assert isinstance(ask, Evaluation)
        return ask, (ask.t, dict(ask.params) or ask.option, ask.reason)

    def tell(self, ask: Any, values: Mapping[str, float]) -> None:
        self.study.tell(ask, results(self._kind, values))

    def cancel(self, ask: Any) -> None:
        self.study.cancel(ask)


class Reopened(StudySurface):
    """A study that is opened again before each ask, from its events or from a snapshot."""

    def __init__(self, name: str, store: str, kind: Kind) -> None:
        super().__init__(ht.Study.open(name, store), kind)
        self._name, self._store = name, store

    def ask(self, load: float | None, cost: float | None) -> tuple[Any, Asked] | float:
        self.study = ht.Study.open(self._name, self._store)
        return super().ask(load, cost)


def results(kind: Kind, values: Mapping[str, float]) -> float | dict[str, float]:
    """What a kind is told of the measured values."""
    metrics = kind.rules.get("metrics")
    return {name: values[name] for name in metrics} if metrics else values["rate"]


def study_arguments(kind: Kind, seed: int) -> dict[str, Any]:
    """The arguments of ``create`` for a kind."""
    context = {"context": CONTEXT} if kind.context else {}
    return {"space": space_of(kind, seed), "seed": seed, **context, **kind.rules}


def play(surface: Surface, kind: Kind, seed: int, steps: int) -> list[Asked | float]:
    """Play a sequence that depends on the seed alone; return every ask, or until when to hold."""
    rng, asked, waiting = np.random.default_rng([seed, 77]), list[Asked | float](), list[Any]()
    for step in range(steps):
        load = float(rng.integers(5)) / 4.0 if kind.context else None
        answer = surface.ask(load, kind.cost)
        fate, which, noise = rng.random(), rng.random(), rng.normal(size=2)
        if isinstance(answer, float):
            asked.append(answer)
            answer = surface.ask(load, None)
            assert not isinstance(answer, float)
        ask, described = answer
        asked.append(described)
        waiting.append((ask, described[1], load))
        if len(waiting) < kind.at_once and step < steps - 1:
            continue
        ask, choice, then = waiting.pop(int(which * len(waiting)))
        if fate < kind.failures:
            surface.cancel(ask)
        else:
            surface.tell(ask, measured(choice, then, step, noise))
    return asked


def measured(
    choice: Any, load: float | None, step: int, noise: np.ndarray[Any, Any]
) -> dict[str, float]:
    """A drifting world with two metrics."""
    if isinstance(choice, str):
        rate = np.sin(step / 9.0 + NAMES.index(choice))
        p99 = 3.0 + NAMES.index(choice)
    else:
        best = 0.5 + np.sin(step / 15.0) + (0.0 if load is None else load)
        rate = -((choice["x"] - best) ** 2) + 0.3 * choice["n"]
        p99 = 2.0 + 0.6 * choice["n"] + 0.2 * abs(choice["x"])
    return {"rate": float(rate + 0.1 * noise[0]), "p99": float(p99 + 0.1 * noise[1])}


Make: TypeAlias = Callable[[Kind, int], Surface]
