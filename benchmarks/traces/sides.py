"""An optimizer and a study as the player of a setup uses them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

import heliotrope as ht
from benchmarks.traces.setups import Setup
from benchmarks.traces.worlds import Cube, Grid
from heliotrope.kernels import RBF

PLACES = 5  # of a belief
STARTED = 1.7e9  # seconds since 1970


class Side(ABC):
    """An optimizer or a study that plays a setup."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.seconds = 0.0

    @abstractmethod
    def ask(self, context: Any) -> Any:
        """The evaluation that it asks for."""

    @abstractmethod
    def add(self, choice: Any, told: Mapping[str, Any], context: Any) -> None:
        """Add a result of the user's own choice."""

    @abstractmethod
    def tell(self, asked: Any, told: Mapping[str, Any]) -> None:
        """Tell the result of an evaluation."""

    @abstractmethod
    def cancel(self, asked: Any) -> None:
        """Cancel an evaluation."""

    @abstractmethod
    def expected(self, asked: Any, context: Any) -> dict[str, list[float]] | None:
        """The mean and deviation of what was asked for, by metric; None where unknown."""

    @abstractmethod
    def belief(self, context: Any) -> dict[str, list[float]]:
        """Means and deviations at some fixed places, by metric."""

    @abstractmethod
    def best(self, context: Any) -> tuple[Any, list[float]]:
        """The best choice, and its mean and deviation."""


class OptimizerSide(Side):
    """An optimizer, which takes contexts as coordinates."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        choices = setup.space.build()
        domain = choices if setup.context is None else ht.Contextual(choices, setup.context.build())
        kind, arguments = setup.policy
        policy = _policy(kind, domain, arguments)
        self._opt = ht.Optimizer(domain, policy, setup.seed, direction=setup.direction)
        rng = np.random.default_rng(PLACES)
        self._places = [setup.space.choice(u) for u in rng.random((PLACES, setup.space.dimension))]

    def ask(self, context: Any) -> Any:
        return self._opt.ask(self._time, context=context)

    def add(self, choice: Any, told: Mapping[str, Any], context: Any) -> None:
        self._opt.tell(self._opt.begin(choice, self._time), told.get("value"), **_noise(told))

    def tell(self, asked: Any, told: Mapping[str, Any]) -> None:
        self._opt.tell(asked, told.get("value"), **_noise(told))

    def cancel(self, asked: Any) -> None:
        self._opt.cancel(asked)

    def expected(self, asked: Any, context: Any) -> dict[str, list[float]]:
        return self._belief([self.setup.space.asked(asked)], context)

    def belief(self, context: Any) -> dict[str, list[float]]:
        return self._belief(self._places, context)

    def best(self, context: Any) -> tuple[Any, list[float]]:
        best = self._opt.best(context=context)
        is_point = self.setup.context is not None or isinstance(self.setup.space, Cube)
        choice = best.x.tolist() if is_point else self.setup.space.asked(best)
        return choice, [best.mean, best.std]

    def _belief(self, places: list[Any], context: Any) -> dict[str, list[float]]:
        found = self._opt.belief(None, self._points(places), context=context, count_open=False)
        return {"value": [*found.mean.tolist(), *found.std.tolist()]}

    def _points(self, places: list[Any]) -> Any:
        """Points, if the places are indices."""
        space = self.setup.space
        return [space.unit(x) for x in places] if isinstance(space, Grid) else places

    @property
    def _time(self) -> float | None:
        return None if self.setup.clock is None else 1.0 + self.seconds / 600.0


class StudySide(Side):
    """A study in memory."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        goals: dict[str, Any] = {**setup.goals} or {"direction": setup.direction}
        self._study = ht.Study.create(
            "trace",
            setup.space.build(),
            context=None if setup.context is None else setup.context.build(),
            policy=setup.policy,
            clock=setup.clock,
            seed=setup.seed,
            store="memory:",
            now=lambda: STARTED + self.seconds,
            **goals,
        )

    def ask(self, context: Any) -> Any:
        return self._study.ask(context=context)

    def add(self, choice: Any, told: Mapping[str, Any], context: Any) -> None:
        self._study.add(choice, context=context, **told)

    def tell(self, asked: Any, told: Mapping[str, Any]) -> None:
        self._study.tell(asked, **told)

    def cancel(self, asked: Any) -> None:
        self._study.cancel(asked)

    def expected(self, asked: Any, context: Any) -> dict[str, list[float]] | None:
        """Known among options, all of which a study shows."""
        if asked.option is None:
            return None
        return {name: _of_option(shown, asked.option) for name, shown in self._reports(context)}

    def belief(self, context: Any) -> dict[str, list[float]]:
        return {name: _sample(shown) for name, shown in self._reports(context)}

    def best(self, context: Any) -> tuple[Any, list[float]]:
        best = self._study.best
        return best.choice, [best.mean, best.std]

    def _reports(self, context: Any) -> list[tuple[str, Any]]:
        if not self.setup.goals:
            return [("value", self._study.belief(context=context))]
        names = self.setup.goals["metrics"]
        return [(name, self._study.belief(context=context, metric=name)) for name in names]


def _policy(kind: str, domain: Any, arguments: Mapping[str, Any]) -> Any:
    if kind == "auto":
        return ht.auto(domain, **arguments)
    given = dict(arguments)
    if "prior" in given:
        prior = given.pop("prior")
        kernel, drift = RBF(prior["length"]), ht.Forgetting(prior["epsilon"])
        given["prior"] = ht.Prior(kernel, drift, prior["noise"])
    return getattr(ht.policies, kind)(**given)


def _noise(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name != "value"}


def _of_option(shown: Mapping[str, Any], name: str) -> list[float]:
    rows = [one for one in shown.get("options", []) if one["option"] == name]
    return [row[key] for row in rows for key in ("mean", "std")]


def _sample(shown: Mapping[str, Any]) -> list[float]:
    """Evenly spaced means, then deviations, of all that a report shows; none without results."""
    if shown["view"] == "none":
        return []
    rows = shown.get("options") or shown.get("slices") or [shown]
    columns = [np.hstack([np.ravel(row[key]) for row in rows]) for key in ("mean", "std")]
    at = np.linspace(0, len(columns[0]) - 1, PLACES).round().astype(int)
    return [float(x) for column in columns for x in column[at]]
