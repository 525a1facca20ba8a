"""Places whose evaluations failed: suggestions avoid them for a while.

A place is avoided if the evaluated place nearest to it, in the unit cube, failed lately. A failure
continues the row of the nearest failure, unless a result since then is much nearer. After the k-th
failure of a row, all its places are avoided for 2^k asks. So a region where evaluations always fail
is tried ever more rarely. The belief does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from heliotrope.acquisition.scored import argmax
from heliotrope.domains import Box, Choices, Domain, Places, UnitCube, are_indices
from heliotrope.errors import HeliotropeError
from heliotrope.lazy import lazy_module
from heliotrope.ledger import Failure, Ledger
from heliotrope.live.choosing import VISITED, Standing, candidates
from heliotrope.live.deciding import Mask
from heliotrope.policies.protocol import Agent, Weighing
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array

distance = lazy_module("scipy.spatial.distance")

_SAME = 1e-9  # distance in the unit cube
_MUCH = 2.0  # ratio of distances, from which a result ends a row


class Avoidance:
    """What to avoid, given some failures and the latest points with results."""

    def __init__(self, domain: Domain, failures: Sequence[Failure], told: Array) -> None:
        self._cube, self._told, self._failures = UnitCube(domain), told, failures
        self._failed = np.array([one.x for one in failures]).reshape(-1, domain.dimension)

    def avoids(self, places: Places) -> Mask:
        """Which of the places have a failure nearest to them, (q,)."""
        if not self._failures:
            return np.zeros(len(places), dtype=bool)
        away = self._distances(places, self._failed).min(axis=1)
        known = self._distances(places, self._told).min(axis=1, initial=np.inf)
        return np.asarray((away < known - _SAME) | (away < _SAME))

    def elsewhere(self, agent: Agent, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return the choice of the highest score that is not avoided.

        If all are, it is the one farthest from failures; of several, the one that failed first.
        """
        visited = choices.snap(self._told[-VISITED:]) if isinstance(choices, Box) else ()
        standing = Standing(visited=tuple(np.split(visited, len(visited))) if len(visited) else ())
        places = candidates(choices, standing, make_rng)
        left = np.flatnonzero(~self.avoids(places))
        if not len(left):
            return places[[self._farthest(places)]]
        return places[[left[argmax(_scores(agent, t, places[left], make_rng), make_rng)]]]

    def _farthest(self, places: Places) -> int:
        distances = self._distances(places, self._failed)
        until = np.array([one.until for one in self._failures])[distances.argmin(axis=1)]
        return int(np.lexsort([until, -distances.min(axis=1)])[0])

    def _distances(self, places: Places, points: Array) -> Array:
        cube = self._cube
        inside = cube.domain.at(places) if are_indices(places) else cube.enter(places)
        return np.asarray(distance.cdist(inside, cube.enter(points)))


def failure_before(domain: Domain, ledger: Ledger, x: Array) -> Failure | None:
    """The failure whose row a failure at a point continues; None if it begins one.

    It is the nearest one, unless a result since then is much nearer.
    """
    if not ledger.failures:
        return None
    cube = UnitCube(domain)
    at, failed = cube.enter(x[None]), np.array([one.x for one in ledger.failures])
    away = distance.cdist(at, cube.enter(failed))[0]
    nearest = ledger.failures[int(away.argmin())]
    since = distance.cdist(at, cube.enter(ledger.history.x[nearest.told :]))
    return None if _MUCH * since.min(initial=np.inf) < away.min() else nearest


def _scores(agent: Agent, t: float, places: Places, make_rng: RNGFactory) -> Array:
    """The scores of places; all are equal for an agent without scores."""
    with suppress(HeliotropeError):  # even to ask an agent whether it has scores may raise this
        if isinstance(agent, Weighing):
            return agent.scores(t, places, make_rng)
    return np.zeros(len(places))
