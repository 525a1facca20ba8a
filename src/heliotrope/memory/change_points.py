"""Bayesian online change-point detection (Adams and MacKay 2007).

At a jump a new function is drawn from the prior, independent of the old one. Each hypothesis names
the time of the latest jump and holds the engine of the observations since. The predictive density
of each observation updates the hypotheses' weights; the posterior is the mixture of all of them.

Symbols
-------
h  hypotheses, oldest first, with start times since (h,) and log weights log_w (h,)
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import TimeError
from heliotrope.memory.resets import OneEpoch
from heliotrope.posterior import EngineOptions, build
from heliotrope.posterior.mixture import (
    AVERAGED,
    Ensemble,
    Mixture,
    MixtureEngine,
    weighted_accuracy,
)
from heliotrope.posterior.protocol import Accuracy, Engine, Posterior
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State, copied, part, register, under
from heliotrope.validation import Array, Checked, as_share, as_whole, checked

_TINY = float(np.finfo(np.float64).tiny)


@register
@dataclass(frozen=True)
class ChangePoints(Checked, OneEpoch):
    """The function may jump; a mixture tracks possible times of the latest jump.

    Bayesian online change-point detection (Adams and MacKay 2007). Between jumps the function
    drifts as the prior says.

    Parameters
    ----------
    hazard
        Probability of a jump in one unit of time.
    most
        Number of jump times to track: the newest, and the most likely of the others.
    """

    hazard: float = field(default=0.01, metadata=checked(as_share))
    most: int = field(default=10, metadata=checked(as_whole, least=2))

    def engine(self, prior: Prior, domain: Domain, options: EngineOptions | None) -> Engine:
        return ChangePointsEngine(lambda: build(prior, domain, options), self.hazard, self.most)


class ChangePointsEngine(MixtureEngine):
    """The mixture over the time of the latest jump; ``hazard`` is the jump rate per unit of time.

    Beyond ``most`` hypotheses the least likely is dropped, never the newest. A late result from
    before a hypothesis's start carries no information about that hypothesis. Its density there is
    the one of the mixture of older hypotheses; if there are none, the result is ignored.
    Predictions for later times include a jump since the latest evaluation, with the weight that
    it will have at the next one. Past times raise an error, as nothing before a jump is kept.
    """

    _stored = ("_now", "log_likelihood", "_since", "_log_w", "_open")

    def __init__(self, build: Callable[[], Engine], hazard: float, most: int) -> None:
        self._build, self._hazard, self._most = build, hazard, most
        self._ensemble, self._since = Ensemble([build()]), [-np.inf]
        self._blank = build()  # the posterior right after a jump
        self._spare: list[Engine] = []  # engines of dropped hypotheses
        self._log_w = np.zeros(1)
        self._open: dict[int, float] = {}
        self._now, self.log_likelihood = -np.inf, 0.0

    def open(self, key: int, t: float, place: Places) -> None:
        jumped = self._blank_engine() if self._may_jump(t) else None
        if jumped is not None:
            jumped.open(key, t, place)
        self._ensemble.take(lambda engine: engine.open(key, t, place))
        if jumped is not None:
            self._prune()
            self._log_w = self._with_jump(t)
            self._since.append(t)
            self._ensemble.join(jumped)
        self._open[key] = self._now = t

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        knowing = self._knowing(key)
        engines = self._ensemble.engines[:knowing]
        before = np.array([engine.log_likelihood for engine in engines])
        self._ensemble.take(lambda engine: engine.tell(key, y, precision), knowing)
        del self._open[key]
        if knowing:
            self._weigh(np.array([engine.log_likelihood for engine in engines]) - before)

    def cancel(self, key: int) -> None:
        self._ensemble.take(lambda engine: engine.cancel(key), self._knowing(key))
        del self._open[key]

    def accuracy(self) -> Accuracy:
        return weighted_accuracy(np.exp(self._log_w), self._ensemble.engines)

    def for_acquisition(self, t: float) -> Posterior:
        """Return two cases for the acquisition: no jump since the latest evaluation, and one."""
        unless = self._unless_jumped()
        if not self._may_jump(t):
            return unless
        jumped = np.exp(self._with_jump(t)[-1])
        return Mixture(np.array([1.0 - jumped, jumped]), [unless, self._blank], AVERAGED)

    def state(self) -> State:
        return super().state() | under("ensemble/", self._ensemble.state())

    def restore(self, state: State) -> None:
        super().restore(state)
        self._ensemble = Ensemble([self._build() for _ in self._since])
        self._ensemble.restore(part(state, "ensemble/"))

    def _posterior(self, t: float) -> Mixture:
        if self._may_jump(t):
            return Mixture(np.exp(self._with_jump(t)), [*self._ensemble.engines, self._blank])
        return self._unless_jumped()

    def _unless_jumped(self) -> Mixture:
        return Mixture(np.exp(self._log_w), self._ensemble.engines)

    def _knowing(self, key: int) -> int:
        """Number of hypotheses, the oldest ones, that started before an evaluation."""
        return bisect_right(self._since, self._open[key])

    def _weigh(self, density: Array) -> None:
        """Multiply the weights by the densities of a value that only the oldest engines know."""
        count, log_w = len(density), self._log_w
        before = _log_sum(log_w[:count])
        log_w[:count] += density
        log_w[count:] += _log_sum(log_w[:count]) - before
        total = _log_sum(log_w)
        log_w -= total
        self.log_likelihood += total

    def _may_jump(self, t: float) -> bool:
        """Whether there is time for a jump between the latest time and t."""
        if t < self._now:
            raise TimeError(
                f"a time of at least {self._now:g}, the latest seen",
                f"{t:g}",
                "ChangePoints keeps no observations from before a jump.",
            )
        return -np.inf < self._now < t

    def _with_jump(self, t: float) -> Array:
        """Log weights at t; the last is that of a jump since ``now``: 1 - (1 - hazard)^dt."""
        log_stay = (t - self._now) * np.log1p(-self._hazard)
        log_jump = np.log(max(-np.expm1(log_stay), _TINY))  # 0 between denormal times
        return np.append(self._log_w + log_stay, log_jump)

    def _prune(self) -> None:
        """Drop the least likely hypothesis if there is no room for another one."""
        if len(self._since) < self._most:
            return
        least = int(self._log_w.argmin())
        self._spare.append(self._ensemble.leave(least))
        del self._since[least]
        self._log_w = np.delete(self._log_w, least)
        self._log_w -= _log_sum(self._log_w)

    def _blank_engine(self) -> Engine:
        """Return an engine without data; clearing one costs less than building one."""
        if not self._spare:
            return self._build()
        engine = self._spare.pop()
        engine.restore(copied(self._blank.state()))
        return engine


def _log_sum(log_w: Array) -> float:
    return float(np.logaddexp.reduce(log_w))
