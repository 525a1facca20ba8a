"""What a tracker with rules believes at one time, in one context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from heliotrope.domains import Box, Choices, DomainAdapter, Places, all_choices
from heliotrope.errors import located
from heliotrope.ledger import Suggestion
from heliotrope.live.beliefs import Belief, Gain, Trust, front, gain, random_sum
from heliotrope.live.choosing import VISITED, candidates, safe
from heliotrope.live.rules import Distances, Limit, Live, Mask
from heliotrope.spaces import Options, SearchSpace
from heliotrope.surroundings import RNGFactory
from heliotrope.tracker.metric import Metric
from heliotrope.validation import Array

__all__ = ["Outlook", "Setup"]


class Setup:
    """What a tracker is made with: the choices, the rules, and the settings that it starts from.

    ``baseline`` and ``called_safe`` are coordinates of choices; ``point_of`` returns those of a
    setting. The user says that the choices of ``called_safe`` keep all limits; the baseline is the
    first of them. The rules name the parameters of moves as the ``space`` does.
    """

    def __init__(
        self,
        adapter: DomainAdapter,
        live: Live,
        point_of: Callable[[Any], Array],
        space: SearchSpace | Options | None,
    ) -> None:
        self.adapter, self.live = adapter, live
        with located("baseline"):
            self.baseline = None if live.baseline is None else point_of(live.baseline)
        with located("safe"):
            safe = tuple(point_of(setting) for setting in live.safe)
        self.called_safe = safe if self.baseline is None else (self.baseline, *safe)
        self.distances = Distances(live.rules.moves, adapter.domain, space)


@dataclass(frozen=True, eq=False)
class PlacesInContext:
    """The choices in a context given by its coordinates, and those with a role, as places.

    ``applied`` are the coordinates of the choice that runs now.
    """

    setup: Setup
    context: Array | None = None
    applied: Array | None = None

    @cached_property
    def live(self) -> Live:
        return self.setup.live

    @cached_property
    def choices(self) -> Choices:
        """All choices, in the context."""
        choices = self.setup.adapter.choices(self.context)
        return all_choices(self.setup.adapter.domain) if choices is None else choices

    def places_of(self, points: Array) -> Places:
        """The places of choices (q, d) given by their coordinates."""
        adapter = self.setup.adapter
        if adapter.contextual is not None and self.context is not None:
            points = adapter.contextual.points(points, self.context)
        places = points if isinstance(self.choices, Box) else adapter.domain.places(points)
        return np.asarray(places)

    def place_of(self, asked: Suggestion) -> Places:
        """The choice of an evaluation in this context."""
        if asked.index is not None and self.context is None:
            return np.array([asked.index])
        return self.places_of(asked.choice[None])

    @cached_property
    def baseline(self) -> Places | None:
        return None if self.setup.baseline is None else self.places_of(self.setup.baseline[None])

    @cached_property
    def running(self) -> Places | None:
        return None if self.applied is None else self.places_of(self.applied[None])

    @cached_property
    def called_safe(self) -> tuple[Places, ...]:
        """The choices that keep all limits by the user's word."""
        return tuple(self.places_of(choice[None]) for choice in self.setup.called_safe)


@dataclass(frozen=True, eq=False, kw_only=True)
class Outlook(PlacesInContext):
    """The beliefs about all metrics at a time, in a context."""

    metrics: Mapping[str, Metric]
    t: float
    trust: Mapping[str, Trust] = field(default_factory=dict)

    @cached_property
    def lead(self) -> Metric:
        return self.metrics[self.live.lead]

    # ---- beliefs

    def metric(self, name: str) -> Belief:
        """The belief about one metric, with the sign in which it is told."""
        return self.weighted({name: 1.0})

    def weighted(self, weights: Mapping[str, float]) -> Belief:
        """The belief about a weighted sum of metrics, with the signs in which they are told."""
        metrics, items = self.metrics, weights.items()
        return Belief(tuple([(w * metrics[name].sign, metrics[name].agent) for name, w in items]))

    def objective(self, make_rng: RNGFactory) -> Belief:
        """The belief about what is maximized; with several objectives, a random sum of them."""
        if self.live.weights is not None:
            return self.weighted(self.live.weights)
        spreads = {name: self.spread(name) for name in self.live.objectives}
        agents = [self.metrics[name].agent for name in spreads]
        return random_sum(agents, np.array([*spreads.values()]), make_rng)

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

    # ---- limits and moves

    def reachable(self, places: Places) -> Mask:
        """Which places are within the largest move of what runs now, and of all open asks.

        Then every move is small enough, in whatever order open asks are applied.
        """
        if self.running is None:
            return np.ones(len(places), dtype=bool)
        reachable, asked = self.setup.distances.reachable, self.lead.open
        near = reachable(places, [self.running, *(self.place_of(open) for open in asked)])
        return near if near.any() else reachable(places, [self.running])

    def margins(self, places: Places) -> tuple[Array, Array]:
        """Mean and deviation of how far inside each limit places are, (q, l) each."""
        limits = self.live.rules.limits
        margin, doubt = np.empty((2, len(places), len(limits)))
        for i, limit in enumerate(limits):
            belief = self.metric(limit.metric)
            if limit.relative:
                assert self.baseline is not None
                mean, variance = belief.contrast(self.t, places, self.baseline, limit.bound)
            else:
                mean, variance = belief.predict(self.t, places)
                mean = mean - limit.bound
            margin[:, i], doubt[:, i] = limit.sign * mean, self.factor(limit) * np.sqrt(variance)
        return margin, doubt

    def factor(self, limit: Limit) -> float:
        """The factor of the model's deviation: how far its metric's belief is trusted."""
        return self.trust.get(limit.metric, Trust()).factor

    def safe(self, places: Places) -> Mask:
        """Which places keep each limit with a probability of at least 1 - risk."""
        return safe(*self.margins(places), self.live.rules.risk_of_each)

    def bound(self, limit: Limit) -> float:
        """The bound in the unit of its metric; a relative one is a share of the baseline's mean."""
        if not limit.relative or self.baseline is None:
            return limit.bound
        mean, _ = self.metric(limit.metric).predict(self.t, self.baseline)
        return limit.bound * float(mean[0])

    # ---- the best

    def visited(self) -> list[Places]:
        """The latest measured choices of a box, in the present context."""
        if not isinstance(self.choices, Box):
            return []
        width = self.setup.adapter.choice_domain.dimension
        return [self.places_of(self.lead.history.x[-VISITED:, :width])]

    def places(self) -> Places:
        """All choices of a list; of a box, some everywhere and some near measured or safe ones."""
        if not isinstance(self.choices, Box):
            return self.choices
        near = (*self.called_safe, *self.visited(), self.own_best())
        return candidates(self.choices, near, _fixed)

    def kept_places(self) -> Places:
        """Those of :meth:`places` that keep all limits."""
        places = self.places()
        return places[self.safe(places)]

    def own_best(self) -> Places:
        """The best place of the leading metric, whether or not it keeps the limits."""
        best = self.lead.best(self.t, self.context)
        return np.array([best.index]) if best.index is not None else best.x[None]

    def best(self) -> tuple[Places, bool]:
        """The best choice that keeps all limits, and True.

        If none does, it is the first choice that the user calls safe, or else the best without
        limits, and False.
        """
        kept = self.kept_places()
        if len(kept):
            lead = self.live.lead
            weights = self.live.weights or {lead: self.live.sign_of(lead)}
            mean, _ = self.weighted(weights).predict(self.t, kept)
            return kept[[int(np.argmax(mean))]], True
        return (self.called_safe[0] if self.called_safe else self.own_best()), False

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
        kept = self.kept_places() if places is None else places[self.safe(places)]
        agents = [self.metrics[name].agent for name in self.live.objectives]
        means = [agent.predict(self.t, kept, count_open=False)[0] for agent in agents]
        return kept[front(np.column_stack(means))] if len(kept) else kept


def _fixed() -> np.random.Generator:
    """A generator that is the same for every query."""
    return np.random.default_rng(0)
