"""What a tracker with rules believes at one time, in one context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from heliotrope.domains import Box, Choices, Places, all_choices
from heliotrope.ledger import Suggestion
from heliotrope.live.beliefs import Belief, Trust
from heliotrope.live.choosing import VISITED, Chooser, Standing, candidates
from heliotrope.live.deciding import Mask
from heliotrope.live.description import Live
from heliotrope.live.gains import Gain, gain
from heliotrope.live.rules import Limit
from heliotrope.live.trading import front, random_sum
from heliotrope.surroundings import RNGFactory
from heliotrope.tracker.metric import Metric
from heliotrope.tracker.setup import Setup
from heliotrope.validation import Array

__all__ = ["Outlook"]


@dataclass(frozen=True, eq=False)
class Outlook:
    """The beliefs about all metrics at a time, in a context given by its coordinates."""

    setup: Setup
    metrics: Mapping[str, Metric]
    t: float
    context: Array | None = None
    trust: Mapping[str, Trust] = field(default_factory=dict)

    @property
    def live(self) -> Live:
        return self.setup.live

    @property
    def lead(self) -> Metric:
        return self.metrics[self.live.lead]

    # ---- beliefs

    def metric(self, name: str) -> Belief:
        """The belief about one metric, with the sign in which it is told."""
        return Belief.of(self.metrics[name].agent, self.live.sign_of(name))

    def weighted(self, weights: Mapping[str, float]) -> Belief:
        """The belief about a weighted sum of metrics, with the signs in which they are told."""
        return Belief(
            tuple(
                (weight * self.live.sign_of(name), self.metrics[name].agent)
                for name, weight in weights.items()
            )
        )

    def objective(self, make_rng: RNGFactory) -> Belief:
        """The belief about what is maximized; with several objectives, a random sum of them."""
        weights = self.live.weights
        if weights is not None:
            return self.weighted(weights)
        agents = [(1.0, self.metrics[name].agent) for name in self.live.objectives]
        spreads = np.array([self.spread(name) for name in self.live.objectives])
        return random_sum(agents, spreads, make_rng)

    def objective_as_told(self) -> Belief:
        """The belief about the objective as it is shown: low values are good if it is minimized.

        It is the weighted sum that the user gave, or else the leading metric.
        """
        return self.weighted(self.live.objective or {self.live.lead: 1.0})

    def is_known(self) -> bool:
        """Whether every objective and every limited metric has a result."""
        needed = {*(self.live.weights or self.live.objectives), *self.live.rules.limited}
        return all(len(self.metrics[name].history) for name in needed)

    def spread(self, name: str) -> float:
        """The deviation of a metric's results, or 1 while it is unknown."""
        y = self.metrics[name].history.y
        return float(np.std(y)) or 1.0 if len(y) else 1.0

    def chooser(self, make_rng: RNGFactory) -> Chooser:
        limited = {name: self.metric(name) for name in self.live.rules.limited}
        objective, distances = self.objective(make_rng), self.setup.distances
        return Chooser(self.live.rules, self.choices, distances, objective, limited, self.trust)

    # ---- places

    @cached_property
    def choices(self) -> Choices:
        """All choices, in the context."""
        choices = self.setup.adapter.choices(self.context)
        return all_choices(self.setup.adapter.domain) if choices is None else choices

    def place(self, choice: Array) -> Places:
        """The place of one choice given by its coordinates."""
        return self.of_points(choice[None])

    def of_points(self, points: Array) -> Places:
        """The places of choices (q, d) given by their coordinates."""
        adapter = self.setup.adapter
        if adapter.contextual is not None and self.context is not None:
            points = adapter.contextual.points(points, self.context)
        places = points if isinstance(self.choices, Box) else adapter.domain.places(points)
        return np.asarray(places)

    def all_places(self) -> Places:
        """All choices of a list as places."""
        assert not isinstance(self.choices, Box)
        return self.choices

    def of_open(self, asked: Suggestion) -> Places:
        """The choice of an open evaluation in the present context."""
        if asked.index is not None and self.context is None:
            return np.array([asked.index])
        return self.of_points(asked.choice[None])

    @cached_property
    def baseline(self) -> Places | None:
        return None if self.setup.baseline is None else self.place(self.setup.baseline)

    @cached_property
    def known(self) -> tuple[Places, ...]:
        """The choices that keep all limits by the user's word."""
        return tuple(self.place(choice) for choice in self.setup.known)

    def visited(self) -> list[Places]:
        """The latest measured choices of a box, in the present context."""
        if not isinstance(self.choices, Box):
            return []
        problem = self.setup.adapter.contextual
        width = (self.setup.adapter.domain if problem is None else problem.choices).dimension
        return [self.of_points(x[None, :width]) for x in self.lead.history.x[-VISITED:]]

    def places(self, visited: Sequence[Places] = ()) -> Places:
        """All choices of a list; of a box, some everywhere and some near measured or known ones."""
        near = (*visited, *self.visited(), self.own_best())
        return candidates(self.choices, Standing(known=self.known, visited=near), _fixed)

    # ---- limits

    def safe(self, places: Places) -> Mask:
        """Which places keep each limit with a probability of at least 1 - risk."""
        return self.chooser(_fixed).safe(places, self.t, self.baseline)

    def bound(self, limit: Limit) -> float:
        """The bound in the unit of its metric; a relative one is a share of the baseline's mean."""
        if not limit.relative or self.baseline is None:
            return limit.bound
        mean, _ = self.metric(limit.metric).predict(self.t, self.baseline)
        return limit.bound * float(mean[0])

    # ---- the best

    def own_best(self) -> Places:
        """The best place of the leading metric, whether or not it keeps the limits."""
        best = self.lead.best(self.t, self.context)
        return np.array([best.index]) if best.index is not None else best.x[None]

    def best(self) -> tuple[Places, bool]:
        """The best choice that keeps all limits, and True.

        If none does, it is the first choice that the user calls safe, or else the best without
        limits, and False.
        """
        places = self.places()
        safe = np.flatnonzero(self.safe(places))
        if len(safe):
            lead = self.live.lead
            weights = self.live.weights or {lead: self.live.sign_of(lead)}
            mean, _ = self.weighted(weights).predict(self.t, places[safe])
            return places[[safe[int(np.argmax(mean))]]], True
        return (self.known[0] if self.known else self.own_best()), False

    def gain(self, place: Places) -> Gain | None:
        """The gain of a place over the baseline; None without one, or with several objectives.

        Its ``baseline`` is the believed value of the weighted sum that is maximized.
        """
        weights = self.live.weights
        if self.baseline is None or weights is None or not self.is_known():
            return None
        return gain(self.weighted(weights), self.t, place, self.baseline)

    def front(self, places: Places | None = None) -> Places:
        """The best trade-offs that keep the limits, among some places or by default all."""
        places = self.places() if places is None else places
        places = places[self.safe(places)]
        agents = [self.metrics[name].agent for name in self.live.objectives]
        means = [agent.predict(self.t, places, count_open=False)[0] for agent in agents]
        return places[front(np.column_stack(means))] if len(places) else places


def _fixed() -> np.random.Generator:
    """A generator that is the same for every query."""
    return np.random.default_rng(0)
