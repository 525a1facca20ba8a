"""Exp3 (Auer et al. 2002), and RExp3 (Besbes, Gur and Zeevi 2014): Exp3 restarted per batch.

Symbols
-------
K   number of points        w   (K,) weights, kept as logarithms
p   (K,) probabilities      gamma   share of random choices
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import FormatError, InputError
from heliotrope.lazy import lazy_module
from heliotrope.memory import KeepAll, Memory, Restart
from heliotrope.policies.model_free import BanditAgent, RangedPolicy, number_of_points
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import State, register
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import LARGEST, Array, as_positive, as_share, as_whole, checked

special = lazy_module("scipy.special")

__all__ = ["Exp3", "RExp3", "exp3", "rexp3", "rexp3_batch"]


def _as_gamma(value: object, name: str) -> float:
    share = as_share(value, name, one=True)
    if share < 1.0 / LARGEST:  # rewards are divided by it
        raise InputError(f"{name} above 0 and at most 1", f"{share:g}")
    return share


@register
@dataclass(frozen=True)
class Exp3(RangedPolicy):
    """Exp3 over a Finite domain, tuned for ``horizon`` units of time (it may run longer).

    It assumes nothing about the values but their range.
    """

    horizon: float = field(metadata=checked(as_positive))
    gamma: float | None = field(default=None, metadata=checked(_as_gamma))

    def start(self, domain: Domain) -> Exp3Agent:
        points = number_of_points(domain)
        return Exp3Agent(self, points, self.mixing(points), KeepAll())

    def mixing(self, points: int) -> float:
        return _mixing(self.gamma, points, self.horizon)


@register
@dataclass(frozen=True)
class RExp3(RangedPolicy):
    """Exp3 over a Finite domain, restarted every ``batch`` units of time.

    It assumes nothing about the values but their range.
    """

    batch: float = field(metadata=checked(as_positive))
    gamma: float | None = field(default=None, metadata=checked(_as_gamma))

    def start(self, domain: Domain) -> Exp3Agent:
        points = number_of_points(domain)
        return Exp3Agent(self, points, self.mixing(points), Restart(self.batch))

    def mixing(self, points: int) -> float:
        """Return gamma, by default the paper's min(1, sqrt(K log K / ((e - 1) batch)))."""
        return _mixing(self.gamma, points, self.batch)


def exp3(low: float, high: float, horizon: float, gamma: float | None = None) -> Exp3:
    """Exp3 (Auer, Cesa-Bianchi, Freund and Schapire 2002): RExp3 without restarts.

    The parameters are those of :func:`rexp3`. ``horizon``, in units of time, sets the default of
    gamma only.
    """
    return Exp3(low, high, horizon, gamma)


def rexp3(low: float, high: float, batch: float, gamma: float | None = None) -> RExp3:
    """RExp3 (Besbes, Gur and Zeevi 2014): Exp3 that restarts every ``batch`` units of time.

    Parameters
    ----------
    low, high
        Range of the values, which is scaled to [0, 1]; values beyond it are clipped.
    batch
        Units of time between restarts: steps, at times 1, 2, 3, ...
        :func:`~heliotrope.policies.rexp3_batch` is the paper's choice.
    gamma
        Share of random choices, in (0, 1]; by default the paper's
        min(1, sqrt(K log K / ((e - 1) batch))) over K points.

    Notes
    -----
    A late value is weighted by the probability of its choice, and is ignored after a restart. A
    value measured elsewhere (``tell_many``) counts as if it was chosen at its time.
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


def _mixing(gamma: float | None, points: int, steps: float) -> float:
    if gamma is not None:
        return gamma
    return min(1.0, float(np.sqrt(points * np.log(points) / ((math.e - 1.0) * steps))))


class Exp3Agent(BanditAgent):
    """The weights and open evaluations, with the probability of each, since the latest restart."""

    columns = "places", "probabilities"

    def __init__(self, policy: RangedPolicy, points: int, gamma: float, memory: Memory) -> None:
        super().__init__(policy)
        self._gamma, self._memory = gamma, memory
        self._log_w = np.zeros(points)
        self._epoch: float | None = None

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        p = self._probabilities(self._weights_at(t))
        return np.array([make_rng().choice(len(p), p=p)])

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation; the first of a new batch resets the weights."""
        epoch = self._memory.epoch(t)
        if epoch != self._epoch:
            self._log_w, self._open = self._weights_at(t), {}
        self._epoch = epoch
        index = int(place[0])
        self._open[key] = index, float(self._probabilities(self._log_w)[index])

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Take a value; ignore it if its batch is over."""
        if key in self._open:
            index, probability = self._open.pop(key)
            self._log_w[index] += self._gamma / len(self._log_w) * self._reward(y) / probability

    def state(self) -> State:
        epoch = np.array([] if self._epoch is None else [self._epoch])
        return {"log_weights": self._log_w.copy(), "epoch": epoch} | super().state()

    def restore(self, state: State) -> None:
        if state["log_weights"].shape != self._log_w.shape:
            raise FormatError(f"{len(self._log_w)} weights", f"{state['log_weights'].shape}")
        super().restore(state)
        self._log_w = state["log_weights"].copy()
        self._epoch = next(iter(state["epoch"].tolist()), None)

    def _weights_at(self, t: float) -> Array:
        """Logarithms of the weights at time t: zeros after a restart."""
        same = self._epoch in (None, self._memory.epoch(t))
        return self._log_w if same else np.zeros_like(self._log_w)

    def _probabilities(self, log_w: Array) -> Array:
        p: Array = (1.0 - self._gamma) * special.softmax(log_w) + self._gamma / len(log_w)
        return p
