"""The next setting of a live system: candidates, what is believed of them, and the decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from heliotrope.domains import Box, Domain, Finite, Places, are_indices
from heliotrope.live.beliefs import Belief, Trust
from heliotrope.live.deciding import Mask, Reason, View, decide, safe
from heliotrope.live.moving import Distances
from heliotrope.live.rules import Limit, Rules
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, Indices

_SPREAD, _NEAR = 256, 64  # candidates in a box: everywhere, and around each known place
_HORIZON = 5.0  # steps over which a setting is worth having, once it is reached or known safe
VISITED = 8  # latest measured choices of a box that are candidates again
_SCALES = (0.5, 0.2, 0.05, 0.01)  # shares of the way from a known place to them


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a live system stands: what runs, what is open, and what was asked so far.

    ``known`` are settings that keep all limits by the user's word, the baseline first.
    ``applied`` runs now. ``visited`` are the latest measured places. ``at_baseline`` of the
    ``asked`` evaluations were at the baseline. ``told`` have a result of every limited metric.
    """

    baseline: Places | None = None
    known: tuple[Places, ...] = ()
    applied: Places | None = None
    open: tuple[Places, ...] = ()
    visited: tuple[Places, ...] = ()
    asked: int = 0
    at_baseline: int = 0
    told: int = 0

    @property
    def places(self) -> list[Places]:
        """All places that must be among the candidates."""
        given = [self.applied, self.baseline, *self.known, *self.visited]
        return [place for place in given if place is not None]


@dataclass(frozen=True, eq=False)
class Chooser:
    """Chooses by the beliefs about an objective and the limited metrics.

    ``trust`` is that of the limited metrics. ``avoids`` says where evaluations failed lately.
    """

    rules: Rules
    domain: Domain | Indices  # or the indices of some of its points
    distances: Distances
    objective: Belief
    limited: Mapping[str, Belief] = field(default_factory=dict)
    trust: Mapping[str, Trust] = field(default_factory=dict)
    avoids: Callable[[Places], Mask] | None = None

    def choose(self, standing: Standing, t: float, make_rng: RNGFactory) -> tuple[Places, Reason]:
        """The place to measure next at time t, and why."""
        places = candidates(self.domain, standing, make_rng)
        view = self.view(standing, places, t, make_rng)
        due = self._is_due(standing, view, places, t)
        first = standing.told == 0
        decision = decide(view, self.rules.risk_of_each, make_rng, first=first, baseline_due=due)
        return places[[decision.index]], decision.reason

    def view(self, standing: Standing, places: Places, t: float, make_rng: RNGFactory) -> View:
        """What is believed of places, and which of them can be reached."""
        mean, variance = self.objective.predict(t, places)
        margin, doubt = self.margins(places, t, standing.baseline)
        known = [self._index(places, place) for place in standing.known]
        base = None if standing.baseline is None else self._index(places, standing.baseline)
        return View(
            score=self.objective.scores(t, places, make_rng),
            mean=mean,
            margin=margin,
            doubt=doubt,
            reachable=self.reachable(places, standing),
            price=self.distances.price(places, standing.applied) / _HORIZON,
            known=tuple(known),
            baseline=base,
            std=np.sqrt(variance),
            horizon=_HORIZON,
            avoided=None if self.avoids is None else self.avoids(places),
            covariance=self._covariance(places, t),
            noise=np.array([self.limited[one.metric].noise for one in self.rules.limits]),
            factor=np.array([self._factor(one) for one in self.rules.limits]),
        )

    def reachable(self, places: Places, standing: Standing) -> Mask:
        """Which places are within the largest move of what runs now, and of all open asks.

        Then every move is small enough, in whatever order open asks are applied.
        """
        if standing.applied is None:
            return np.ones(len(places), dtype=bool)
        near = self.distances.reachable(places, [standing.applied, *standing.open])
        return near if near.any() else self.distances.reachable(places, [standing.applied])

    def margins(self, places: Places, t: float, baseline: Places | None) -> tuple[Array, Array]:
        """Mean and deviation of how far inside each limit places are, (q, l) each."""
        rows = [self._margin(limit, places, t, baseline) for limit in self.rules.limits]
        empty = np.empty((len(places), 0))
        margin = np.column_stack([mean for mean, _ in rows]) if rows else empty
        return margin, np.column_stack([doubt for _, doubt in rows]) if rows else empty

    def safe(self, places: Places, t: float, baseline: Places | None) -> Mask:
        """Which places keep each limit with a probability of at least 1 - risk."""
        margin, doubt = self.margins(places, t, baseline)
        return safe(margin, doubt, self.rules.risk_of_each)

    def _margin(
        self, limit: Limit, places: Places, t: float, baseline: Places | None
    ) -> tuple[Array, Array]:
        belief = self.limited[limit.metric]
        if limit.relative:
            assert baseline is not None
            mean, variance = belief.contrast(t, places, baseline, limit.bound)
        else:
            mean, variance = belief.predict(t, places)
            mean = mean - limit.bound
        return limit.sign * mean, self._factor(limit) * np.sqrt(variance)

    def _factor(self, limit: Limit) -> float:
        return self.trust.get(limit.metric, Trust()).factor

    def _covariance(self, places: Places, t: float):  # type: ignore[no-untyped-def]
        def covariance(limit: int, some: Indices, others: Indices) -> Array:
            belief = self.limited[self.rules.limits[limit].metric]
            return belief.covariance(t, places[some], places[others])

        return covariance

    def _is_due(self, standing: Standing, view: View, places: Places, t: float) -> bool:
        if standing.baseline is None:
            return False
        kept = safe(view.margin, view.doubt, self.rules.risk_of_each)
        best = int(np.argmax(np.where(kept | ~kept.any(), view.mean, -np.inf)))
        mean, variance = self.objective.contrast(t, places[[best]], standing.baseline)
        gain, deviation = float(mean[0]), float(np.sqrt(variance[0]))
        due = self.rules.remeasure.is_due
        return due(standing.asked, standing.at_baseline, gain, deviation)

    @staticmethod
    def _index(places: Places, place: Places) -> int:
        same = places == place if are_indices(places) else (places == place).all(axis=1)
        return int(np.flatnonzero(same)[0])


def candidates(domain: Domain | Indices, standing: Standing, make_rng: RNGFactory) -> Places:
    """All points of a Finite domain; of a Box, points everywhere and around known places."""
    if isinstance(domain, Finite):
        return domain.indices
    if not isinstance(domain, Box):
        return domain
    rng, known = make_rng(), standing.places
    spread = domain.scaled(rng.random((_SPREAD, domain.dimension)))
    near = [
        place + scale * (domain.scaled(rng.random((_NEAR, domain.dimension))) - place)
        for place in known
        for scale in _SCALES
    ]
    return np.concatenate([*known, domain.snap(np.concatenate([spread, *near]))])
