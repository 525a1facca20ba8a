"""Stores of told evaluations: the newest ones, or all of them fading.

Where the function stands still, evaluations of one place are merged into one, of the sum of their
weights and the weighted mean of their values: so much is the same to the posterior.

Symbols
-------
u  evaluations held        g  what is left of a weight after one unit of time
w  (u,) sums of weights g^(t - s)    w2 (u,) sums of their squares    wy (u,) sums of w y
"""

from __future__ import annotations

import numpy as np

from heliotrope.domains import Box, Domain, Places, are_indices
from heliotrope.memory.regression import Told
from heliotrope.posterior.records import Records
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import Prior, Static
from heliotrope.serialization.state import State
from heliotrope.validation import Array, Indices

_FADED = 1e-10  # a weight that is nothing, even where the noise is a millionth of the variance
_FADED_IN_A_BOX = 1e-4  # where few visits repeat: the share of all weight that is dropped
_LEAST = 1e-200  # or the noise of what has faded would overflow


class Newest:
    """The last ``length`` evaluations by their times."""

    def __init__(self, prior: Prior, domain: Domain, length: int) -> None:
        self._records = Records(SpaceTime(prior, domain).no_places)
        self._merge, self._length = isinstance(prior.time, Static), length

    def add(self, t: float, place: Places, y: float, now: float) -> None:
        """Take an evaluation, and forget the oldest beyond the length."""
        self._records.append(t, place, y)
        order = np.argsort(self._records.t, kind="stable")
        self._records.keep(order[-self._length :])

    def told(self, t: float) -> Told:
        """Return all that is held."""
        data = self._records
        if not self._merge:
            ones = np.ones(len(data.t))
            return Told(data.t, data.places, data.y, ones, ones)
        latest, which = _by_place(data.places)
        counts = np.bincount(which, minlength=len(latest)).astype(float)
        means = np.bincount(which, data.y, minlength=len(latest)) / counts
        return Told(data.t[latest], data.places[latest], means, counts, counts)

    def width_weights(self, t: float, times: Array) -> Array:
        """1 for evaluations that would be among the newest."""
        full = len(self._records.t) == self._length
        return np.where(times < self._records.t[0], 0.0, 1.0) if full else np.ones(len(times))

    def state(self) -> State:
        """Everything the store holds, as arrays."""
        return self._records.state()

    def restore(self, state: State) -> None:
        """Become the store whose :meth:`state` this was."""
        self._records.restore(state)


class Fading:
    """All evaluations: one of time s weighs g^(t - s) at time t, and squared in the width."""

    def __init__(self, prior: Prior, domain: Domain, rate: float) -> None:
        self._merge, self._rate = isinstance(prior.time, Static), rate
        self._faded = _FADED_IN_A_BOX if isinstance(domain, Box) else _FADED
        self._places, self._t = SpaceTime(prior, domain).no_places, np.empty(0)
        self._sums = np.empty((3, 0))  # w, w2 and wy at the time now
        self._now = -np.inf

    def add(self, t: float, place: Places, y: float, now: float) -> None:
        """Let the others fade until now, and take an evaluation to its place."""
        fading, w = self._rate ** (now - self._now), self._rate ** (now - t)
        self._now = now
        self._sums *= np.array([[fading], [fading**2], [fading]])
        same = self._places == place
        known = np.flatnonzero(same if are_indices(place) else same.all(axis=1))
        if self._merge and len(known):
            self._sums[:, known[0]] += [w, w**2, w * y]
        else:
            self._t, self._places = np.append(self._t, t), np.concatenate([self._places, place])
            self._sums = np.column_stack([self._sums, [w, w**2, w * y]])
        self._drop_faded()

    def told(self, t: float) -> Told:
        """Return all that is held, as it weighs at time t."""
        fading, (w, w2, wy) = self._rate ** (t - self._now), self._sums
        weights = np.maximum([fading * w, fading**2 * w2], _LEAST)
        return Told(self._t, self._places, wy / w, *weights)

    def width_weights(self, t: float, times: Array) -> Array:
        """Squares of the weights of these times."""
        return np.maximum(self._rate ** (2.0 * (t - times)), _LEAST)

    def state(self) -> State:
        """Everything the store holds, as arrays."""
        return {
            "now": np.array(self._now),
            "t": self._t,
            "places": self._places,
            "sums": self._sums,
        }

    def restore(self, state: State) -> None:
        """Become the store whose :meth:`state` this was."""
        self._now, self._t = float(state["now"]), state["t"]
        self._places, self._sums = state["places"], state["sums"].copy()

    def _drop_faded(self) -> None:
        kept = self._sums[0] > self._faded
        if not kept.all():
            self._t, self._places = self._t[kept], self._places[kept]
            self._sums = self._sums[:, kept]


def _by_place(places: Places) -> tuple[Indices, Indices]:
    """The latest visit of each place, in their order, and which of those each visit belongs to."""
    n = len(places)
    _, from_the_end, which = np.unique(places[::-1], axis=0, return_index=True, return_inverse=True)
    latest = n - 1 - from_the_end
    order = np.argsort(latest)
    return latest[order], np.argsort(order)[which[::-1]]
