"""Tracking over a box: functions that are expansions over a dictionary of visited points.

Each block of the stacked state (see markov.py) at the visited points is a Markov state: any other
point adds only a part that is independent of the past. Mean and explained covariance are expansions
over those points. This is the kernel recursive least-squares tracker of Van Vaerenbergh et al.
(2012). It stores weights, which the noise bounds, rather than function values, which would need
the inverse of an ill-conditioned kernel matrix.

Symbols
-------
n      dictionary points B (n, d)
A      blocks of the stacked state: R that all places share, with one weight each, P over space
N      R + n P weights: those of the shared blocks, then P for each point
phi    (N,) features of f_t(x): a_p v_p for shared blocks, a_p k_p(x, b_j) for the others
alpha  (N,) weights of the mean, m_t(x) = m0 + phi . alpha
Q      (N, N) weights of the explained covariance, Cov_t(x, x') = sum_c s_c k_c(x, x') - phi Q phi'
gamma  (N,) weights of an open evaluation's covariance with f_t(x), phi . gamma
"""

from collections.abc import Callable, Sequence
from math import inf, sqrt

import numpy as np

from heliotrope.domains import Box, Places
from heliotrope.kernels import DomainKernel, SpaceKernel, as_multiple
from heliotrope.linalg import checked_variance, most_relevant, projection
from heliotrope.posterior.discarded import Discarded
from heliotrope.posterior.markov import MarkovEngine, StackedTerms, View
from heliotrope.posterior.protocol import EXACT, Accuracy, Surface
from heliotrope.posterior.spacetime import Expansion, SpaceTime, with_shared_known
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import LEAST_NOISE_IN_A_BOX, Prior
from heliotrope.serialization.codec import State, Stored, part, under
from heliotrope.terms import CHOICE, SHARED
from heliotrope.validation import Array

BUDGET = 600  # points; docs/explanation/engines.md has the table of errors and milliseconds
_NEGLIGIBLE = 1e-8  # loss of a point, relative to the variance, that is negligible
_CANCELS = 1e-2  # k Q k may cancel to this share of the variance if the noise is very small
_SLACK = 0.9  # share of the budget that a pruning keeps, so that prunings are rare


class Dictionary(Stored):
    """Points B, and what is known of f_t: weights of its mean and of the explained covariance.

    The kernels over space are multiples of C distinct ones, ``kernels``: that of a term c is the
    sum of these times ``multiples[c]``, of which one is not 0. The features of f_t that are
    distinct are 1, for the blocks that all places share, and k_c(x, b_j) of each distinct kernel.
    """

    _stored = ("B", "alpha", "Q")

    def __init__(self, stack: StackedTerms, model: SpaceTime, domain: Box) -> None:
        chosen = np.array(model.prior.selects(CHOICE))
        self.owner, is_spatial = stack.owner, chosen[stack.owner]
        self.shared, self.spatial = np.flatnonzero(~is_spatial), np.flatnonzero(is_spatial)
        corner, scaled = model.one_place, [as_multiple(kernel.kernel) for kernel in model.kernels]
        self.levels = np.array(
            [float(model.kernels[c].diagonal(corner)[0]) for c in stack.owner[self.shared]]
        )
        shapes = list[SpaceKernel]()
        for c in np.flatnonzero(chosen):
            if scaled[c][1] not in shapes:
                shapes.append(scaled[c][1])
        self.kernels = [DomainKernel(shape, domain) for shape in shapes]
        self.multiples = np.array(
            [[factor if own == shape else 0.0 for shape in shapes] for factor, own in scaled]
        )
        self.over_space = self.multiples[self.owner[self.spatial]]  # (P, C)
        self.B, R = np.empty((0, domain.dimension)), len(self.shared)
        self.alpha, self.Q = np.zeros(R), np.zeros((R, R))

    def __len__(self) -> int:
        return len(self.B)

    def features(self, view: View, places: Places) -> Array:
        """The features phi of f_t, (q, N)."""
        levels, seen = self.seen(view)
        phi = np.swapaxes(self._blocks(places), 1, 2) @ seen.T
        same = np.broadcast_to(levels, (len(places), len(levels)))
        return np.hstack([same, phi.reshape(len(places), phi.shape[1] * phi.shape[2])])

    def features_of_blocks(self, places: Places) -> Array:
        """The features of each block, (A, q, N)."""
        R, P, A = len(self.shared), len(self.spatial), len(self.owner)
        phi = np.zeros((A, len(places), R + len(self.B) * P))
        phi[self.shared, :, np.arange(R)] = self.levels[:, None]
        spatial = np.einsum("qcn,pc->pqn", self._blocks(places), self.over_space)
        for p, block in enumerate(self.spatial):
            phi[block, :, R + p :: P] = spatial[p]
        return phi

    def features_of_levels(self, levels: Array) -> Array:
        """The features of what all places share, (N,)."""
        return np.append(levels, np.zeros(len(self.alpha) - len(levels)))

    def distinct(self, places: Places) -> Array:
        """The distinct features of f_t, (q, 1 + C n)."""
        ones = np.ones((len(places), 1))
        _, kernels, points = (blocks := self._blocks(places)).shape
        return np.hstack([ones, blocks.reshape(len(places), kernels * points)])

    def collapsed(
        self, view: View, explained: Array, rows: Sequence[Array]
    ) -> tuple[list[Array], Array]:
        """Rows of weights (N,), and what is explained, for the distinct features of f_t."""
        (levels, seen), n = self.seen(view), len(self.B)
        R, size = len(levels), 1 + len(self.kernels) * n
        *distinct, shared = np.empty((len(rows) + 1, size))
        of_shared = explained @ self.features_of_levels(levels)
        for new, own in zip((*distinct, shared), (*rows, of_shared), strict=True):
            new[0] = own[:R] @ levels
            new[1:] = (own[R:].reshape(n, len(self.spatial)) @ seen).T.ravel()
        Q = np.empty((size, size))
        Q[0] = Q[:, 0] = shared
        blocks = np.einsum("ipjq,pc,qd->cidj", self.by_pair(explained), seen, seen, optimize=True)
        Q[1:, 1:] = blocks.reshape(size - 1, size - 1)
        return distinct, Q

    def blocks_at(self, places: Places) -> tuple[Array, Array]:
        """Mean (q, A) and explained covariance (q, A, A) of the blocks."""
        phi = self.features_of_blocks(places)
        return (phi @ self.alpha).T, np.einsum("aqn,bqn->qab", phi @ self.Q, phi)

    def by_point(self, weights: Array) -> Array:
        """The weights of the blocks over space at the points, (..., n, P)."""
        spatial = weights[..., len(self.shared) :]
        return spatial.reshape(*weights.shape[:-1], len(self.B), len(self.spatial))

    def by_pair(self, Q: Array) -> Array:
        """The part of Q for blocks over space, (n, P, n, P)."""
        R, size = len(self.shared), (len(self.B), len(self.spatial))
        return Q[R:, R:].reshape(*size, *size)

    def find(self, place: Places) -> int | None:
        same = np.flatnonzero((place == self.B).all(axis=1))
        return int(same[0]) if len(same) else None

    def join(self, place: Places) -> int:
        """Add a point with weights 0."""
        P = len(self.spatial)
        self.alpha, self.Q = np.pad(self.alpha, (0, P)), np.pad(self.Q, (0, P))
        self.B = np.concatenate([self.B, place])
        return len(self.B) - 1

    def change(self, change: Callable[[Array], Array]) -> None:
        """Apply a linear change to all weights (..., N)."""
        self.alpha, self.Q = change(self.alpha), change(change(self.Q).T)  # symmetric

    def moved(self, weights: Array, T: Array) -> Array:
        """Weights (..., N), with the blocks multiplied by T (A, A)."""
        shared, spatial = self.shared, self.spatial
        levels = weights[..., : len(shared)] @ T[np.ix_(shared, shared)].T
        by_point = self.by_point(weights) @ T[np.ix_(spatial, spatial)].T
        return np.concatenate([levels, by_point.reshape(*weights.shape[:-1], -1)], axis=-1)

    def seen(self, view: View) -> tuple[Array, Array]:
        """How the blocks enter f_t: shared ones (R,), and those over space, (P, C).

        The latter are in units of the distinct kernels.
        """
        return view.a[self.shared] * self.levels, view.a[self.spatial][:, None] * self.over_space

    def _blocks(self, places: Places) -> Array:
        """k_c(x, b_j) of each distinct kernel, (q, C, n)."""
        return np.stack([kernel.block(places, self.B) for kernel in self.kernels], axis=1)


class BoxEngine(MarkovEngine):
    """The dictionary tracker over a Box, for sums of Markov terms.

    It is exact until more than ``budget`` distinct points have been visited; with the budget None
    it stays exact, and its cost grows with the points. Beyond the budget, the points with the least
    effect on the posterior are projected onto the others; :meth:`accuracy` estimates the error.
    """

    _stored = (*MarkovEngine._stored, "_points", "_limit")

    def __init__(self, prior: Prior, domain: Box, budget: int | None = BUDGET) -> None:
        super().__init__(prior, domain, LEAST_NOISE_IN_A_BOX)
        self._domain, self._points = domain, Dictionary(self._stack, self._model, domain)
        self._budget = self._limit = inf if budget is None else float(budget)
        self._lost: Discarded | None = None  # until the first pruning

    def open(self, key: int, t: float, place: Places) -> None:
        """Open an evaluation, and add its point to the dictionary if it is new.

        Its covariance with the state has the weights gamma: b at its own point, minus Q phi.
        """
        view, points = self._stack.view(t), self._points
        prior_variance = float(self._prior_variance(view, place)[0])
        phi = points.features(view, place)[0]
        explained = float(phi @ points.Q @ phi)
        variance = checked_variance(prior_variance - explained, prior_variance, _CANCELS)
        self._stack.advance(t, self._move)
        phi, b = points.features(self._stack.view(t), place)[0], self._stack.gain(t)
        gamma = -(points.Q @ phi)
        mean = float(self._model.mean_at(place)[0] + phi @ points.alpha)
        with_others = self._pending.covariances(lambda C: C @ phi)
        R, P, j = len(points.shared), len(points.spatial), points.find(place)
        if j is None:
            j, gamma = points.join(place), np.append(gamma, np.zeros(P))
            self._pending.transform(lambda gammas: np.pad(gammas, [(0, 0), (0, P)]))
        if self._lost is not None:
            self._lost.open(key, place)
        gamma[:R] += b[points.shared]
        gamma[R + j * P : R + (j + 1) * P] += b[points.spatial]
        self._pending.add(key, gamma, mean, variance, with_others)
        if len(points) > self._limit:
            self._prune()

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        noise = self._noise(precision)
        gain, z, density = self._pending.condition(key, y, noise)
        self._correct(key, gain, z, noise)
        self._points.alpha += gain * z
        self._points.Q += np.outer(gain, gain)
        self.log_likelihood += density

    def cancel(self, key: int) -> None:
        super().cancel(key)
        if self._lost is not None:
            self._lost.close(key)

    def accuracy(self) -> Accuracy:
        if self._lost is None:
            return EXACT
        now = self._stack.now
        _, variance = self._predict_part(now, self._lost.Z, count_open=False, part=None)
        return self._lost.accuracy(self._stack.view(now).a, variance)

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        if part == CHOICE:
            return self._expansion(t, count_open).value(places)
        return super().predict(t, places, count_open=count_open, part=part)

    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        view, psi = self._stack.view(t, part), self._points.distinct(places)
        explained, alpha = self._explained(count_open), self._points.alpha
        (alpha,), Q = self._points.collapsed(view, explained, [alpha])
        certain = np.einsum("qn,qn->q", psi @ Q, psi)
        variance = np.maximum(self._prior_variance(view, places) - certain, 0.0)
        return self._model.mean_at(places, part) + psi @ alpha, variance

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        view, psi = self._stack.view(t, part), self._points.distinct(places)
        _, Q = self._points.collapsed(view, self._points.Q, [])
        there = psi if others is None else self._points.distinct(others)
        others = places if others is None else others
        return self._prior_covariance(view, places, others) - psi @ (Q @ there.T)

    def surface(self, t: float) -> Surface:
        return self._expansion(t, count_open=True)

    def _expansion(self, t: float, count_open: bool) -> Expansion:
        """The part of f_t that a choice depends on."""
        view, points = self._stack.view(t, CHOICE), self._points
        explained, rows, left = self._explained(count_open), [points.alpha], 0.0
        if len(points.shared):
            shared = self._stack.view(t, SHARED)
            phi = points.features_of_levels(points.seen(shared)[0])
            rows.append(explained @ phi)
            prior_variance = float(self._prior_variance(shared, self._model.one_place)[0])
            left = prior_variance - float(phi @ rows[1])
        (alpha, *shared_rows), Q = points.collapsed(view, explained, rows)
        Q = Q[1:, 1:]
        for row in shared_rows:
            Q = with_shared_known(Q, row[1:], left)
        s = view.s @ points.multiples
        return Expansion(self._model.prior, points.kernels, points.B, alpha[1:], Q, s)

    def _explained(self, count_open: bool) -> Array:
        if not (count_open and len(self._pending)):
            return self._points.Q
        told = self._pending.as_if_told(self._model.prior.noise)
        return np.asarray(self._points.Q + told.T @ told)

    def _move(self, blocks: slice, A: Array) -> None:
        T = np.eye(len(self._points.owner))
        T[blocks, blocks] = A
        self._points.change(lambda weights: self._points.moved(weights, T))
        self._pending.transform(lambda weights: self._points.moved(weights, T))
        if self._lost is not None:
            self._lost.move(T)

    def _prune(self) -> None:
        """Project the points with the least effect on the posterior onto the others.

        Open evaluations count as observed; otherwise their points would be removed first.
        """
        points, n = self._points, len(self._points)
        owner = points.owner[points.spatial]
        terms = np.unique(owner)
        K = np.array([self._model.kernels[c].block(points.B, points.B) for c in terms])
        K, most = K[np.searchsorted(terms, owner)], int(_SLACK * self._budget)  # (P, n, n)
        Q = points.by_pair(self._explained(count_open=True))
        kept = most_relevant(K, points.by_point(points.alpha), Q, most, _NEGLIGIBLE)
        self._limit = min(self._budget, 2 * len(kept))
        removed = np.setdiff1d(np.arange(n), kept)
        W = [projection(block, kept, removed) for block in K]

        def projected(weights: Array) -> Array:
            """Weights (..., N) of all points, as those of the kept ones."""
            at = points.by_point(weights)
            moved = [at[..., removed, p] @ block.T for p, block in enumerate(W)]
            new = at[..., kept, :] + np.stack(moved, axis=-1)
            levels = weights[..., : len(points.shared)]
            return np.concatenate([levels, new.reshape(*weights.shape[:-1], -1)], axis=-1)

        lost = self._lost or self._nothing_lost()
        mean, explained = points.blocks_at(lost.Z)
        self._pending.transform(projected)
        points.change(projected)
        points.B = points.B[kept]
        mean_left, explained_left = points.blocks_at(lost.Z)
        lost.add(mean_left - mean, explained - explained_left, points.B)
        self._lost = lost

    def _nothing_lost(self) -> Discarded:
        return Discarded(self._points.kernels, self._domain, len(self._points.owner))

    def _correct(self, key: int, gain: Array, z: float, noise: float) -> None:
        """Let a result correct what was discarded; ``gain`` is its c / s, as weights."""
        lost, points = self._lost, self._points
        place = None if lost is None else lost.close(key)
        if lost is None or place is None:
            return
        view = self._stack.view(self._stack.now)
        root = float(points.features(view, place)[0] @ gain)  # s - noise / s for a present result
        s = 0.5 * (root + sqrt(root * root + 4.0 * noise))
        seen, of = np.zeros((len(lost.Z), len(view.a))), points.over_space.argmax(axis=1)
        seen[:, points.spatial] = view.a[points.spatial] * lost.shares(place)[of].T
        c = s * (points.features_of_blocks(lost.Z) @ gain).T
        lost.correct(c, seen, s * s, s * root, s * z)

    def state(self) -> State:
        lost = {} if self._lost is None else under("lost/", self._lost.state())
        return lost | super().state()

    def restore(self, state: State) -> None:
        super().restore(state)
        self._lost = None
        if lost := part(state, "lost/"):
            self._lost = self._nothing_lost()
            self._lost.restore(lost)
            self._lost.keep(self._points.B[: self._lost.kept])
