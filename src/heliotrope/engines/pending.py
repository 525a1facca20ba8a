"""Open evaluations of an engine whose state moves on in time.

An evaluation of f_s(x), opened at time s, stays in the model as one more random variable g until
its value comes. Its covariance with the moving state is carried along, so conditioning on it
later gives what conditioning at time s would have given, at the cost of one vector an open
evaluation a step and no replay.

Symbols
-------
o  open evaluations        N  length of the engine's state u_t
c  (N,) posterior covariance of one g with the state
G  (o, o) posterior covariance of all g with each other
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np

from heliotrope.arrays import Array
from heliotrope.engines.protocol import State
from heliotrope.linalg import jittered_cholesky, solve_lower

_NONE = np.empty((0, 0))


@dataclass
class _Open:
    key: int
    c: Array
    mean: float


class Pending:
    """The open evaluations and how they co-vary with an engine's state."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._G = _NONE

    def __len__(self) -> int:
        return len(self._open)

    def add(self, key: int, c: Array, mean: float, variance: float, with_others: Array) -> None:
        """Open g with its covariance c (N,) with the state and with_others (o,) with the rest."""
        o = len(self)
        G = np.empty((o + 1, o + 1))
        G[:o, :o], G[o, :o], G[:o, o], G[o, o] = self._G, with_others, with_others, variance
        self._G = G
        self._open.append(_Open(key, c, mean))

    def covariances(self, weights: Array) -> Array:
        """Covariance (o,) of each g with the combination weights . u_t of the state."""
        return np.array([g.c @ weights for g in self._open])

    def covariances_at(self, i: int) -> Array:
        """Covariance (o,) of each g with coordinate i of the state."""
        return np.array([g.c[i] for g in self._open])

    def scale(self, decay: float) -> None:
        """Let time pass: the state's covariance with the past shrinks."""
        for g in self._open:
            g.c *= decay

    def transform(self, change: Callable[[Array], Array]) -> None:
        """Follow a linear change of the state's coordinates."""
        for g in self._open:
            g.c = change(g.c)

    def condition(self, key: int, y: float, noise: float) -> tuple[Array, float, float]:
        """Observe g + noise = y; return the state's gain row u, the surprise z, the log density.

        s^2 = G_jj + sigma^2;  u = c_j / s;  z = (y - m_j) / s. The state's mean gains u z, its
        covariance loses u u^T, and the other open evaluations are conditioned alike.
        """
        j = self._find(key)
        g, s = self._open[j], sqrt(self._G[j, j] + noise)
        u, z = g.c / s, (y - g.mean) / s
        if len(self) > 1:
            shares = self._G[j] / s
            self._G -= np.outer(shares, shares)
            for other, share in zip(self._open, shares.tolist(), strict=True):
                other.mean += share * z
                other.c -= share * u
        self._delete(j)
        return u, z, -0.5 * (z * z + log(2.0 * pi)) - log(s)

    def remove(self, key: int) -> None:
        """Drop g without its value."""
        self._delete(self._find(key))

    def as_if_told(self, noise: float) -> Array:
        """Rows H (o, N): H^T H is what all open evaluations would explain of the state."""
        root = jittered_cholesky(self._G + noise * np.eye(len(self)), jitter=0.0)
        return solve_lower(root, np.array([g.c for g in self._open]))

    def state(self) -> State:
        """Return the arrays."""
        return {
            "open_keys": np.array([g.key for g in self._open], dtype=np.int64),
            "open_c": np.array([g.c for g in self._open]),
            "open_mean": np.array([g.mean for g in self._open]),
            "open_G": self._G,
        }

    def restore(self, state: State) -> None:
        """Take over the arrays of :meth:`state`."""
        columns = state["open_keys"].tolist(), state["open_c"], state["open_mean"].tolist()
        self._open = [_Open(key, c.copy(), mean) for key, c, mean in zip(*columns, strict=True)]
        self._G = state["open_G"].copy()

    def _find(self, key: int) -> int:
        return next(j for j, g in enumerate(self._open) if g.key == key)

    def _delete(self, j: int) -> None:
        del self._open[j]
        self._G = np.delete(np.delete(self._G, j, axis=0), j, axis=1) if self._open else _NONE
