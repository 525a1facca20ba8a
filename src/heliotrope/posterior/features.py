"""The blocks of a sum of terms as expansions over points of a box: features and weights.

Symbols
-------
n  points B (n, d)        A  blocks of the stacked state: R that all places share, P over space
N  R + n P weights: those of the shared blocks, then P for each point
"""

from collections.abc import Sequence

import numpy as np

from heliotrope.domains import Box, Places
from heliotrope.kernels import DomainKernel, SpaceKernel, as_multiple
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.posterior.stacked import StackedTerms, View
from heliotrope.terms import CHOICE
from heliotrope.validation import Array


class Shapes:
    """Kernels as multiples of a few distinct ones, the shapes: k_c = factor_c shape_of(c)."""

    def __init__(self, kernels: Sequence[SpaceKernel], domain: Box) -> None:
        scaled = [as_multiple(kernel) for kernel in kernels]
        distinct = list[SpaceKernel]()
        for _, shape in scaled:
            if shape not in distinct:
                distinct.append(shape)
        self.kernels = [DomainKernel(shape, domain) for shape in distinct]
        self.factors = np.array([factor for factor, _ in scaled])
        self.of = np.array([distinct.index(shape) for _, shape in scaled])


class Features:
    """How each block depends on the weights."""

    def __init__(self, stack: StackedTerms, model: SpaceTime, domain: Box) -> None:
        chosen = model.prior.selects(CHOICE)
        is_shared = np.array([not chosen[c] for c in stack.owner])
        self.owner = stack.owner
        self.shared, self.spatial = np.flatnonzero(is_shared), np.flatnonzero(~is_shared)
        self.shapes = Shapes([kernel.kernel for kernel in model.kernels], domain)
        corner = model.one_place
        self.levels = np.array(
            [float(model.kernels[c].diagonal(corner)[0]) for c in stack.owner[is_shared]]
        )

    def of_f(self, view: View, places: Places, B: Array) -> Array:
        """The features of f_t, (q, N)."""
        spatial = self._over_space(places, B, view.a[self.spatial], view.s)
        phi = spatial.reshape(len(places), -1)
        if not len(self.shared):
            return phi
        levels = np.broadcast_to(view.a[self.shared] * self.levels, (len(places), len(self.shared)))
        return np.hstack([levels, phi])

    def of_blocks(self, places: Places, B: Array) -> Array:
        """The features of each block, (A, q, N)."""
        R, P, A = len(self.shared), len(self.spatial), len(self.owner)
        phi = np.zeros((A, len(places), R + len(B) * P))
        phi[self.shared, :, np.arange(R)] = self.levels[:, None]
        spatial = self._over_space(places, B, np.ones(P), np.ones(len(self.shapes.of)))
        for p, block in enumerate(self.spatial):
            phi[block, :, R + p :: P] = spatial[:, :, p]
        return phi

    def _over_space(self, places: Places, B: Array, a: Array, s: Array) -> Array:
        """a_p k_p(x, b_j), (q, n, P); 0 for a term whose prior variance s (C,) is 0."""
        owner = self.owner[self.spatial]
        spatial = np.zeros((len(places), len(B), len(owner)))
        blocks = dict[int, Array]()  # by shape
        for c in np.unique(owner):
            if s[c]:
                shape, of_term = int(self.shapes.of[c]), owner == c
                if shape not in blocks:
                    blocks[shape] = self.shapes.kernels[shape].block(places, B)
                factors = self.shapes.factors[c] * a[of_term]
                spatial[:, :, of_term] = blocks[shape][:, :, None] * factors
        return spatial

    def by_point(self, weights: Array, n: int) -> Array:
        """The weights of the blocks over space at n points, (..., n, P)."""
        spatial = weights[..., len(self.shared) :]
        return spatial.reshape(*weights.shape[:-1], n, len(self.spatial))

    def by_pair(self, Q: Array, n: int) -> Array:
        """The part of Q for blocks over space, (n, P, n, P)."""
        rows = self.by_point(Q, n)[len(self.shared) :]
        return rows.reshape(n, len(self.spatial), *rows.shape[1:])

    def moved(self, weights: Array, n: int, T: Array) -> Array:
        """Weights (..., N), with the blocks multiplied by T (A, A)."""
        R, shared, spatial = len(self.shared), self.shared, self.spatial
        levels = weights[..., :R] @ T[np.ix_(shared, shared)].T
        others = self.by_point(weights, n) @ T[np.ix_(spatial, spatial)].T
        return np.concatenate(
            [levels, others.reshape(*weights.shape[:-1], n * len(spatial))], axis=-1
        )
