"""Explained covariance at each point, for every pair of blocks of the stacked state.

Symbols
-------
P  blocks      M  points      a (P,)  observation vector of f_t
E (P (P + 1) / 2, M)  diagonals of V_p^T V_q for p <= q
sum_pq a_p a_q E_pq  explained variance of f_t
"""

from collections.abc import Sequence

import numpy as np

from heliotrope.validation import Array


class ExplainedPairs:
    """E for all pairs of blocks."""

    def __init__(self, blocks: int, points: int) -> None:
        self._left, self._right = np.triu_indices(blocks)
        self._twice = np.where(self._left == self._right, 1.0, 2.0)
        self.E = np.zeros((len(self._left), points))

    def add(self, blocks: Array) -> None:
        """Take a new row of V, as (P, M)."""
        if len(blocks) == 1:
            self.E += np.square(blocks)
        else:
            self.E += blocks[self._left] * blocks[self._right]

    def of(self, a: Array) -> Array:
        """The explained variance of f_t, (M,)."""
        return weighted(self._twice * a[self._left] * a[self._right], self.E)

    def move(self, blocks: slice, A: Array) -> None:
        """Multiply some blocks by A (p, p)."""
        T = np.eye(int(self._right[-1]) + 1)
        T[blocks, blocks] = A
        whole = np.empty((*T.shape, self.E.shape[1]))
        whole[self._left, self._right] = whole[self._right, self._left] = self.E
        moved = np.einsum("pr,qs,rsm->pqm", T, T, whole, optimize=True)
        self.E = moved[self._left, self._right]

    def take(self, blocks: Sequence[Array]) -> None:
        """Compute E from all rows of V, given as (n, M) for each block."""
        for pair, (p, q) in enumerate(zip(self._left.tolist(), self._right.tolist(), strict=True)):
            self.E[pair] = np.einsum("nm,nm->m", blocks[p], blocks[q])


def weighted(weights: Array, rows: Array) -> Array:
    """The weighted sum of rows; for one row a product is much faster than BLAS."""
    return np.asarray(weights[0] * rows[0] if len(rows) == 1 else weights @ rows)
