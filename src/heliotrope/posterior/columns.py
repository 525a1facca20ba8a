"""The columns of the stacked state over M points: M for each block, 1 for a shared block.

Symbols
-------
P  blocks, with their columns one after another      N  columns in all
a (P,)  what f_t sees of each block                  R (n, N)  rows over all columns
"""

from itertools import pairwise

import numpy as np

from heliotrope.validation import Array, Indices


class Columns:
    """Where the columns of each block are; ``shared`` says which blocks have only one."""

    def __init__(self, shared: list[bool], points: int) -> None:
        ends = np.cumsum([0, *np.where(shared, 1, points)])
        self._points, self._first, self.count = points, ends[:-1], int(ends[-1])
        self._step = np.where(shared, 0, 1)
        self._has_shared = any(shared)
        self.of = [slice(*pair) for pair in pairwise(ends.tolist())]

    def seen(self, R: Array, i: int, a: Array) -> Array:
        """Rows of f_t at point i, (n,)."""
        if len(a) == 1:
            return np.asarray(a[0] * R[:, i * self._step[0]])  # much faster than a product
        seen: Array = R[:, self._first + i * self._step] @ a
        return seen

    def at(self, R: Array, block: int, places: Indices) -> Array:
        """Rows of one block at some points, (n, q)."""
        return np.asarray(R[:, self._first[block] + places * self._step[block]])

    def combined(self, R: Array, a: Array) -> Array:
        """Rows of f_t at all points, (n, M)."""
        total = np.zeros((len(R), self._points))
        for p, seen in enumerate(a.tolist()):
            if seen:
                total += seen * R[:, self.of[p]]
        return total

    def blocks(self, row: Array) -> Array:
        """One row as (P, M)."""
        if not self._has_shared:
            return row.reshape(len(self.of), self._points)
        return np.array([np.broadcast_to(row[columns], self._points) for columns in self.of])

    def move(self, R: Array, blocks: slice, A: Array) -> Array:
        """Multiply some blocks, all of the same width, by A (p, p), in place; return R."""
        first, last = self.of[blocks.start], self.of[blocks.stop - 1]
        part = R[:, first.start : last.stop]
        if A.shape == (1, 1):
            part *= A[0, 0]
        else:
            cut = part.reshape(len(R), len(A), -1)
            part[:] = np.einsum("pq,nqw->npw", A, cut).reshape(part.shape)
        return R
