"""The shared part of engines for Markov terms: the clock and the open evaluations.

An evaluation of f_s(x), opened at time s, stays in the model as one more random variable g until
its value arrives. Its covariance with the current state is updated, so conditioning on it later
gives the same result as conditioning at time s. This costs one vector per open evaluation and
step, and no replay.

Symbols
-------
o  open evaluations        N  length of the engine's state u_t
C  (o, N) posterior covariance of each g with the state, c being one row of it
m  (o,)   posterior mean of each g
G  (o, o) posterior covariance of all g with each other
"""

from abc import abstractmethod
from collections.abc import Callable
from math import log, pi, sqrt

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import InputError
from heliotrope.linalg import jittered_cholesky, one_thread, solve_lower_in_rows
from heliotrope.posterior.spacetime import PredictsParts, SpaceTime
from heliotrope.posterior.stacked import StackedTerms, View
from heliotrope.precision import Precision
from heliotrope.priors import LEAST_NOISE, Prior
from heliotrope.serialization.codec import State
from heliotrope.validation import Array

_COUNTED = 100  # open evaluations that shrink the variance
_NAMES = ("open_keys", "open_c", "open_mean", "open_G")  # in a state
_NONE = np.empty((0, 0)), np.empty(0), np.empty((0, 0))  # C, m and G of no evaluation


class MarkovEngine(PredictsParts):
    """The clock and the open evaluations of an engine for sums of Markov terms.

    ``least_noise``, a share of the variance of f, is a lower limit for the noise of results.
    """

    def __init__(self, prior: Prior, domain: Domain, least_noise: float = LEAST_NOISE) -> None:
        self._model, self._stack = SpaceTime(prior, domain), StackedTerms(prior)
        self._least = self._model.least_noise(least_noise)
        self._pending, self.log_likelihood = PendingEvaluations(), 0.0

    def cancel(self, key: int) -> None:
        self._pending.remove(key)

    def state(self) -> State:
        clock = {"clock": np.array([self._stack.now, self.log_likelihood])}
        return clock | self._stack.state() | self._pending.state()

    def restore(self, state: State) -> None:
        now, self.log_likelihood = state["clock"].tolist()
        self._stack.restore(state, now)
        self._pending.restore(state)

    @abstractmethod
    def _move(self, blocks: slice, A: Array) -> None:
        """Multiply the stored values of some blocks by A (p, p)."""

    def _prior_variance(self, view: View, places: Places) -> Array:
        diagonals = [
            s * k.diagonal(places) for s, k in zip(view.s, self._model.kernels, strict=True)
        ]
        return np.asarray(np.sum(diagonals, axis=0))

    def _prior_covariance(self, view: View, places: Places, others: Places) -> Array:
        blocks = [
            s * kernel.block(places, others)
            for s, kernel in zip(view.s, self._model.kernels, strict=True)
            if s
        ]
        return np.asarray(np.sum(blocks, axis=0))

    def _noise(self, precision: Precision) -> float:
        return max(precision.noise(self._model.prior.noise), self._least)


class PendingEvaluations:
    """The open evaluations, oldest first, and their covariance with an engine's state."""

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._C, self._m, self._G = _NONE
        self._room = np.empty((0, 0))
        self._told: tuple[float, Array] | None = None  # noise, and the rows H for it

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: int, c: Array, mean: float, variance: float, with_others: Array) -> None:
        """Open g with its covariance c (N,) with the state and with_others (o,) with the rest."""
        o = len(self)
        G = self._with_room(o + 1)
        G[o, :o], G[:o, o], G[o, o] = with_others, with_others, variance
        self._G, self._m = G, np.append(self._m, mean)
        self._C = np.concatenate([self._C, c[None]]) if o else c[None]
        self._keys.append(key)
        self._told = None

    def _with_room(self, o: int) -> Array:
        """G as the corner of o rows of a larger array, so that it is rarely copied."""
        room = self._room
        if self._G.base is not room or len(room) < o:
            room = np.empty((2 * o, 2 * o))
            room[: o - 1, : o - 1] = self._G
            self._room = room
        return room[:o, :o]

    def covariances(self, see: Callable[[Array], Array]) -> Array:
        """Covariance (o,) of each g with a linear function ``see`` of the state."""
        return see(self._C) if self._keys else self._m

    def transform(self, change: Callable[[Array], Array]) -> None:
        """Apply a linear change of the state's coordinates, the columns of C."""
        if self._keys:
            self._C, self._told = change(self._C), None

    def condition(self, key: int, y: float, noise: float) -> tuple[Array, float, float]:
        """Observe g + noise = y; return the gain row u, the innovation z and the log density.

        s^2 = G_jj + sigma^2;  u = c_j / s;  z = (y - m_j) / s. The state's mean gains u z, its
        covariance loses u u^T, and the other open evaluations are conditioned likewise.
        """
        j = self._keys.index(key)
        s = sqrt(self._G[j, j] + noise)
        u, z = self._C[j] / s, (y - float(self._m[j])) / s
        if len(self) > 1:
            shares = self._G[j] / s
            self._G -= shares[:, None] * shares
            self._m += shares * z
            self._C -= shares[:, None] * u
        self._delete(j)
        return u, z, -0.5 * (z * z + log(2.0 * pi)) - log(s)

    def remove(self, key: int) -> None:
        self._delete(self._keys.index(key))

    def as_if_told(self, noise: float) -> Array:
        """Rows H (o, N): observing the open evaluations would explain the covariance H^T H.

        Of very many, only the latest are counted: the variance is then a little larger, and the
        cost of a choice does not grow with their number. A choice reads the rows several times.
        """
        if self._told is None or self._told[0] != noise:
            C, G = self._C[-_COUNTED:], self._G[-_COUNTED:, -_COUNTED:]
            with one_thread():
                root = jittered_cholesky(G + noise * np.eye(len(G)), jitter=0.0)
                self._told = noise, solve_lower_in_rows(root, C)
        return self._told[1]

    def state(self) -> State:
        keys = np.array(self._keys, dtype=np.int64)
        return dict(zip(_NAMES, (keys, self._C, self._m, self._G), strict=True))

    def restore(self, state: State) -> None:
        keys, *arrays = (state[name] for name in _NAMES)
        if any(len(array) != len(keys) for array in arrays):
            raise InputError(f"arrays of {len(keys)} open evaluations", "another length")
        self._keys = keys.tolist()
        self._C, self._m, self._G = (array.copy() for array in arrays)
        self._told = None

    def _delete(self, j: int) -> None:
        del self._keys[j]
        self._told = None
        if not self._keys:
            self._C, self._m, self._G = _NONE
            return
        C, m, G = self._C, self._m, self._G
        for array in (C, m, G, G.T):  # the later ones move up
            array[j:-1] = array[j + 1 :]
        self._C, self._m, self._G = C[:-1], m[:-1], G[:-1, :-1]
