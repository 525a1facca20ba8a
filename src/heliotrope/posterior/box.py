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
from heliotrope.serialization.codec import State, part, under
from heliotrope.terms import CHOICE, SHARED
from heliotrope.validation import Array

BUDGET = 600  # points; docs/explanation/engines.md has the table of errors and milliseconds
_NEGLIGIBLE = 1e-8  # loss of a point, relative to the variance, that is negligible
_CANCELS = 1e-2  # k Q k may cancel to this share of the variance if the noise is very small
_SLACK = 0.9  # share of the budget that a pruning keeps, so that prunings are rare


class Features:
    """How each block depends on the weights.

    The kernels over space are multiples of C distinct ones, ``kernels``: that of a term c is the
    sum of these times ``multiples[c]``, of which one is not 0.
    """

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

    def of_f(self, view: View, places: Places, B: Array) -> Array:
        """The features of f_t, (q, N)."""
        seen = view.a[self.spatial][:, None] * self.over_space
        phi = (np.swapaxes(self._blocks(places, B), 1, 2) @ seen.T).reshape(len(places), -1)
        levels = np.broadcast_to(view.a[self.shared] * self.levels, (len(places), len(self.shared)))
        return np.hstack([levels, phi])

    def of_blocks(self, places: Places, B: Array) -> Array:
        """The features of each block, (A, q, N)."""
        R, P, A = len(self.shared), len(self.spatial), len(self.owner)
        phi = np.zeros((A, len(places), R + len(B) * P))
        phi[self.shared, :, np.arange(R)] = self.levels[:, None]
        spatial = np.einsum("qcn,pc->pqn", self._blocks(places, B), self.over_space)
        for p, block in enumerate(self.spatial):
            phi[block, :, R + p :: P] = spatial[p]
        return phi

    def distinct(self, places: Places, B: Array) -> Array:
        """The distinct features: 1, and k_c(x, b_j) of each distinct kernel, (q, 1 + C n)."""
        ones = np.ones((len(places), 1))
        return np.hstack([ones, self._blocks(places, B).reshape(len(places), -1)])

    def collapsed(self, weights: Array, view: View, n: int) -> Array:
        """The weights of the distinct features of f_t, (..., 1 + C n), for weights (..., N)."""
        levels = weights[..., : len(self.shared)] @ (view.a[self.shared] * self.levels)
        seen = view.a[self.spatial][:, None] * self.over_space
        spatial = np.swapaxes(self.by_point(weights, n) @ seen, -1, -2)
        flat = spatial.reshape(*levels.shape, n * len(self.kernels))
        return np.concatenate([levels[..., None], flat], axis=-1)

    def _blocks(self, places: Places, B: Array) -> Array:
        """k_c(x, b_j) of each distinct kernel, (q, C, n)."""
        return np.stack([kernel.block(places, B) for kernel in self.kernels], axis=1)

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


class BoxEngine(MarkovEngine):
    """The dictionary tracker over a Box, for sums of Markov terms.

    It is exact until more than ``budget`` distinct points have been visited; with the budget None
    it stays exact, and its cost grows with the points. Beyond the budget, the points with the least
    effect on the posterior are projected onto the others; :meth:`accuracy` estimates the error.
    """

    def __init__(self, prior: Prior, domain: Box, budget: int | None = BUDGET) -> None:
        super().__init__(prior, domain, LEAST_NOISE_IN_A_BOX)
        self._domain, self._features = domain, Features(self._stack, self._model, domain)
        self._budget = self._limit = inf if budget is None else float(budget)
        self._lost: Discarded | None = None  # until the first pruning
        self._B = np.empty((0, domain.dimension))
        shared = len(self._features.shared)
        self._alpha, self._Q = np.zeros(shared), np.zeros((shared, shared))

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
        shared, spatial = self._features.shared, self._features.spatial
        if j is None:
            j, gamma = self._join(place), np.append(gamma, np.zeros(len(spatial)))
        if self._lost is not None:
            self._lost.open(key, place)
        R, P = len(shared), len(spatial)
        gamma[:R] += b[shared]
        gamma[R + j * P : R + (j + 1) * P] += b[spatial]
        self._pending.add(key, gamma, mean, variance, with_others)
        if len(self._B) > self._limit:
            self._prune()

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        noise = self._noise(precision)
        gain, z, density = self._pending.condition(key, y, noise)
        self._correct(key, gain, z, noise)
        self._alpha += gain * z
        self._Q += np.outer(gain, gain)
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

    def _predict_part(
        self, t: float, places: Places, count_open: bool, part: str | None
    ) -> tuple[Array, Array]:
        view, psi = self._stack.view(t, part), self._features.distinct(places, self._B)
        alpha, Q = self._collapsed(view, self._explained(count_open))
        explained = np.einsum("qn,qn->q", psi @ Q, psi)
        variance = np.maximum(self._prior_variance(view, places) - explained, 0.0)
        return self._model.mean_at(places, part) + psi @ alpha, variance

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        view, others = self._stack.view(t, part), places if others is None else others
        psi, (_, Q) = self._features.distinct(places, self._B), self._collapsed(view, self._Q)
        there = psi if others is places else self._features.distinct(others, self._B)
        return self._prior_covariance(view, places, others) - psi @ (Q @ there.T)

    def surface(self, t: float) -> Surface:
        return self._expansion(t, count_open=True)

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        if part == CHOICE:
            return self._expansion(t, count_open).value(places)
        return super().predict(t, places, count_open=count_open, part=part)

    def _expansion(self, t: float, count_open: bool) -> Expansion:
        """The part of f_t that a choice depends on."""
        view, features, n = self._stack.view(t, CHOICE), self._features, len(self._B)
        explained = self._explained(count_open)
        alpha, Q = self._collapsed(view, explained)
        alpha, Q = alpha[1:], Q[1:, 1:]
        if R := len(features.shared):
            shared = self._stack.view(t, SHARED)
            seen = shared.a[features.shared] * features.levels
            weights = explained[:, :R] @ seen
            prior_variance = float(self._prior_variance(shared, self._model.one_place)[0])
            variance = prior_variance - float(weights[:R] @ seen)
            Q = with_shared_known(Q, features.collapsed(weights, view, n)[1:], variance)
        s = view.s @ features.multiples
        return Expansion(self._model.prior, features.kernels, self._B, alpha, Q, s)

    def _collapsed(self, view: View, explained: Array) -> tuple[Array, Array]:
        """The weights of the distinct features of f_t: of its mean, and what is explained."""
        n = len(self._B)
        half = self._features.collapsed(explained, view, n)
        collapsed = self._features.collapsed(half.T, view, n)
        return self._features.collapsed(self._alpha, view, n), collapsed

    def state(self) -> State:
        own = {"limit": np.array(self._limit), "B": self._B, "alpha": self._alpha, "Q": self._Q}
        lost = {} if self._lost is None else under("lost/", self._lost.state())
        return own | lost | super().state()

    def restore(self, state: State) -> None:
        super().restore(state)
        self._limit = float(state["limit"])
        self._B, self._alpha, self._Q = (state[name].copy() for name in ("B", "alpha", "Q"))
        self._lost = None
        if "lost/e" in state:
            self._lost = self._nothing_lost()
            self._lost.restore(part(state, "lost/"), self._B)

    def _seen(self, view: View, places: Places) -> Array:
        """The features phi at places, (q, N)."""
        return self._features.of_f(view, places, self._B)

    def _explained(self, count_open: bool) -> Array:
        if not (count_open and len(self._pending)):
            return self._Q
        told = self._pending.as_if_told(self._model.prior.noise)
        return self._Q + told.T @ told

    def _move(self, blocks: slice, A: Array) -> None:
        T = np.eye(len(self._features.owner))
        T[blocks, blocks] = A

        def moved(weights: Array) -> Array:
            return self._features.moved(weights, len(self._B), T)

        self._alpha = moved(self._alpha)
        self._Q = moved(moved(self._Q).T)  # symmetric
        self._pending.transform(moved)
        if self._lost is not None:
            self._lost.move(T)

    def _find(self, place: Places) -> int | None:
        same = np.flatnonzero((place == self._B).all(axis=1))
        return int(same[0]) if len(same) else None

    def _join(self, place: Places) -> int:
        """Add a point with weights 0."""
        n, P = len(self._B), len(self._features.spatial)
        self._alpha, self._Q = np.pad(self._alpha, (0, P)), np.pad(self._Q, (0, P))
        self._B = np.concatenate([self._B, place])
        self._pending.transform(lambda gammas: np.pad(gammas, [(0, 0), (0, P)]))
        return n

    def _prune(self) -> None:
        """Project the points with the least effect on the posterior onto the others.

        Open evaluations count as observed; otherwise their points would be removed first.
        """
        features = self._features
        owner = features.owner[features.spatial]
        terms = np.unique(owner)
        K = np.array([self._model.kernels[c].block(self._B, self._B) for c in terms])
        K, most = K[np.searchsorted(terms, owner)], int(_SLACK * self._budget)  # (P, n, n)
        Q = features.by_pair(self._explained(count_open=True), len(self._B))
        kept = most_relevant(K, features.by_point(self._alpha, len(self._B)), Q, most, _NEGLIGIBLE)
        self._limit = min(self._budget, 2 * len(kept))
        others = np.setdiff1d(np.arange(len(self._B)), kept)
        W = [projection(block, kept, others) for block in K]

        def projected(weights: Array) -> Array:
            """Weights (..., N) of all points, as those of the kept ones."""
            points = features.by_point(weights, len(kept) + len(others))
            moved = [points[..., others, p] @ block.T for p, block in enumerate(W)]
            new = points[..., kept, :] + np.stack(moved, axis=-1)
            levels = weights[..., : len(features.shared)]
            return np.concatenate([levels, new.reshape(*weights.shape[:-1], -1)], axis=-1)

        lost = self._lost or self._nothing_lost()
        mean, explained = self._blocks_at(lost.Z)
        self._pending.transform(projected)
        self._alpha, self._Q = projected(self._alpha), projected(projected(self._Q).T)  # symmetric
        self._B = self._B[kept]
        mean_left, explained_left = self._blocks_at(lost.Z)
        lost.add(mean_left - mean, explained - explained_left, self._B)
        self._lost = lost

    def _nothing_lost(self) -> Discarded:
        return Discarded(self._features.kernels, self._domain, len(self._features.owner))

    def _blocks_at(self, places: Places) -> tuple[Array, Array]:
        """Mean (q, A) and explained covariance (q, A, A) of the blocks."""
        phi = self._features.of_blocks(places, self._B)
        return (phi @ self._alpha).T, np.einsum("aqn,bqn->qab", phi @ self._Q, phi)

    def _correct(self, key: int, gain: Array, z: float, noise: float) -> None:
        """Let a result correct what was discarded; ``gain`` is its c / s, as weights."""
        lost, features = self._lost, self._features
        place = None if lost is None else lost.close(key)
        if lost is None or place is None:
            return
        view = self._stack.view(self._stack.now)
        root = float(self._seen(view, place)[0] @ gain)  # s - noise / s for a result of now
        s = 0.5 * (root + sqrt(root * root + 4.0 * noise))
        seen, of = np.zeros((len(lost.Z), len(view.a))), features.over_space.argmax(axis=1)
        seen[:, features.spatial] = view.a[features.spatial] * lost.shares(place)[of].T
        c = s * (features.of_blocks(lost.Z, self._B) @ gain).T
        lost.correct(c, seen, s * s, s * root, s * z)
