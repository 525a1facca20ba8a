"""The agent inside one that learns its model: one model, and the evaluations that it is shown.

A new model needs a new agent that sees the latest results. Showing it all of them at once takes
long, so it may be shown a few at each operation, while the agent before it still chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from heliotrope.estimation import Model
from heliotrope.policies.learner import CubeEvaluation, columns, evaluations
from heliotrope.policies.protocol import Agent, Doubting
from heliotrope.precision import Precision
from heliotrope.serialization.codec import State, part, under


@dataclass(frozen=True)
class Timeline:
    """Time counted in results: ``told`` of them at time ``latest``, a ``pace`` apart."""

    latest: float = 0.0
    told: float = 0.0
    pace: float = 1.0

    def at(self, t: float) -> float:
        """The number of results expected by time t."""
        return self.told + (t - self.latest) / self.pace


@dataclass(eq=False)
class InnerAgent:
    """An agent for a model, and the evaluations that it is still to be shown, oldest first.

    ``contradicted`` are the keys of results that later ones contradict.
    """

    model: Model
    agent: Agent
    timeline: Timeline
    unseen: Sequence[CubeEvaluation]
    contradicted: frozenset[int] = frozenset()

    @property
    def doubted(self) -> set[int]:
        """The keys of the evaluations whose values it takes for faults."""
        return set(self.agent.doubted) if isinstance(self.agent, Doubting) else set()

    def open(self, one: CubeEvaluation) -> None:
        """Begin an evaluation, the latest one."""
        if self.unseen:
            self.unseen = [*self.unseen, one]
        else:
            self.agent.open(one.key, self.timeline.at(one.t), one.place)

    def tell(self, key: int, y: float, precision: Precision) -> None:
        """Take the value of an open evaluation."""
        i = self._queued(key)
        if i is None:
            self.agent.tell(key, self.model.outlier_bounds().clip_one(y), precision)
        else:
            told = replace(self.unseen[i], y=y, precision=precision)
            self.unseen = [*self.unseen[:i], told, *self.unseen[i + 1 :]]

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        i = self._queued(key)
        if i is None:
            self.agent.cancel(key)
        else:
            self.unseen = [*self.unseen[:i], *self.unseen[i + 1 :]]

    def see(self, count: int | None = None) -> None:
        """Show the agent the next evaluations, by default all."""
        now, self.unseen = self.unseen[:count], [] if count is None else self.unseen[count:]
        bounds = self.model.outlier_bounds()
        for one in now:
            self.agent.open(one.key, self.timeline.at(one.t), one.place)
            if not np.isnan(one.y):
                self.agent.tell(one.key, bounds.clip_one(one.y), one.precision)

    def _queued(self, key: int) -> int | None:
        """The position of an open evaluation that the agent was not shown yet, or None."""
        found = (i for i, one in enumerate(self.unseen) if one.key == key and np.isnan(one.y))
        return next(found, None)

    def state(self) -> State:
        """Its state as arrays, without the model."""
        return {
            "timeline": np.array(astuple(self.timeline)),
            "contradicted": np.array(sorted(self.contradicted), dtype=np.int64),
            **(columns("unseen", self.unseen) if self.unseen else {}),
        } | under("inner/", self.agent.state())

    @classmethod
    def restored(cls, model: Model, agent: Agent, state: State) -> InnerAgent:
        """Read :meth:`state` into a new agent for the model."""
        agent.restore(part(state, "inner/"))
        unseen = evaluations("unseen", state) if "unseen/t" in state else []
        contradicted = state.get("contradicted", np.empty(0))  # older files lack it
        timeline = Timeline(*state["timeline"].tolist())
        return cls(model, agent, timeline, unseen, frozenset(contradicted.tolist()))
