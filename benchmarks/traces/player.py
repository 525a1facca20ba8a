"""Play the setups with the package that is imported: ``python -m benchmarks.traces.player FILE``.

It uses public calls alone, which another revision has as well, and writes the traces as JSON. A
call that raises one of the package's errors is part of the trace; any other exception ends it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.traces.setups import SETUPS, Setup
from benchmarks.traces.sides import OptimizerSide, StudySide
from benchmarks.traces.worlds import Array, hill, load
from heliotrope.errors import HeliotropeError

T = TypeVar("T")

EVERY, NOISE, TRIALS = 10, 0.05, 20  # steps between looks; standard deviation of a value


class Player:
    """One run of a setup, and its trace."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._side = (OptimizerSide if setup.surface == "optimizer" else StudySide)(setup)
        self._rng = np.random.default_rng([setup.seed, 1])
        self._open = list[tuple[Any, int, float]]()
        self._told: dict[str, list[float]] = {}
        self._asks, self._looks = list[Any](), list[Any]()

    def play(self) -> dict[str, Any]:
        """The trace: asks, looks, and the deviations of the told values."""
        for step in range(self._setup.steps):
            self._step(step)
        spread = {name: float(np.std(values)) for name, values in self._told.items()}
        spread["best"] = max(spread.values(), default=1.0)
        return {"asks": self._asks, "looks": self._looks, "spread": spread}

    def _step(self, step: int) -> None:
        self._side.seconds += 600.0 if step % 3 else 1500.0
        unit = float(self._rng.random())
        context, own = self._context(unit), self._rng.random(self._setup.space.dimension)
        if self._setup.own and step % self._setup.own == self._setup.own - 1:
            self._add(self._setup.space.choice(own), step, unit)
        else:
            self._ask(context, step, unit)
        while len(self._open) >= self._setup.workers:
            self._close(self._open.pop(int(self._rng.integers(len(self._open)))))
        if step % EVERY == EVERY - 1:
            self._look(step, context)

    def _ask(self, context: Any, step: int, unit: float) -> None:
        asked, error = _attempt(lambda: self._side.ask(context))
        if asked is None:
            self._asks.append({"error": error})
            return
        expected, _ = _attempt(lambda: self._side.expected(asked, context))
        choice, reason = self._setup.space.asked(asked), asked.reason
        told = {"t": asked.t, "choice": choice, "reason": reason, "expected": expected}
        self._asks.append(told)
        self._open.append((asked, step, unit))

    def _add(self, choice: Any, step: int, unit: float) -> None:
        told = self._measure(choice, step, unit)
        _, error = _attempt(lambda: self._side.add(choice, told, self._context(unit)))
        self._asks.append({"choice": choice, "error": error})

    def _close(self, opened: tuple[Any, int, float]) -> None:
        asked, step, unit = opened
        told = self._measure(self._setup.space.asked(asked), step, unit)
        if self._rng.random() < self._setup.cancelled:
            self._side.cancel(asked)
        else:
            self._side.tell(asked, told)

    def _look(self, step: int, context: Any) -> None:
        belief, error = _attempt(lambda: self._side.belief(context))
        best, _ = _attempt(lambda: self._side.best(context))
        choice, numbers = (None, []) if best is None else best
        found = {**(belief or {}), "best": numbers}
        self._looks.append({"step": step, "best": choice, "belief": found, "error": error})

    def _context(self, unit: float) -> Any:
        space = self._setup.context
        return None if space is None else space.choice(np.array([unit]))

    def _measure(self, choice: Any, step: int, unit: float) -> dict[str, Any]:
        """The arguments of ``tell``; the noise of a step does not depend on what was asked."""
        setup, rng = self._setup, np.random.default_rng([self._setup.seed, 2, step])
        u, context = setup.space.unit(choice), 0.0 if setup.context is None else unit
        names = list(setup.goals.get("metrics", ["value"]))
        values = {
            name: _truth(name, number, u, step, context) + NOISE * rng.standard_normal()
            for number, name in enumerate(names)
        }
        for name, value in values.items():
            self._told.setdefault(name, []).append(setup.unit * value)
        return {"value": values} if setup.goals else _form(setup, values["value"], step)


def _truth(name: str, number: int, u: Array, step: int, context: float) -> float:
    return load(u, step, context) if name == "load" else hill(u, step, context, 1.5 * number)


def _form(setup: Setup, value: float, step: int) -> dict[str, Any]:
    """One value in the form of the setup's results."""
    share = min(max(value, 0.05), 0.95)
    if setup.form == "trials":
        return {"successes": round(TRIALS * share), "trials": TRIALS}
    if setup.form == "count":
        return {"count": round(TRIALS * share), "exposure": 2.0 + step % 3}
    sign = 1.0 if setup.direction == "maximize" else -1.0
    told: dict[str, Any] = {"value": setup.offset + sign * setup.unit * value}
    if setup.form == "std":
        told["std"] = NOISE * (1 + step % 3)
    if setup.form == "n":
        told["n"] = 1 + step % 4
    return told


def _attempt(call: Callable[[], T]) -> tuple[T | None, str | None]:
    """What a call returns, or the name of the package's error that it raises."""
    try:
        return call(), None
    except HeliotropeError as error:
        return None, type(error).__name__


def trace_of(setup: Setup) -> dict[str, Any]:
    """The trace of a setup; that of one that cannot be played says why."""
    try:
        return Player(setup).play()
    except Exception as error:  # such as a call that the other revision lacks
        return {"failed": f"{type(error).__name__}: {error}"}


def main(file: str) -> None:
    """Play all setups."""
    Path(file).write_text(json.dumps({setup.name: trace_of(setup) for setup in SETUPS}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
