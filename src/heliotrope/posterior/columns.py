"""The columns of the stacked state: values at the M points, or weights of a few features.

A kernel matrix of low rank is F^T F, where F has few rows. Every block of the term is then a linear
combination of these features. A term that all places share has one feature.

Symbols
-------
M  points      P  blocks, with their columns one after another      N  columns in all
r  features F (r, M) of a term       a (P,)  observation vector of f_t
R (n, N)  rows over all columns
E (P (P + 1) / 2, M)  diagonals of V_p^T V_q for p <= q, the explained covariance at each point
sum_pq a_p a_q E_pq  explained variance of f_t
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from heliotrope.kernels import DomainKernel
from heliotrope.linalg import jittered_cholesky, leading_rows, pivoted_rows, solve_lower
from heliotrope.posterior.markov import StackedTerms
from heliotrope.serialization.codec import State, Stored
from heliotrope.validation import Array, Indices

_LEFT = 1e-11  # share of the variance that features may miss
_FEW = 8  # features are used if there is at most one for so many points


class ExplainedPairs(Stored):
    """E for all pairs of blocks."""

    _stored = ("E",)

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


class PointColumns:
    """A term whose columns are its values at all points."""

    length = 1.0

    def __init__(self, kernel: DomainKernel, points: int) -> None:
        self.width, self.row = points, kernel.row

    def at(self, R: Array, places: Indices | slice) -> Array:
        """Values (n, q) at places of rows over the columns of one block."""
        return R[:, places]


class FeatureColumns:
    """A term whose columns are weights of features, computed from the points ``pivots``.

    ``length`` is the largest norm of the feature vector of a point.
    """

    def __init__(self, pivots: Indices, F: Array) -> None:
        self.pivots, self.width, self._F = pivots, len(F), F
        self.length = float(np.sqrt(np.einsum("rm,rm->m", F, F).max()))

    @classmethod
    def of_pivots(cls, kernel: DomainKernel, pivots: Indices) -> FeatureColumns:
        root = jittered_cholesky(kernel.block(pivots, pivots), jitter=0.0)
        every = np.array([kernel.row(i) for i in pivots.tolist()])
        return cls(pivots, solve_lower(root, every))

    def row(self, i: int) -> Array:
        return self._F[:, i]

    def at(self, R: Array, places: Indices | slice) -> Array:
        return np.asarray(R @ self._F[:, places])


class Columns:
    """The columns of all blocks; a sum of terms uses features for kernels of low rank."""

    def __init__(self, stack: StackedTerms, kernels: list[DomainKernel], points: int) -> None:
        self._stack, self._kernels, self._points = stack, kernels, points
        if len(stack.owner) == 1:
            self._take([PointColumns(kernels[0], points)])
        else:
            self._take([_few_features(kernel, points) for kernel in kernels])

    def seen(self, R: Array, i: int, a: Array) -> Array:
        """Rows of f_t at point i, (n,)."""
        if len(a) == 1:
            return np.asarray(a[0] * R[:, i])  # much faster than a product
        seen = np.zeros(len(R))
        for p, basis in enumerate(self._bases):
            seen += a[p] * basis.at(R[:, self.of[p]], slice(i, i + 1))[:, 0]
        return seen

    def rows_of(self, block: int, i: int) -> Array:
        """Prior covariance of a block's columns with its value at point i."""
        row: Array = self._bases[block].row(i)
        return row

    def at(self, R: Array, block: int, places: Indices | slice = slice(None)) -> Array:
        """Rows of one block at some points, (n, q)."""
        rows: Array = self._bases[block].at(R[:, self.of[block]], places)
        return rows

    def combined(self, R: Array, a: Array) -> Array:
        """Rows of f_t at all points, (n, M)."""
        total = np.zeros((len(R), self._points))
        for p, weight in enumerate(a.tolist()):
            if weight:
                total += weight * self.at(R, p)
        return total

    def blocks(self, row: Array) -> Array:
        """One row as (P, M)."""
        if len(self.of) == 1:
            return row[None]
        stacked = []
        for blocks in self._stack.slices:
            first, last = self.of[blocks.start], self.of[blocks.stop - 1]
            own = row[first.start : last.stop].reshape(blocks.stop - blocks.start, -1)
            stacked.append(self._bases[blocks.start].at(own, slice(None)))
        return np.concatenate(stacked)

    def move(self, R: Array, blocks: slice, A: Array) -> Array:
        """Multiply the blocks of one term by A (p, p), in place; return R."""
        first, last = self.of[blocks.start], self.of[blocks.stop - 1]
        part = R[:, first.start : last.stop]
        if A.shape == (1, 1):
            part *= A[0, 0]
        else:
            cut = part.reshape(len(R), len(A), part.shape[1] // len(A))
            part[:] = np.einsum("pq,nqw->npw", A, cut).reshape(part.shape)
        return R

    def leading(self, R: Array, tolerance: float) -> Array:
        """Fewer rows that explain the same variance at all points, up to the tolerance."""
        features = [basis for basis in self._bases if isinstance(basis, FeatureColumns)]
        if not features:
            return leading_rows(R, tolerance)
        scale = np.concatenate([np.full(basis.width, basis.length) for basis in self._bases])

        def values(S: Array) -> Array:
            S = S / scale
            return np.hstack([self.at(S, p) for p in range(len(self.of))])

        single = all(basis.width == 1 for basis in features)  # scaled, they bound their values
        return np.asarray(leading_rows(R * scale, tolerance, None if single else values) / scale)

    def state(self) -> State:
        return {
            f"pivots{c}": basis.pivots
            for c, basis in enumerate(self._of_terms())
            if isinstance(basis, FeatureColumns)
        }

    def restore(self, state: State) -> None:
        """Use the pivots of a saved state, since other machines may compute different ones."""
        pivots = [state.get(f"pivots{c}") for c in range(len(self._kernels))]
        terms = zip(self._of_terms(), self._kernels, pivots, strict=True)
        self._take([self._saved(*term) for term in terms])

    def _saved(
        self, basis: PointColumns | FeatureColumns, kernel: DomainKernel, pivots: Indices | None
    ) -> PointColumns | FeatureColumns:
        """A term's columns with these pivots, or at all points."""
        if pivots is None:
            return PointColumns(kernel, self._points)
        if isinstance(basis, FeatureColumns) and np.array_equal(basis.pivots, pivots):
            return basis  # recomputed, it would differ by rounding errors
        return FeatureColumns.of_pivots(kernel, pivots)

    def _of_terms(self) -> list[PointColumns | FeatureColumns]:
        return [self._bases[blocks.start] for blocks in self._stack.slices]

    def _take(self, terms: list[PointColumns | FeatureColumns]) -> None:
        self._bases = [terms[c] for c in self._stack.owner]
        ends = np.cumsum([0, *(basis.width for basis in self._bases)]).tolist()
        self.of, self.count = [slice(*pair) for pair in pairwise(ends)], ends[-1]


def _few_features(kernel: DomainKernel, points: int) -> PointColumns | FeatureColumns:
    variances = kernel.diagonal(np.arange(points))
    most = points // _FEW + 1
    pivots, F, _ = pivoted_rows(kernel.row, variances, _LEFT * float(variances.max()), most)
    return FeatureColumns(pivots, F) if len(F) < most else PointColumns(kernel, points)
