"""Tracking over a box: functions that are expansions over a dictionary of visited points.

Each block of the stacked state (see stacked.py) at the visited points is a Markov state: any other
point adds only a part that is independent of the past. Mean and explained covariance are expansions
over those points. This is the kernel recursive least-squares tracker of Van Vaerenbergh et al.
(2012). It stores weights, which the noise bounds, rather than function values, which would need
the inverse of an ill-conditioned kernel matrix.

Symbols
-------
n      dictionary points B (n, d)
P, R   blocks over space; blocks that all places share, which have one weight each
N      R + n P weights: those of the shared blocks, then P for each point
phi    (N,) features of f_t(x): a_p v_p for shared blocks, a_p k_p(x, b_j) for the others
alpha  (N,) weights of the mean, m_t(x) = m0 + phi . alpha
Q      (N, N) weights of the explained covariance, Cov_t(x, x') = sum_c s_c k_c(x, x') - phi Q phi'
gamma  (N,) weights of an open evaluation's covariance with f_t(x), phi . gamma
"""

from collections.abc import Sequence

import numpy as np

from heliotrope.domains import Box, Places
from heliotrope.kernels import DomainKernel, SpaceKernel, as_multiple
from heliotrope.linalg import most_relevant, projection
from heliotrope.posterior.markov import MarkovEngine
from heliotrope.posterior.protocol import Surface, checked_variance
from heliotrope.posterior.spacetime import Expansion, with_shared_known
from heliotrope.posterior.stacked import View
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import LEAST_NOISE_IN_A_BOX, Prior
from heliotrope.serialization.codec import State
from heliotrope.terms import CHOICE, SHARED
from heliotrope.validation import Array

_NEGLIGIBLE = 1e-8  # loss of a point, relative to the variance, that is negligible
_CANCELS = 1e-2  # k Q k may cancel to this share of the variance if the noise is very small
_SLACK = 0.9  # share of the budget that a pruning keeps, so that prunings are rare


class Shapes:
    """Kernels that are multiples of each other, as factors of few shapes: k_c = factor_c shape."""

    def __init__(self, kernels: Sequence[SpaceKernel], domain: Box) -> None:
        scaled = [as_multiple(kernel) for kernel in kernels]
        distinct = list[SpaceKernel]()
        for _, shape in scaled:
            if shape not in distinct:
                distinct.append(shape)
        self.kernels = [DomainKernel(shape, domain) for shape in distinct]
        self.factors = np.array([factor for factor, _ in scaled])
        self.of = np.array([distinct.index(shape) for _, shape in scaled])


class BoxEngine(MarkovEngine):
    """The dictionary tracker over a Box, for sums of Markov terms.

    It is exact until more than ``budget`` distinct points have been visited. Then the points with
    the least effect on the posterior are projected onto the others.
    """

    def __init__(self, prior: Prior, domain: Box, budget: int = 400) -> None:
        super().__init__(prior, domain, LEAST_NOISE_IN_A_BOX)
        chosen = prior.selects(CHOICE)
        shared = np.array([not chosen[c] for c in self._stack.owner])
        self._shared, self._spatial = np.flatnonzero(shared), np.flatnonzero(~shared)
        self._shapes = Shapes([kernel.kernel for kernel in self._model.kernels], domain)
        corner, kernels = self._model.one_place, self._model.kernels
        self._levels = np.array(
            [float(kernels[c].diagonal(corner)[0]) for c in self._stack.owner[shared]]
        )
        self._budget = self._limit = budget
        self._B = np.empty((0, domain.dimension))
        self._alpha = np.zeros(len(self._shared))
        self._Q = np.zeros((len(self._shared), len(self._shared)))

    def open(self, key: int, t: float, place: Places) -> None:
        """Open an evaluation, and add its point to the dictionary if it is new.

        Its covariance with the state has the weights gamma: b at its own point, minus Q phi.
        """
        view = self._stack.view(t)
        prior_variance = float(self._prior_variance(view, place)[0])
        phi = self._seen(view, place)[0]
        explained = float(phi @ self._Q @ phi)
        variance = checked_variance(prior_variance - explained, prior_variance, _CANCELS)
        self._stack.advance(t, self._move)
        phi, b = self._seen(self._stack.view(t), place)[0], self._stack.gain(t)
        gamma = -(self._Q @ phi)
        mean = float(self._model.mean_at(place)[0] + phi @ self._alpha)
        with_others = self._pending.covariances(lambda C: C @ phi)
        j = self._find(place)
        if j is None:
            j, gamma = self._join(place), np.append(gamma, np.zeros(len(self._spatial)))
        R, P = len(self._shared), len(self._spatial)
        gamma[:R] += b[self._shared]
        gamma[R + j * P : R + (j + 1) * P] += b[self._spatial]
        self._pending.add(key, gamma, mean, variance, with_others)
        if len(self._B) > self._limit:
            self._prune()

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        gain, z, density = self._pending.condition(key, y, self._noise(precision))
        self._alpha += gain * z
        self._Q += np.outer(gain, gain)
        self.log_likelihood += density

    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        view = self._stack.view(t, part)
        phi = self._seen(view, places)
        explained = np.einsum("qn,qn->q", phi @ self._explained(count_open), phi)
        variance = np.maximum(self._prior_variance(view, places) - explained, 0.0)
        return self._model.mean_at(places, part) + phi @ self._alpha, variance

    def covariance(self, t: float, places: Places, *, part: str | None = None) -> Array:
        view = self._stack.view(t, part)
        phi = self._seen(view, places)
        return self._prior_covariance(view, places) - phi @ self._Q @ phi.T

    def surface(self, t: float) -> Surface:
        view, owner = self._stack.view(t, CHOICE), self._stack.owner[self._spatial]
        shapes, terms = self._shapes, np.unique(owner)
        chosen = np.unique(shapes.of[terms])
        is_seen = shapes.of[owner][:, None] == chosen
        factors = shapes.factors[owner] * view.a[self._spatial]
        seen = np.where(is_seen, factors[:, None], 0.0)  # (P, C), C shapes
        s = (shapes.factors * view.s)[terms] @ (shapes.of[terms][:, None] == chosen)
        alpha, Q = self._by_point(self._alpha), self._by_pair(self._explained(count_open=True))
        Q = np.einsum("ipjq,pc,qd->cidj", Q, seen, seen, optimize=True)
        if len(self._shared):
            Q = self._with_shared_known(Q, t, seen)
        kernels = [shapes.kernels[c] for c in chosen]
        return Expansion(self._model.prior, kernels, self._B, (alpha @ seen).T, Q, s)

    def state(self) -> State:
        own = {"limit": np.array(self._limit), "B": self._B, "alpha": self._alpha, "Q": self._Q}
        return own | super().state()

    def restore(self, state: State) -> None:
        super().restore(state)
        self._limit = int(state["limit"])
        self._B, self._alpha, self._Q = (state[name].copy() for name in ("B", "alpha", "Q"))

    def _seen(self, view: View, places: Places) -> Array:
        """The features phi at places, (q, N)."""
        owner = self._stack.owner
        spatial = np.zeros((len(places), len(self._B), len(self._spatial)))
        blocks = dict[int, Array]()  # by shape
        for c in np.unique(owner[self._spatial]):
            if view.s[c]:
                shape, mine = int(self._shapes.of[c]), owner[self._spatial] == c
                if shape not in blocks:
                    blocks[shape] = self._shapes.kernels[shape].block(places, self._B)
                factors = self._shapes.factors[c] * view.a[self._spatial[mine]]
                spatial[:, :, mine] = blocks[shape][:, :, None] * factors
        phi = spatial.reshape(len(places), -1)
        if not len(self._shared):
            return phi
        levels = np.broadcast_to(
            view.a[self._shared] * self._levels, (len(places), len(self._shared))
        )
        return np.hstack([levels, phi])

    def _with_shared_known(self, Q: Array, t: float, seen: Array) -> Array:
        view, explained = self._stack.view(t, SHARED), self._explained(count_open=True)
        phi = np.zeros(len(explained))
        phi[: len(self._shared)] = view.a[self._shared] * self._levels
        weights = explained @ phi
        prior_variance = float(self._prior_variance(view, self._model.one_place)[0])
        variance = prior_variance - float(phi @ weights)
        return with_shared_known(Q, (self._by_point(weights) @ seen).T, variance)

    def _by_point(self, weights: Array) -> Array:
        """The weights of the blocks over space, (..., n, P)."""
        spatial = weights[..., len(self._shared) :]
        return spatial.reshape(*weights.shape[:-1], len(self._B), len(self._spatial))

    def _by_pair(self, Q: Array) -> Array:
        """The part of Q for blocks over space, (n, P, n, P)."""
        rows = self._by_point(Q)[len(self._shared) :]
        return rows.reshape(len(self._B), len(self._spatial), *rows.shape[1:])

    def _explained(self, count_open: bool) -> Array:
        if not (count_open and len(self._pending)):
            return self._Q
        told = self._pending.as_if_told(self._model.prior.noise)
        return self._Q + told.T @ told

    def _move(self, blocks: slice, A: Array) -> None:
        def moved(weights: Array) -> Array:
            return self._moved(weights, blocks, A)

        self._alpha = moved(self._alpha)
        self._Q = moved(moved(self._Q).T)  # symmetric
        self._pending.transform(moved)

    def _moved(self, weights: Array, blocks: slice, A: Array) -> Array:
        """Weights (..., N), with those of some blocks multiplied by A."""
        T = np.eye(len(self._stack.owner))
        T[blocks, blocks] = A
        R, shared, spatial = len(self._shared), self._shared, self._spatial
        levels = weights[..., :R] @ T[np.ix_(shared, shared)].T
        others = self._by_point(weights) @ T[np.ix_(spatial, spatial)].T
        return np.concatenate([levels, others.reshape(*weights.shape[:-1], -1)], axis=-1)

    def _find(self, place: Places) -> int | None:
        same = np.flatnonzero((place == self._B).all(axis=1))
        return int(same[0]) if len(same) else None

    def _join(self, place: Places) -> int:
        """Add a point with weights 0."""
        n, P = len(self._B), len(self._spatial)
        self._alpha, self._Q = np.pad(self._alpha, (0, P)), np.pad(self._Q, (0, P))
        self._B = np.concatenate([self._B, place])
        self._pending.transform(lambda gammas: np.pad(gammas, [(0, 0), (0, P)]))
        return n

    def _prune(self) -> None:
        """Project the points with the least effect on the posterior onto the others.

        Open evaluations count as observed; otherwise their points would be removed first.
        """
        owner = self._stack.owner[self._spatial]
        terms = np.unique(owner)
        K = np.array([self._model.kernels[c].block(self._B, self._B) for c in terms])
        K, most = K[np.searchsorted(terms, owner)], int(_SLACK * self._budget)  # (P, n, n)
        Q = self._by_pair(self._explained(count_open=True))
        kept = most_relevant(K, self._by_point(self._alpha), Q, most, _NEGLIGIBLE)
        self._limit = min(self._budget, 2 * len(kept))
        others = np.setdiff1d(np.arange(len(self._B)), kept)
        W = [projection(block, kept, others) for block in K]

        def projected(weights: Array) -> Array:
            """Weights (..., N) of all points, as those of the kept ones."""
            points = self._by_point(weights)
            moved = [points[..., others, p] @ block.T for p, block in enumerate(W)]
            new = points[..., kept, :] + np.stack(moved, axis=-1)
            levels = weights[..., : len(self._shared)]
            return np.concatenate([levels, new.reshape(*weights.shape[:-1], -1)], axis=-1)

        self._pending.transform(projected)
        self._alpha, self._Q = projected(self._alpha), projected(projected(self._Q).T)  # symmetric
        self._B = self._B[kept]
