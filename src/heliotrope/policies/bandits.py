"""UCB that forgets (Garivier and Moulines 2011): D-UCB discounts what is old, SW-UCB drops it.

Symbols
-------
K   number of points        N   (K,) how often each was chosen, as far as that still counts
S   (K,) sum of each point's rewards, in [0, 1], as far as they still count
n   what all choices together count        xi   width of the confidence interval
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, sqrt
from typing import Protocol

import numpy as np

from heliotrope.acquisition import argmax
from heliotrope.domains import Box, Choices, Domain, Places
from heliotrope.errors import FormatError, InputError
from heliotrope.policies.beliefless import Beliefless
from heliotrope.policies.rewards import Ranged, number_of_points
from heliotrope.rng import Draw
from heliotrope.serialization.codec import register
from heliotrope.serialization.state import State
from heliotrope.validation import Array, Indices, as_number, as_positive, as_whole

_NOTHING = 1e-200  # a count below it is none
_UNKNOWN = 0.5  # mean reward of a point whose first value is still awaited


@register
@dataclass(frozen=True)
class DiscountedUCB(Ranged):
    """D-UCB: what a choice counts shrinks by the factor ``discount`` in each unit of time."""

    discount: float = field(kw_only=True)
    xi: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "discount", as_number(self.discount, "discount"))
        if not 0.0 < self.discount <= 1.0:
            raise InputError("a discount above 0 and at most 1", f"{self.discount:g}")
        object.__setattr__(self, "xi", as_positive(self.xi, "xi"))

    def start(self, domain: Domain) -> UCBAgent:
        """Return a fresh agent over a Finite domain."""
        points = number_of_points(domain, "d_ucb")
        return UCBAgent(self, 4.0 * self.xi, points, Discounted(points, self.discount))


@register
@dataclass(frozen=True)
class WindowUCB(Ranged):
    """SW-UCB: choices count while they are at most ``window`` units of time old."""

    window: float = field(kw_only=True)
    xi: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("window", "xi"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))

    def start(self, domain: Domain) -> UCBAgent:
        """Return a fresh agent over a Finite domain."""
        points = number_of_points(domain, "sw_ucb")
        return UCBAgent(self, self.xi, points, Windowed(points, self.window))


def d_ucb(low: float, high: float, discount: float, xi: float = 0.6) -> DiscountedUCB:
    """D-UCB (Kocsis and Szepesvari 2006; Garivier and Moulines 2011).

    Chooses the largest S / N + 2 sqrt(xi log(n) / N), where the choice of the step before counts 1,
    and one that is older by dt counts discount^dt.

    Parameters
    ----------
    low, high
        Range of the values, scaled to [0, 1]; values beyond are clipped.
    discount
        What a choice still counts one unit of time later, in (0, 1];
        :func:`~heliotrope.policies.d_ucb_discount` is the paper's choice.
    xi
        Width of the interval, above 0; the theorems hold above 1/2 alone, a narrower one explores
        less and may miss that a point got better.

    Points with an open evaluation count as chosen, with their mean as it is.
    """
    return DiscountedUCB(low, high, discount=discount, xi=xi)


def sw_ucb(low: float, high: float, window: float, xi: float = 0.6) -> WindowUCB:
    """SW-UCB (Garivier and Moulines 2011).

    Chooses the largest S / N + sqrt(xi log(n) / N) over the choices of the latest ``window`` units
    of time (:func:`~heliotrope.policies.sw_ucb_window` is the paper's choice); other parameters as
    :func:`d_ucb`'s.
    """
    return WindowUCB(low, high, window=window, xi=xi)


def d_ucb_discount(horizon: int, changes: int) -> float:
    """Return the paper's discount, 1 - sqrt(changes / T) / 4 for so many changes in T steps.

    Examples
    --------
    >>> d_ucb_discount(horizon=10_000, changes=4)
    0.995
    """
    T, often = as_whole(horizon, "horizon", least=1), as_whole(changes, "changes", least=1)
    return 1.0 - 0.25 * sqrt(min(often / T, 1.0))


def sw_ucb_window(horizon: int, changes: int) -> float:
    """Return the paper's window, 2 sqrt(T log(T) / changes) steps, at least 1 and at most T.

    Examples
    --------
    >>> round(sw_ucb_window(horizon=10_000, changes=4))
    303
    """
    T, often = as_whole(horizon, "horizon", least=1), as_whole(changes, "changes", least=1)
    return float(np.clip(2.0 * sqrt(T * log(T) / often), 1.0, T))


class Ledger(Protocol):
    """Told rewards, which count for less, or no longer, with their age."""

    def weights(self, ages: Array) -> Array:
        """What choices of these ages count."""

    def sums(self, t: float) -> tuple[Array, Array]:
        """Return N and S at time t."""

    def add(self, t: float, place: int, reward: float) -> None:
        """Take the reward of a choice at time t."""

    def state(self) -> State:
        """Everything as arrays."""

    def restore(self, state: State) -> None:
        """Become the ledger whose state this was."""


class UCBAgent(Beliefless):
    """Choose the largest upper confidence bound of the rewards that still count."""

    policy = "a policy that only averages"

    def __init__(self, policy: Ranged, spread: float, points: int, ledger: Ledger) -> None:
        self._range, self._spread, self._ledger = policy, spread, ledger
        self._everywhere = np.arange(points)
        self._open: dict[int, tuple[float, int]] = {}  # key: time and place

    def choose(self, t: float, draw: Draw) -> Places:
        """Return the place of the largest bound; one that was never chosen before all others."""
        return self.choose_among(self._everywhere, t, draw)

    def choose_among(self, choices: Choices, t: float, draw: Draw) -> Places:
        """Return the same among some points; the others then count for nothing."""
        assert not isinstance(choices, Box)
        N, S = (sums[choices] for sums in self._ledger.sums(t))
        mean = np.divide(S, N, out=np.full_like(S, _UNKNOWN), where=N > _NOTHING)
        counts = N + self._awaited(t)[choices]
        never = counts <= _NOTHING
        if never.any():
            return np.array([draw().choice(choices[never])])
        n = max(float(counts.sum()), 1.0)
        bounds = mean + np.sqrt(self._spread * log(n) / counts)
        return choices[[argmax(bounds, draw)]]

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation."""
        self._open[key] = t, int(place[0])

    def tell(self, key: int, y: float) -> None:
        """Take a value, however late: it counts by the age of the choice."""
        self._ledger.add(*self._open.pop(key), self._range.reward(y))

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        del self._open[key]

    def state(self) -> State:
        """Everything the agent knows, as arrays."""
        return {
            "keys": np.array(list(self._open), dtype=np.int64),
            "open_t": np.array([t for t, _ in self._open.values()]),
            "open_places": np.array([place for _, place in self._open.values()], dtype=np.int64),
        } | self._ledger.state()

    def restore(self, state: State) -> None:
        """Become the agent whose :meth:`state` this was."""
        self._ledger.restore(state)
        columns = (state[name].tolist() for name in ("keys", "open_t", "open_places"))
        self._open = {key: (t, place) for key, t, place in zip(*columns, strict=True)}

    def _awaited(self, t: float) -> Array:
        """What open choices count, (K,)."""
        ages = np.array([t - opened for opened, _ in self._open.values()])
        places = np.array([place for _, place in self._open.values()], dtype=np.intp)
        return _per_place(places, self._ledger.weights(ages), len(self._everywhere))


class Discounted:
    """N and S, discounted up to the latest choice told."""

    def __init__(self, points: int, discount: float) -> None:
        self._discount, self._now = discount, -np.inf
        self._N, self._S = np.zeros(points), np.zeros(points)

    def weights(self, ages: Array) -> Array:
        """Return discount^(age - 1): the step before counts in full, as in the paper."""
        return np.asarray(self._discount ** np.maximum(ages - 1.0, 0.0))

    def sums(self, t: float) -> tuple[Array, Array]:
        """Return N and S at time t, which is not before the latest choice told."""
        decay = self._decay(t - 1.0)
        return self._N * decay, self._S * decay

    def add(self, t: float, place: int, reward: float) -> None:
        """Take the reward of a choice at time t."""
        now = max(self._now, t)
        decay, weight = self._decay(now), self._discount ** (now - t)
        self._N, self._S, self._now = self._N * decay, self._S * decay, now
        self._N[place] += weight
        self._S[place] += weight * reward

    def state(self) -> State:
        """Everything as arrays."""
        return {"now": np.array(self._now), "N": self._N, "S": self._S}

    def restore(self, state: State) -> None:
        """Become the ledger whose :meth:`state` this was."""
        if state["N"].shape != self._N.shape:
            raise FormatError(f"counts of {len(self._N)} points", f"{state['N'].shape}")
        self._now = float(state["now"])
        self._N, self._S = state["N"].copy(), state["S"].copy()

    def _decay(self, t: float) -> float:
        """What is left of a count at time t; all, before the latest choice told or without any."""
        return 1.0 if np.isinf(self._now) else float(self._discount ** max(t - self._now, 0.0))


class Windowed:
    """The choices of the latest units of time, one by one."""

    def __init__(self, points: int, window: float) -> None:
        self._points, self._window = points, window
        self._t, self._rewards = np.empty(0), np.empty(0)
        self._places: Indices = np.empty(0, dtype=np.intp)

    def weights(self, ages: Array) -> Array:
        """Return 1 within the window and 0 beyond."""
        return (ages <= self._window).astype(float)

    def sums(self, t: float) -> tuple[Array, Array]:
        """Return N and S at time t."""
        weights = self.weights(t - self._t)
        counts = _per_place(self._places, weights, self._points)
        return counts, _per_place(self._places, weights * self._rewards, self._points)

    def add(self, t: float, place: int, reward: float) -> None:
        """Take the reward of a choice at time t, and drop those that the window has left."""
        times = np.append(self._t, t)
        kept = times.max() - times <= self._window
        self._t = times[kept]
        self._places = np.append(self._places, place)[kept]
        self._rewards = np.append(self._rewards, reward)[kept]

    def state(self) -> State:
        """Everything as arrays."""
        return {"t": self._t, "places": self._places, "rewards": self._rewards}

    def restore(self, state: State) -> None:
        """Become the ledger whose :meth:`state` this was."""
        if state["places"].max(initial=0) >= self._points:
            raise FormatError(f"places among {self._points} points", f"{state['places'].max()}")
        self._t, self._rewards = state["t"], state["rewards"]
        self._places = state["places"].astype(np.intp)


def _per_place(places: Indices, values: Array, points: int) -> Array:
    """Sum of the values at each place, (K,)."""
    return np.asarray(np.bincount(places, values, minlength=points), dtype=float)
