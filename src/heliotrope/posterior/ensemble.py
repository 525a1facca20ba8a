"""Engines that move together: each takes a step, or none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from heliotrope.posterior.protocol import Engine
from heliotrope.serialization.state import State, copied, part, under

Step: TypeAlias = Callable[[Engine], None]

_MOST_STEPS = 2_000  # between copies of an engine: enough for these to cost next to nothing


class Ensemble:
    """Several engines that see the same evaluations.

    An engine cannot go back, so one that took a step which failed in another is made anew, from
    the latest copy of its state and the steps since. That copy is the price, in memory.
    """

    def __init__(self, engines: Iterable[Engine]) -> None:
        self._members = [_Member(engine) for engine in engines]

    @property
    def engines(self) -> list[Engine]:
        """The engines, in the order in which they joined."""
        return [member.engine for member in self._members]

    def take(self, step: Step, first: int | None = None) -> None:
        """Take a step in the ``first`` engines, or in all; if it fails in one, none took it."""
        stepping = self._members[:first]
        for i, member in enumerate(stepping):
            try:
                step(member.engine)
            except BaseException:  # an interrupt too
                for touched in stepping[: i + 1]:
                    touched.undo()
                raise
        for member in stepping:
            member.remember(step)

    def join(self, engine: Engine) -> None:
        """Let one more engine see what is to come."""
        self._members.append(_Member(engine))

    def leave(self, i: int) -> Engine:
        """Let go of an engine, and return it."""
        return self._members.pop(i).engine

    def state(self) -> State:
        """Everything the engines know, as arrays."""
        whole: State = {}
        for i, engine in enumerate(self.engines):
            whole |= under(f"{i}/", engine.state())
        return whole

    def restore(self, state: State) -> None:
        """Become the ensemble whose :meth:`state` this was."""
        for i, engine in enumerate(self.engines):
            engine.restore(part(state, f"{i}/"))
        self._members = [_Member(engine) for engine in self.engines]


class _Member:
    """An engine, a copy of what it was, and the steps that it has taken since."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._steps = engine, list[Step]()
        self._copy = copied(engine.state())

    def remember(self, step: Step) -> None:
        """Count a step as taken."""
        self._steps.append(step)
        if len(self._steps) == _MOST_STEPS:
            self._copy, self._steps = copied(self.engine.state()), []

    def undo(self) -> None:
        """Go back to the latest step that was remembered."""
        self.engine.restore(copied(self._copy))
        for step in self._steps:
            step(self.engine)
