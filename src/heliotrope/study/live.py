"""A study with goals at one time and in one context: its beliefs, rules and standing for the core.

:mod:`heliotrope.live` decides. This module gives it the beliefs about all metrics, and says where
the system stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from heliotrope.domains import Box, Choices, Contextual, Places, all_choices, are_indices
from heliotrope.live import Belief, Chooser, Distances, Standing, Trust
from heliotrope.live.choosing import candidates
from heliotrope.live.deciding import Mask
from heliotrope.live.gains import Gain, gain
from heliotrope.live.rules import Limit
from heliotrope.live.trading import front, random_sum
from heliotrope.optimizer import Optimizer
from heliotrope.rng import RNGFactory, RNGStream
from heliotrope.study.space_adapter import Context
from heliotrope.validation import Array, Json

if TYPE_CHECKING:
    from heliotrope.study.config import StudyConfig
    from heliotrope.study.goals import Goals

_VISITED = 8  # latest measured choices that are candidates again
_PURPOSE = 2  # of the random stream: not that of an optimizer's own choice


@dataclass(frozen=True, eq=False)
class LiveBelief:
    """The beliefs about all metrics at a time, in a context."""

    config: StudyConfig
    optimizers: Mapping[str, Optimizer]
    t: float
    context: Context | None = None
    trust: Mapping[str, Trust] = field(default_factory=dict)

    @property
    def goals(self) -> Goals:
        assert self.config.goals is not None
        return self.config.goals

    @property
    def lead(self) -> Optimizer:
        return self.optimizers[self.goals.lead]

    @property
    def context_point(self) -> Array | None:
        return self.config.adapter.context_point(self.context)

    def metric(self, name: str) -> Belief:
        """The belief about one metric, as it is told."""
        return Belief.of(self.optimizers[name].agent, self.config.metrics[name].sign)

    def objective(self, make_rng: RNGFactory) -> Belief:
        """The belief about what is maximized; with several objectives, a random sum of them."""
        weights = self.goals.weights
        if weights is not None:
            return self.weighted(weights)
        agents = [(1.0, self.optimizers[name].agent) for name in self.goals.directed]
        spreads = np.array([self.spread(name) for name in self.goals.directed])
        return random_sum(agents, spreads, make_rng)

    def objective_as_told(self) -> Belief:
        """The belief about the objective as it is shown: low values are good if it is minimized.

        It is the weighted sum that the user gave, or else the leading metric.
        """
        return self.weighted(self.goals.objective or {self.goals.lead: 1.0})

    def is_known(self) -> bool:
        """Whether every objective and every limited metric has a result."""
        needed = {*(self.goals.weights or self.goals.directed), *self.goals.rules.limited}
        return all(len(self.optimizers[name].history) for name in needed)

    def chooser(self, make_rng: RNGFactory) -> Chooser:
        rules = self.goals.rules
        limited = {name: self.metric(name) for name in rules.limited}
        objective = self.objective(make_rng)
        return Chooser(rules, self.choices, self.distances, objective, limited, self.trust)

    @cached_property
    def distances(self) -> Distances:
        adapter = self.config.adapter
        return Distances(self.goals.rules.moves, adapter.domain, self.config.space)

    # ---- places

    @cached_property
    def choices(self) -> Choices:
        """All choices, in the context."""
        problem, point = self.config.adapter.problem, self.context_point
        if isinstance(problem, Contextual) and point is not None:
            return problem.given(point)
        return all_choices(self.config.adapter.domain)

    def place(self, chosen: Any) -> Places:
        """Parameters or an option as one place."""
        return np.array([self.config.adapter.place_of(chosen, self.context)])

    def of_points(self, points: Array) -> Places:
        """Choices as points (q, d), or all choices of a list, as places."""
        adapter, context = self.config.adapter, self.context_point
        if isinstance(adapter.problem, Contextual) and context is not None:
            points = adapter.problem.points(points, context)
        found = adapter.domain.places(points) if not isinstance(self.choices, Box) else points
        return np.asarray(found)

    def all_places(self) -> Places:
        """All choices of a list as places."""
        assert not isinstance(self.choices, Box)
        return self.choices

    def words(self, chosen: Any) -> Json:
        """A choice as an evaluation names it."""
        return self.config.adapter.describe(
            self.config.adapter.place_of(chosen, self.context), self.context
        )

    @cached_property
    def baseline(self) -> Places | None:
        return None if self.goals.baseline is None else self.place(self.goals.baseline)

    def describe(self, place: Places) -> Json:
        """The params or the option of one place, and the context."""
        where = int(place[0]) if are_indices(place) else place[0]
        return self.config.adapter.describe(where, self.context)

    # ---- limits

    def safe(self, places: Places) -> Mask:
        """Which places keep each limit with a probability of at least 1 - risk."""
        return self.chooser(_fixed).safe(places, self.t, self.baseline)

    def bound(self, limit: Limit) -> float:
        """The bound in the unit of its metric; a share is one of the baseline's mean."""
        if not limit.relative or self.baseline is None:
            return limit.bound
        mean, _ = self.metric(limit.metric).predict(self.t, self.baseline)
        return limit.bound * float(mean[0])

    # ---- the best

    def places(self, visited: Sequence[Places] = ()) -> Places:
        """All choices of a list; of a box, some everywhere and some near known ones."""
        known = tuple(self.place(one) for one in self.goals.known)
        standing = Standing(known=known, visited=(*visited, *self.visited(), self.own_best()))
        return candidates(self.choices, standing, _fixed)

    def own_best(self) -> Places:
        """The best place of the leading metric, without limits."""
        best = self.lead.best(self.t, context=self.context_point)
        return np.array([best.index]) if best.index is not None else best.x[None]

    def best(self, weights: Mapping[str, float]) -> Places | None:
        """The place of the highest mean of a weighted sum that keeps the limits; None for none."""
        places = self.places()
        safe = np.flatnonzero(self.safe(places))
        if not len(safe):
            return None
        mean, _ = self.weighted(weights).predict(self.t, places[safe])
        return places[[safe[int(np.argmax(mean))]]]

    def gain(self, place: Places) -> Gain | None:
        """The gain of a place over the baseline; None without one, or with several objectives.

        The baseline's value in it is that of the weighted sum to maximize.
        """
        weights = self.goals.weights
        if self.baseline is None or weights is None or not self.is_known():
            return None
        return gain(self.weighted(weights), self.t, place, self.baseline)

    def front(self) -> Places:
        """The best trade-offs that keep the limits."""
        places = self.places()
        places = places[self.safe(places)]
        names = self.goals.directed
        agents = [self.optimizers[name].agent for name in names]
        means = [agent.predict(self.t, places, count_open=False)[0] for agent in agents]
        return places[front(np.column_stack(means))] if len(places) else places

    def values(self, place: Places) -> dict[str, Json]:
        """Mean and deviation of each metric with results at one place."""
        found = {}
        for name, optimizer in self.optimizers.items():
            if len(optimizer.history):
                mean, variance = self.metric(name).predict(self.t, place)
                found[name] = {"mean": float(mean[0]), "std": float(np.sqrt(variance[0]))}
        return found

    # ---- private

    def weighted(self, weights: Mapping[str, float]) -> Belief:
        """The belief about a weighted sum of metrics, as they are told."""
        return Belief(
            tuple(
                (weight * self.config.metrics[name].sign, self.optimizers[name].agent)
                for name, weight in weights.items()
            )
        )

    def spread(self, name: str) -> float:
        """The deviation of a metric's results, or 1 while it is unknown."""
        y = self.optimizers[name].history.y
        return float(np.std(y)) or 1.0 if len(y) else 1.0

    def visited(self) -> list[Places]:
        """The latest measured choices, in the present context."""
        width = self.config.adapter.choices.dimension
        if not isinstance(self.choices, Box):
            return []
        return [self.of_points(x[None, :width]) for x in self.lead.history.x[-_VISITED:]]


def stream(config: StudyConfig, asked: int) -> RNGFactory:
    """The random stream of an ask."""
    return RNGStream(config.seed or 0).at(asked, _PURPOSE)


def _fixed() -> Any:
    """A generator that is the same for every query."""
    return np.random.default_rng(0)
