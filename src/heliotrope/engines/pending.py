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

import numpy as np

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
        self._keys.append(key)
        self.C = np.vstack([self.C, c])
        self._G = np.block([[self._G, with_others[:, None]], [with_others, np.array([variance])]])
        self._m = np.append(self._m, mean)

    def condition(self, key: int, y: float, noise: float) -> tuple[Array, float, float]:
        """Observe g + noise = y; return the state's gain row u, the surprise z, the log density.

        s^2 = G_jj + sigma^2;  u = C_j / s;  z = (y - m_j) / s. The state's mean gains u z, its
        covariance loses u u^T, and the other open evaluations are conditioned alike.
        """
        j = self._keys.index(key)
        s = float(np.sqrt(self._G[j, j] + noise))
        u, others, z = self.C[j] / s, self._G[j] / s, (y - self._m[j]) / s
        self.remove(key)
        others = np.delete(others, j)
        self._m += others * z
        self._G -= np.outer(others, others)
        self.C -= np.outer(others, u)
        return u, float(z), float(-0.5 * (z**2 + np.log(2.0 * np.pi)) - np.log(s))

    def remove(self, key: int) -> None:
        """Drop g without its value."""
        j = self._keys.index(key)
        del self._keys[j]
        self.C = np.delete(self.C, j, axis=0)
        self._G = np.delete(np.delete(self._G, j, axis=0), j, axis=1)
        self._m = np.delete(self._m, j)

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
