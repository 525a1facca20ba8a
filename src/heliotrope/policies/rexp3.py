"""RExp3 (Besbes, Gur and Zeevi 2014): Exp3, begun anew after every batch.

Symbols
-------
K   number of points        w   (K,) weights, kept as logarithms
p   (K,) probabilities      gamma   share of the choices made at random
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from heliotrope.arrays import LARGEST, Array, as_number, as_positive, as_whole
from heliotrope.codec import register
from heliotrope.domains import Domain, Finite, Places
from heliotrope.engines import State
from heliotrope.errors import FormatError, InputError
from heliotrope.policies.beliefless import Beliefless
from heliotrope.policies.memories import Restart
from heliotrope.streams import Draw


@register
@dataclass(frozen=True)
class RExp3:
    """Exp3 over a Finite domain, restarted every ``batch`` units of time.

    It knows nothing of neighbours, and makes no assumption on how the values come about but that
    they lie between ``low`` and ``high``; values beyond are taken for these.
    """

    low: float
    high: float
    batch: float
    gamma: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", as_number(self.low, "low"))
        object.__setattr__(self, "high", as_number(self.high, "high"))
        if not self.low < self.high:
            raise InputError("low below high", f"{self.low:g} and {self.high:g}")
        object.__setattr__(self, "batch", as_positive(self.batch, "batch"))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", as_number(self.gamma, "gamma"))
            if not 1.0 / LARGEST <= self.gamma <= 1.0:
                raise InputError("gamma above 0 and at most 1", f"{self.gamma:g}")

    def start(self, domain: Domain) -> RExp3Agent:
        """Return a fresh agent over a Finite domain."""
        if not isinstance(domain, Finite):
            raise InputError("a Finite domain for rexp3", repr(domain), "Take a grid of the box.")
        return RExp3Agent(self, len(domain))

    def mixing(self, points: int) -> float:
        """Return gamma, by default the paper's min(1, sqrt(K log K / ((e - 1) batch)))."""
        if self.gamma is not None:
            return self.gamma
        return min(1.0, float(np.sqrt(points * np.log(points) / ((np.e - 1.0) * self.batch))))


def rexp3(low: float, high: float, batch: float, gamma: float | None = None) -> RExp3:
    """RExp3 (Besbes, Gur and Zeevi 2014), for values between ``low`` and ``high``.

    Parameters
    ----------
    low, high
        Range of the values, which Exp3 scales to [0, 1]; values beyond are clipped.
    batch
        Units of time between restarts, as r_gp_ucb's ``every``: steps, at times 1, 2, 3, ...
        :func:`~heliotrope.policies.rexp3_batch` is the paper's choice.
    gamma
        Share of the choices made at random, in (0, 1]; by default the paper's
        min(1, sqrt(K log K / ((e - 1) batch))) over K points.

    A value counts by the probability with which its place was chosen, however late it comes, but
    not after the restart. One measured elsewhere (``tell_many``) counts as if chosen at its time.
    """
    return RExp3(low, high, batch, gamma)


def rexp3_batch(points: int, horizon: int, variation: float) -> int:
    """Return the paper's batch, ceil((K log K)^(1/3) (T / V)^(2/3)) steps, at most the horizon T.

    ``variation`` is the budget V: the sum over the steps of the largest change of any point, as a
    share of high - low.

    Examples
    --------
    >>> rexp3_batch(points=46, horizon=432, variation=10.0)
    70
    """
    K, T = as_whole(points, "points", least=1), as_whole(horizon, "horizon", least=1)
    V = as_positive(variation, "variation")
    steps = np.ceil(np.cbrt(K * np.log(K)) * min(T / V, LARGEST) ** (2.0 / 3.0))
    return int(np.clip(steps, 1, T))


class RExp3Agent(Beliefless):
    """RExp3 at work: weights since the latest restart, and what is open since then."""

    policy = "rexp3"

    def __init__(self, policy: RExp3, points: int) -> None:
        self._policy, self._memory = policy, Restart(policy.batch)
        self._gamma = policy.mixing(points)
        self._log_w = np.zeros(points)
        self._epoch: float | None = None
        self._open: dict[int, tuple[int, float]] = {}  # key: place, and its probability

    def choose(self, t: float, draw: Draw) -> Places:
        """Draw a place by the probabilities of time t."""
        p = self._probabilities(self._weights_at(t))
        return np.array([draw().choice(len(p), p=p)])

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation; the first of a new batch begins with equal weights."""
        epoch = self._memory.epoch(t)
        if epoch != self._epoch:
            self._log_w, self._open = self._weights_at(t), {}
        self._epoch = epoch
        index = int(place[0])
        self._open[key] = index, float(self._probabilities(self._log_w)[index])

    def tell(self, key: int, y: float) -> None:
        """Take a value; one of a batch that is over no longer counts."""
        if key in self._open:
            index, probability = self._open.pop(key)
            low, high = self._policy.low, self._policy.high
            reward = min(max((y - low) / (high - low), 0.0), 1.0)
            self._log_w[index] += self._gamma / len(self._log_w) * reward / probability

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        self._open.pop(key, None)

    def state(self) -> State:
        """Everything the agent knows, as arrays."""
        places = [place for place, _ in self._open.values()]
        return {
            "log_weights": self._log_w.copy(),
            "epoch": np.array([] if self._epoch is None else [self._epoch]),
            "keys": np.array(list(self._open), dtype=np.int64),
            "places": np.array(places, dtype=np.int64),
            "probabilities": np.array([probability for _, probability in self._open.values()]),
        }

    def restore(self, state: State) -> None:
        """Become the agent whose :meth:`state` this was."""
        if state["log_weights"].shape != self._log_w.shape:
            raise FormatError(f"{len(self._log_w)} weights", f"{state['log_weights'].shape}")
        self._log_w = state["log_weights"].copy()
        epoch = state["epoch"].tolist()
        self._epoch = epoch[0] if epoch else None
        columns = (state[name].tolist() for name in ("keys", "places", "probabilities"))
        self._open = {key: (place, p) for key, place, p in zip(*columns, strict=True)}

    def _weights_at(self, t: float) -> Array:
        """Logarithms of the weights that count at time t: none, after a restart."""
        same = self._epoch in (None, self._memory.epoch(t))
        return self._log_w if same else np.zeros_like(self._log_w)

    def _probabilities(self, log_w: Array) -> Array:
        p: Array = (1.0 - self._gamma) * softmax(log_w) + self._gamma / len(log_w)
        return p
