"""R-PERP (Iwazaki and Takeno 2025): restarting phased elimination with random permutation.

After each restart every point may be the best. A phase plans a batch of measurements, each where
the variance is largest given the others, among the points that may still be the best. It plays them
in random order, which averages over the change of f during the phase. Then it eliminates the points
whose upper confidence bound, by the results of this phase alone, is below another's lower bound.

Symbols
-------
H    time between restarts              N_i = 2^i   measurements of phase i
M    points: those of a Finite domain, or a fixed Sobol sequence in a Box
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from math import sqrt

import numpy as np

from heliotrope.acquisition import UCB, Beta, LogBeta, as_beta
from heliotrope.domains import Box, Domain, Finite, Places
from heliotrope.errors import InputError
from heliotrope.memory import Restart
from heliotrope.policies.gp import GPPolicy
from heliotrope.posterior import Engine, build
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior, Static
from heliotrope.serialization.codec import State, part, register, under
from heliotrope.sobol import sobol
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, Indices, short_repr

__all__ = ["PhasedElimination", "r_perp"]

_CANDIDATES = 256  # points of a Box
_EXTRA = -1  # index of an evaluation that the batch did not plan


@register
@dataclass(frozen=True, eq=False)
class PhasedElimination:
    """Phases of batches in random order, with elimination; it restarts every ``every`` = H."""

    prior: Prior
    every: float
    beta: Beta

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Prior):
            raise InputError("a prior", short_repr(self.prior))
        object.__setattr__(self, "prior", self.prior.with_time(Static()))
        object.__setattr__(self, "every", Restart(self.every).every)
        object.__setattr__(self, "beta", as_beta(self.beta))

    def start(self, domain: Domain) -> PhasedAgent:
        return PhasedAgent(self, domain)


def r_perp(prior: Prior, every: float, beta: Beta | float = LogBeta()) -> PhasedElimination:
    """R-PERP (Iwazaki and Takeno 2025): phases in random order, elimination, regular restarts.

    Parameters
    ----------
    prior
        Its time kernel is replaced with Static: change is handled by restarts and random order.
    every
        Time between restarts, H.
    beta
        Width of the confidence intervals that eliminate.
    """
    return PhasedElimination(prior, every, as_beta(beta))


class PhasedAgent:
    """The points that may be the best, the rest of the batch, and the results of the phase."""

    def __init__(self, policy: PhasedElimination, domain: Domain) -> None:
        self._policy, self._domain = policy, domain
        self._memory, self._epoch = Restart(policy.every), None
        self._points = _candidates(domain)
        self._belief = GPPolicy(policy.prior, UCB(policy.beta), self._memory).start(domain)
        self._first = self._planned(np.ones(len(self._points), dtype=bool), 1)
        self._now = 1.0
        self._restart()

    _epoch: float | None

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        """A random one of the batch; if all are open, the candidate of largest variance."""
        batch = self._batch if self._is_current(t) else self._first
        if batch:
            return np.asarray(self._points[[make_rng().choice(batch)]])
        places = self.left
        _, variance = self._engine.predict(max(t, self._now), places)
        return places[[int(variance.argmax())]]

    def best(self, t: float, make_rng: RNGFactory) -> Places:
        return self._belief.best(t, make_rng)

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation; the first after a restart begins the first phase."""
        self._belief.open(key, t, place)
        if not self._is_current(t):
            self._restart()
        self._epoch, self._now = self._memory.epoch(t), t
        index = self._index(place)
        if index in self._batch:
            self._batch.remove(index)
        else:
            index = _EXTRA
        self._engine.open(key, t, place)
        self._open[key] = index

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Take a value; the last of a batch ends the phase. One of an earlier phase is ignored."""
        self._belief.tell(key, y, precision)
        if key in self._open:
            self._engine.tell(key, y, precision)
            del self._open[key]
            if not self._batch and all(index == _EXTRA for index in self._open.values()):
                self._eliminate()

    def cancel(self, key: int) -> None:
        """Forget an evaluation; a planned one returns to the batch."""
        self._belief.cancel(key)
        if key in self._open:
            self._engine.cancel(key)
            index = self._open.pop(key)
            if index != _EXTRA:
                insort(self._batch, index)

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        """Mean and variance of f_t given all results since the restart."""
        return self._belief.predict(t, places, count_open=count_open)

    @property
    def left(self) -> Places:
        """The points that are not eliminated."""
        return np.asarray(self._points[self._left])

    def state(self) -> State:
        return {
            "epoch": np.array([] if self._epoch is None else [self._epoch]),
            "now": np.array(self._now),
            "left": self._left.copy(),
            "phase": np.array(self._phase),
            "batch": np.array(self._batch, dtype=np.int64),
            "open": np.array(list(self._open.items()), dtype=np.int64).reshape(-1, 2),
            **under("engine/", self._engine.state()),
            **under("belief/", self._belief.state()),
        }

    def restore(self, state: State) -> None:
        self._epoch = next(iter(state["epoch"].tolist()), None)
        self._now, self._left = float(state["now"]), state["left"].astype(bool)
        self._phase, self._batch = int(state["phase"]), state["batch"].tolist()
        self._open = dict(state["open"].tolist())
        self._engine = self._new_engine()
        self._engine.restore(part(state, "engine/"))
        self._belief.restore(part(state, "belief/"))

    def _is_current(self, t: float) -> bool:
        return self._epoch in (None, self._memory.epoch(t))

    def _restart(self) -> None:
        self._begin_phase(np.ones(len(self._points), dtype=bool), 1, self._first)

    def _begin_phase(self, left: Array, phase: int, batch: list[int]) -> None:
        self._left, self._phase, self._batch = left, phase, list(batch)
        self._engine, self._open = self._new_engine(), dict[int, int]()

    def _eliminate(self) -> None:
        """End the phase: keep the points whose upper bound reaches every lower bound."""
        width = sqrt(self._policy.beta(self._now))
        mean, variance = self._engine.predict(self._now, self._points, count_open=False)
        reach = width * np.sqrt(variance)
        left = self._left & (mean + reach >= (mean - reach)[self._left].max())
        self._begin_phase(left, self._phase + 1, self._planned(left, self._phase + 1))

    def _planned(self, left: Array, phase: int) -> list[int]:
        """The batch of a phase: each measurement has the largest variance given the others."""
        engine, among = self._new_engine(), np.flatnonzero(left)
        chosen = []
        for key in range(min(2**phase, int(np.ceil(self._policy.every)))):
            _, variance = engine.predict(1.0, self._points[among])
            index = int(among[int(variance.argmax())])
            engine.open(key, 1.0, self._points[[index]])
            engine.tell(key, 0.0)  # variances do not depend on values
            chosen.append(index)
        return sorted(chosen)

    def _new_engine(self) -> Engine:
        return build(self._policy.prior, self._domain)

    def _index(self, place: Places) -> int:
        if isinstance(self._domain, Finite):
            return int(place[0])
        same: Indices = np.flatnonzero((self._points == place).all(axis=1))
        return int(same[0]) if len(same) else _EXTRA


def _candidates(domain: Domain) -> Places:
    """All points of a Finite domain, or a Sobol sequence in a Box."""
    if isinstance(domain, Box):
        unit = sobol(domain.dimension, _CANDIDATES)
        return np.unique(domain.snap(domain.scaled(unit)), axis=0)
    return domain.indices
