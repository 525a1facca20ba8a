"""Open evaluations of an engine whose state moves on in time.

An evaluation of f_s(x), opened at time s, stays in the model as one more random variable g until
its value comes. Its covariance with the moving state is carried along, so conditioning on it
later gives what conditioning at time s would have given, at the cost of one vector an open
evaluation a step and no replay.

Symbols
-------
o  open evaluations        N  length of the engine's state u_t
C  (o, N) posterior covariance of g with the state      G  (o, o) of g with itself
m  (o,) posterior mean of g
"""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from heliotrope.arrays import Array
from heliotrope.engines.protocol import State
from heliotrope.linalg import jittered_cholesky, solve_lower


class Pending:
    """The open evaluations and how they co-vary with an engine's state."""

    def __init__(self, length: int) -> None:
        self._keys: list[int] = []
        self.C = np.empty((0, length))
        self._G = np.empty((0, 0))
        self._m = np.empty(0)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: int, c: Array, mean: float, variance: float, with_others: Array) -> None:
        """Open g with its covariance c (N,) with the state and with_others (o,) with the rest."""
        o = len(self)
        G = np.empty((o + 1, o + 1))
        G[:o, :o], G[o, :o], G[:o, o], G[o, o] = self._G, with_others, with_others, variance
        self._G = G
        self.C = np.concatenate([self.C, c[None, :]])
        self._m = np.append(self._m, mean)
        self._keys.append(key)

    def condition(self, key: int, y: float, noise: float) -> tuple[Array, float, float]:
        """Observe g + noise = y; return the state's gain row u, the surprise z, the log density.

        s^2 = G_jj + sigma^2;  u = C_j / s;  z = (y - m_j) / s. The state's mean gains u z, its
        covariance loses u u^T, and the other open evaluations are conditioned alike.
        """
        j = self._keys.index(key)
        s = sqrt(self._G[j, j] + noise)
        u, others, z = self.C[j] / s, self._G[j] / s, float(self._m[j] - y) / -s
        kept = self.remove(key)
        if len(self):
            others = others[kept]
            self._m += others * z
            self._G -= np.outer(others, others)
            self.C -= np.outer(others, u)
        return u, z, -0.5 * (z**2 + log(2.0 * pi)) - log(s)

    def remove(self, key: int) -> NDArray[np.bool_]:
        """Drop g without its value; return which of the open evaluations stay."""
        kept = np.array([other != key for other in self._keys])
        self._keys.remove(key)
        self.C, self._m, self._G = self.C[kept], self._m[kept], self._G[kept][:, kept]
        return kept

    def as_if_told(self, noise: float) -> Array:
        """Rows H (o, N): H^T H is what all open evaluations would explain of the state."""
        if not self._keys:
            return self.C
        root = jittered_cholesky(self._G + noise * np.eye(len(self)), jitter=0.0)
        return solve_lower(root, self.C)

    def state(self) -> State:
        """Return the arrays."""
        keys = np.array(self._keys, dtype=np.int64)
        return {"open_keys": keys, "open_C": self.C, "open_G": self._G, "open_m": self._m}

    def restore(self, state: State) -> None:
        """Take over the arrays of :meth:`state`."""
        self._keys = state["open_keys"].tolist()
        self.C, self._G = state["open_C"].copy(), state["open_G"].copy()
        self._m = state["open_m"].copy()
