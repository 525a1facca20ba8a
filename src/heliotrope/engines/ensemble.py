"""Engines that move together: each takes a step, or none does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from heliotrope.engines.protocol import Engine, State, part

Step: TypeAlias = Callable[[Engine], None]

_MOST_STEPS = 2_000  # between copies of the engines: enough for these to cost next to nothing


class Ensemble:
    """Several engines that see the same evaluations.

    An engine cannot go back, so one that took a step which failed in another is made anew, from
    the latest copy of its state and the steps since. That copy is the price, in memory.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = engines
        self._remember()

    def take(self, step: Step) -> None:
        """Take a step in every engine; if it fails in one, all are left as they were."""
        for i, engine in enumerate(self.engines):
            try:
                step(engine)
            except BaseException:  # an interrupt too
                self._undo(i + 1)
                raise
        self._steps.append(step)
        if len(self._steps) == _MOST_STEPS:
            self._remember()

    def state(self) -> State:
        """Everything the engines know, as arrays."""
        return {
            f"{i}/{name}": array
            for i, engine in enumerate(self.engines)
            for name, array in engine.state().items()
        }

    def restore(self, state: State) -> None:
        """Become the ensemble whose :meth:`state` this was."""
        for i, engine in enumerate(self.engines):
            engine.restore(part(state, f"{i}/"))
        self._remember()

    def _remember(self) -> None:
        self._remembered = [_copied(engine.state()) for engine in self.engines]
        self._steps: list[Step] = []

    def _undo(self, touched: int) -> None:
        for engine, state in zip(self.engines[:touched], self._remembered, strict=False):
            engine.restore(_copied(state))
            for step in self._steps:
                step(engine)


def _copied(state: State) -> State:
    return {name: array.copy() for name, array in state.items()}
