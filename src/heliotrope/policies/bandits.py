"""UCB that forgets (Garivier and Moulines 2011): D-UCB discounts old rewards, SW-UCB drops them.

Symbols
-------
K   number of points        N   (K,) weight of each point's choices
S   (K,) weighted sum of each point's rewards, in [0, 1]
n   weight of all choices        xi   width of the confidence interval
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from heliotrope.acquisition import argmax
from heliotrope.domains import Box, Choices, Domain, Places
from heliotrope.errors import FormatError
from heliotrope.policies.model_free import BanditAgent, RangedPolicy, number_of_points
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import State, register
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, Indices, as_positive, as_share, as_whole, checked

__all__ = ["DiscountedUCB", "WindowUCB", "d_ucb", "d_ucb_discount", "sw_ucb", "sw_ucb_window"]

_NEGLIGIBLE = 1e-200  # weight below which a point counts as never chosen
_UNKNOWN = 0.5  # mean reward of a point whose first value is still open


@register
@dataclass(frozen=True)
class DiscountedUCB(RangedPolicy):
    """D-UCB: the weight of a choice shrinks by the factor ``discount`` per unit of time."""

    discount: float = field(metadata=checked(as_share, one=True))
    xi: float = field(metadata=checked(as_positive))

    def start(self, domain: Domain) -> UCBAgent:
        rewards = DiscountedRewards(number_of_points(domain), self.discount)
        return UCBAgent(self, 4.0 * self.xi, rewards)


@register
@dataclass(frozen=True)
class WindowUCB(RangedPolicy):
    """SW-UCB: a choice counts until it is older than ``window`` units of time."""

    window: float = field(metadata=checked(as_positive))
    xi: float = field(metadata=checked(as_positive))

    def start(self, domain: Domain) -> UCBAgent:
        return UCBAgent(self, self.xi, WindowRewards(number_of_points(domain), self.window))


def d_ucb(low: float, high: float, discount: float, xi: float = 0.6) -> DiscountedUCB:
    """D-UCB (Kocsis and Szepesvari 2006; Garivier and Moulines 2011): UCB on discounted rewards.

    Maximizes S / N + 2 sqrt(xi log(n) / N). The choice of the previous step has weight 1, one
    that is older by dt has weight discount^dt.

    Parameters
    ----------
    low, high
        Range of the values, which is scaled to [0, 1]; values beyond it are clipped.
    discount
        Weight that is left of a choice one unit of time later, in (0, 1];
        :func:`~heliotrope.policies.d_ucb_discount` is the paper's choice.
    xi
        Width of the interval, above 0. The theorems need more than 1/2; a narrower interval
        explores less and may miss that a point improved.

    Notes
    -----
    An open evaluation counts as a choice and leaves the point's mean unchanged.
    """
    return DiscountedUCB(low, high, discount, xi)


def sw_ucb(low: float, high: float, window: float, xi: float = 0.6) -> WindowUCB:
    """SW-UCB (Garivier and Moulines 2011): UCB on the rewards of the last ``window`` units of time.

    Maximizes S / N + sqrt(xi log(n) / N) over the choices of the last ``window`` units of time
    (:func:`~heliotrope.policies.sw_ucb_window` is the paper's choice). The other parameters are
    those of :func:`d_ucb`.
    """
    return WindowUCB(low, high, window, xi)


def d_ucb_discount(horizon: int, changes: int) -> float:
    """Return the paper's discount, 1 - sqrt(changes / T) / 4 for a number of changes in T steps.

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


class UCBAgent(BanditAgent):
    """Choose the largest upper confidence bound of the weighted mean rewards."""

    columns = "open_places", "open_t"

    def __init__(
        self, policy: RangedPolicy, spread: float, rewards: DiscountedRewards | WindowRewards
    ) -> None:
        super().__init__(policy)
        self._spread, self._rewards = spread, rewards

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        return self.choose_among(np.arange(self._rewards.points), t, make_rng)

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return a place never chosen, if there is one; only the choices count towards n."""
        assert not isinstance(choices, Box)
        N, S = (sums[choices] for sums in self._rewards.sums(t))
        mean = np.divide(S, N, out=np.full_like(S, _UNKNOWN), where=N > _NEGLIGIBLE)
        counts = N + self._open_weights(t)[choices]
        never = counts <= _NEGLIGIBLE
        if never.any():
            return np.array([make_rng().choice(choices[never])])
        n = max(float(counts.sum()), 1.0)
        bounds = mean + np.sqrt(self._spread * log(n) / counts)
        return choices[[argmax(bounds, make_rng)]]

    def open(self, key: int, t: float, place: Places) -> None:
        self._open[key] = int(place[0]), t

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Take a value, however late: its weight follows from the age of the choice."""
        place, t = self._open.pop(key)
        self._rewards.add(t, place, self._reward(y))

    def state(self) -> State:
        return super().state() | self._rewards.state()

    def restore(self, state: State) -> None:
        self._rewards.restore(state)
        super().restore(state)

    def _open_weights(self, t: float) -> Array:
        """Weight of each point's open choices, (K,)."""
        ages = np.array([t - opened for _, opened in self._open.values()])
        places = np.array([place for place, _ in self._open.values()], dtype=np.intp)
        return _per_place(places, self._rewards.weights(ages), self._rewards.points)


class DiscountedRewards:
    """N and S, discounted up to the latest choice that was told."""

    def __init__(self, points: int, discount: float) -> None:
        self.points, self._discount, self._now = points, discount, -np.inf
        self._N, self._S = np.zeros(points), np.zeros(points)

    def weights(self, ages: Array) -> Array:
        """Return discount^(age - 1): the previous step has weight 1, as in the paper."""
        return np.asarray(self._discount ** np.maximum(ages - 1.0, 0.0))

    def sums(self, t: float) -> tuple[Array, Array]:
        """Return N and S at time t, which is not before the latest choice that was told."""
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
        return {"now": np.array(self._now), "N": self._N, "S": self._S}

    def restore(self, state: State) -> None:
        if state["N"].shape != self._N.shape:
            raise FormatError(f"counts of {len(self._N)} points", f"{state['N'].shape}")
        self._now = float(state["now"])
        self._N, self._S = state["N"].copy(), state["S"].copy()

    def _decay(self, t: float) -> float:
        """Factor from the latest told choice to time t; 1 before it, or if there is none."""
        return 1.0 if np.isinf(self._now) else float(self._discount ** max(t - self._now, 0.0))


class WindowRewards:
    """The choices within the window, one by one."""

    def __init__(self, points: int, window: float) -> None:
        self.points, self._window = points, window
        self._t, self._rewards = np.empty(0), np.empty(0)
        self._places: Indices = np.empty(0, dtype=np.intp)

    def weights(self, ages: Array) -> Array:
        return (ages <= self._window).astype(float)

    def sums(self, t: float) -> tuple[Array, Array]:
        weights = self.weights(t - self._t)
        counts = _per_place(self._places, weights, self.points)
        return counts, _per_place(self._places, weights * self._rewards, self.points)

    def add(self, t: float, place: int, reward: float) -> None:
        times = np.append(self._t, t)
        kept = times.max() - times <= self._window
        self._t = times[kept]
        self._places = np.append(self._places, place)[kept]
        self._rewards = np.append(self._rewards, reward)[kept]

    def state(self) -> State:
        return {"t": self._t, "places": self._places, "rewards": self._rewards}

    def restore(self, state: State) -> None:
        if state["places"].max(initial=0) >= self.points:
            raise FormatError(f"places among {self.points} points", f"{state['places'].max()}")
        self._t, self._rewards = state["t"], state["rewards"]
        self._places = state["places"].astype(np.intp)


def _per_place(places: Indices, values: Array, points: int) -> Array:
    """Sum of the values at each place, (K,)."""
    return np.asarray(np.bincount(places, values, minlength=points), dtype=float)
