"""When the function last jumped: Bayesian online change-point detection (Adams and MacKay 2007).

At a jump a new function is drawn from the prior, independent of the old one. Each hypothesis says
when the latest jump was, and holds the engine of what was told since. A told value is scored by
every hypothesis's predictive density, and the posterior is the mixture of all of them.

Symbols
-------
h  hypotheses, oldest first, that began at times since (h,), with log weights log_w (h,)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from heliotrope.domains import Places
from heliotrope.errors import TimeError
from heliotrope.posterior.ensemble import Ensemble
from heliotrope.posterior.mixture import Cases, MixedEngine, Mixture
from heliotrope.posterior.protocol import Engine, Posterior
from heliotrope.serialization.state import State, copied
from heliotrope.validation import Array


class RunLengthEngine(MixedEngine):
    """The mixture over the time of the latest jump; jumps come at a rate ``hazard`` a unit of time.

    Beyond ``most`` hypotheses the least likely are forgotten, never the newest one. A value that
    comes late, from before a hypothesis began, says nothing about that one's function: there its
    density is the mixture's of the older hypotheses, and where none is left it does not count.
    What is predicted for later times counts a jump since the latest evaluation, by the weight that
    it will have in the next one. Past times are refused: what was before a jump is not kept.
    """

    def __init__(self, build: Callable[[], Engine], hazard: float, most: int) -> None:
        self._build, self._hazard, self._most = build, hazard, most
        self._ensemble, self._since = Ensemble([build()]), [-np.inf]
        self._blank = build()  # what is known after a jump
        self._spare: list[Engine] = []  # of hypotheses that were forgotten
        self._log_w = np.zeros(1)
        self._open: dict[int, float] = {}
        self._now, self.log_likelihood = -np.inf, 0.0

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation; the function may have jumped since the one before."""
        jumped = self._blank_engine() if self._may_jump(t) else None
        if jumped is not None:
            jumped.open(key, t, place)
        self._ensemble.take(lambda engine: engine.open(key, t, place))
        if jumped is not None:
            self._prune()
            self._join(jumped, t)
        self._open[key] = self._now = t

    def tell(self, key: int, y: float) -> None:
        """Score every hypothesis by the value, and condition its engine on it."""
        knowing = self._knowing(key)
        engines = self._ensemble.engines[:knowing]
        before = np.array([engine.log_likelihood for engine in engines])
        self._ensemble.take(lambda engine: engine.tell(key, y), knowing)
        del self._open[key]
        if knowing:
            density = np.array([engine.log_likelihood for engine in engines]) - before
            self._weigh(density)

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        self._ensemble.take(lambda engine: engine.cancel(key), self._knowing(key))
        del self._open[key]

    def bounding(self, t: float) -> Posterior:
        """Return two cases to choose by: no jump since the latest evaluation, and one."""
        unless = self._unless_jumped()
        if not self._may_jump(t):
            return unless
        jumped = np.exp(self._with_jump(t)[-1])
        return Cases(np.array([1.0 - jumped, jumped]), [unless, self._blank])

    def state(self) -> State:
        """Everything that is known, as arrays."""
        return {
            "run_scalars": np.array([self._now, self.log_likelihood]),
            "run_since": np.array(self._since),
            "run_log_w": self._log_w,
            "run_open_keys": np.array(list(self._open), dtype=np.int64),
            "run_open_t": np.array(list(self._open.values())),
        } | self._ensemble.state()

    def restore(self, state: State) -> None:
        """Become the engine whose :meth:`state` this was."""
        self._now, self.log_likelihood = state["run_scalars"].tolist()
        self._since, self._log_w = state["run_since"].tolist(), state["run_log_w"].copy()
        keys, times = state["run_open_keys"].tolist(), state["run_open_t"].tolist()
        self._open = dict(zip(keys, times, strict=True))
        self._ensemble = Ensemble([self._build() for _ in self._since])
        self._ensemble.restore(state)

    def _mixture(self, t: float) -> Mixture:
        if self._may_jump(t):
            return Mixture(np.exp(self._with_jump(t)), [*self._ensemble.engines, self._blank])
        return self._unless_jumped()

    def _unless_jumped(self) -> Mixture:
        return Mixture(np.exp(self._log_w), self._ensemble.engines)

    def _knowing(self, key: int) -> int:
        """Number of hypotheses that began before an evaluation, the first ones."""
        return bisect_right(self._since, self._open[key])

    def _weigh(self, density: Array) -> None:
        """Multiply the weights by the densities of a value that only the first engines know."""
        known, log_w = len(density), self._log_w
        before = _log_sum(log_w[:known])
        log_w[:known] += density
        log_w[known:] += _log_sum(log_w[:known]) - before
        total = _log_sum(log_w)
        log_w -= total
        self.log_likelihood += total

    def _join(self, jumped: Engine, t: float) -> None:
        """Add the hypothesis of a jump between the latest time and t."""
        self._log_w = self._with_jump(t)
        self._since.append(t)
        self._ensemble.join(jumped)

    def _may_jump(self, t: float) -> bool:
        """Whether there is time for a jump between the latest time and t."""
        if t < self._now:
            raise TimeError(
                f"a time of at least {self._now:g}, the latest seen",
                f"{t:g}",
                "A memory of change points keeps nothing of what was before.",
            )
        return -np.inf < self._now < t

    def _with_jump(self, t: float) -> Array:
        """Log weights at t, the last that of a jump since the latest time: 1 - (1 - hazard)^dt."""
        log_stay = (t - self._now) * np.log1p(-self._hazard)
        log_jump = np.log(-np.expm1(log_stay))
        return np.append(self._log_w + log_stay, log_jump)

    def _prune(self) -> None:
        """Make room for one more hypothesis."""
        if len(self._since) < self._most:
            return
        least = int(self._log_w.argmin())
        self._spare.append(self._ensemble.leave(least))
        del self._since[least]
        self._log_w = np.delete(self._log_w, least)
        self._log_w -= _log_sum(self._log_w)

    def _blank_engine(self) -> Engine:
        """Return an engine without data; to empty one costs less than to build one."""
        if not self._spare:
            return self._build()
        engine = self._spare.pop()
        engine.restore(copied(self._blank.state()))
        return engine


def _log_sum(log_w: Array) -> float:
    return float(np.logaddexp.reduce(log_w))
