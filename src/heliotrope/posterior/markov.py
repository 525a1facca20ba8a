"""The shared part of engines for Markov terms: the stacked state and the open evaluations.

Term c has p_c blocks u^c, functions of x, and f_t = sum_c h_c(t) . u^c_t. Engines store
what the observations explain of u^c at its own reference time ref_c. For u^c_t it is multiplied by
A_c(t - ref_c), so the stored arrays do not change as time passes. Once A has become small, the term
is moved to a new reference time.

An evaluation of f_s(x), opened at time s, stays in the model as one more random variable g until
its value arrives. Its covariance with the current state is updated, so conditioning on it later
gives the same result as conditioning at time s. This costs one vector per open evaluation and
step, and no replay.

Symbols
-------
C, P  terms, blocks in all      a (P,)  A(t - ref)^T h, observation vector of f_t
b (P,)  A(t - ref)^{-1} S h, prior covariance of u_t and f_t, moved back to ref
s (C,)  h . S h, the prior variance of each term as a multiple of its kernel's
o  open evaluations        N  length of the engine's state u_t
C  (o, N) posterior covariance of each g with the state, c being one row of it
m  (o,)   posterior mean of each g
G  (o, o) posterior covariance of all g with each other
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from heliotrope.domains import Domain, Places
from heliotrope.errors import InputError, TimeError
from heliotrope.linalg import jittered_cholesky, one_thread, solve_lower_in_rows
from heliotrope.posterior.spacetime import PredictsParts
from heliotrope.priors import LEAST_NOISE, Prior
from heliotrope.serialization.codec import State, Stored
from heliotrope.terms import MarkovTerm
from heliotrope.validation import Array, Indices

_COUNTED = 100  # open evaluations that shrink the variance
_NONE = np.empty((0, 0)), np.empty(0), np.empty((0, 0))  # C, m and G of no evaluation

_STALE = 3.0  # rate times age at which a term is moved to a new reference time
_CACHED = 8  # views


class View(NamedTuple):
    """A part of f_t: its observation vector a (P,) and prior variance factors s (C,)."""

    a: Array
    s: Array


class StackedTerms(Stored):
    """The terms of a prior, their reference times, and the current time."""

    _stored = ("now", "start", "_refs")

    def __init__(self, prior: Prior) -> None:
        self._prior, self.terms = prior, markov_terms(prior)
        self.owner: Indices = np.repeat(np.arange(len(self.terms)), [t.order for t in self.terms])
        ends = np.cumsum([0, *(term.order for term in self.terms)]).tolist()
        self.slices = [slice(*pair) for pair in pairwise(ends)]
        self.now = self.start = -inf
        self._refs: list[float] = [-inf] * len(self.terms)
        self._views: dict[tuple[float, str | None], View] = {}

    def view(self, t: float, part: str | None = None) -> View:
        """Return the view of a part of f_t; the latest views are cached."""
        if t < self.now:
            raise TimeError(
                f"a time of at least {self.now:g}, the latest seen",
                f"{t:g}",
                "Queries about the past need engine='dense'.",
            )
        view = self._views.get((t, part)) if isinstance(part, str | None) else None
        if view is None:
            chosen = self._prior.selects(part)
            if len(self._views) == _CACHED:
                self._views.clear()
            view = self._views[t, part] = self._view(t, chosen)
        return view

    def gain(self, t: float) -> Array:
        """The vector b (P,), at a time at which no term is stale."""
        start, ages = self._since(t)
        gains = [term.gain_before(t, ages[c], start) for c, term in enumerate(self.terms)]
        return gains[0] if len(gains) == 1 else np.concatenate(gains)

    def advance(self, t: float, move: Callable[[slice, Array], None]) -> None:
        """Go to time t; ``move`` multiplies the blocks of each stale term by its transition."""
        first, (_, ages) = self.now == -inf, self._since(t)
        for c, term in enumerate(self.terms):
            if first:
                self._refs[c] = t
            elif term.rate * ages[c] > _STALE:
                self._move(c, t, move)
        self.now, self.start = t, t if first else self.start

    def refresh(self, move: Callable[[slice, Array], None]) -> None:
        """Move every term to the present."""
        for c, term in enumerate(self.terms):
            if term.rate > 0.0 and self._refs[c] < self.now:
                self._move(c, self.now, move)

    def largest_share(self, since: float) -> float:
        """The largest share of a state at an earlier time that any term still has, at most 1."""
        if since == -inf:
            return 1.0
        norms = [np.linalg.norm(term.transition(self.now - since), 2) for term in self.terms]
        return min(1.0, float(max(norms)))

    def restore(self, state: State) -> None:
        super().restore(state)
        self._views.clear()

    def _view(self, t: float, chosen: Sequence[bool]) -> View:
        start, ages = self._since(t)
        if len(chosen) == 1:
            (term,) = self.terms
            return View(term.seen_after(t, ages[0]), np.array([term.scale(t, start)]))
        a, s = np.zeros(len(self.owner)), np.zeros(len(self.terms))
        for c, term in enumerate(self.terms):
            if chosen[c]:
                a[self.slices[c]] = term.seen_after(t, ages[c])
                s[c] = term.scale(t, start)
        return View(a, s)

    def _move(self, c: int, t: float, move: Callable[[slice, Array], None]) -> None:
        move(self.slices[c], self.terms[c].transition(t - self._refs[c]))
        self._refs[c] = t
        self._views.clear()

    def _since(self, t: float) -> tuple[float, list[float]]:
        """The first time, and how long ago each term's reference time is; at first t, and 0."""
        if self.now == -inf:
            return t, [0.0] * len(self.terms)
        return self.start, [t - ref for ref in self._refs]


def markov_terms(prior: Prior) -> list[MarkovTerm]:
    """Return the terms of a prior, or raise an error if one is not Markov."""
    terms = [term for term in prior.terms if isinstance(term, MarkovTerm)]
    if len(terms) < len(prior.terms):
        raise InputError(
            "a Static, Forgetting or Wiener time, or a sum of Markov terms, for this engine",
            "a scikit-learn kernel over time",
            "Use engine='dense'.",
        )
    return terms


class MarkovEngine(PredictsParts):
    """The clock and the open evaluations of an engine for sums of Markov terms."""

    _stored: tuple[str, ...] = ("_stack", "_pending", "log_likelihood")

    def __init__(self, prior: Prior, domain: Domain, least_noise: float = LEAST_NOISE) -> None:
        super().__init__(prior, domain, least_noise)
        self._stack, self._pending = StackedTerms(prior), PendingEvaluations()
        self.log_likelihood = 0.0

    def cancel(self, key: int) -> None:
        self._pending.remove(key)

    @abstractmethod
    def _move(self, blocks: slice, A: Array) -> None:
        """Multiply the stored values of some blocks by A (p, p)."""

    def _prior_variance(self, view: View, places: Places) -> Array:
        same = self._model.variances
        if same is not None:
            return np.full(len(places), float(np.sum(view.s * same)))
        diagonals = [
            s * k.diagonal(places) for s, k in zip(view.s, self._model.kernels, strict=True)
        ]
        return np.asarray(np.sum(diagonals, axis=0))

    def _prior_covariance(self, view: View, places: Places, others: Places) -> Array:
        blocks = [
            s * kernel.block(places, others)
            for s, kernel in zip(view.s, self._model.kernels, strict=True)
            if s
        ]
        return np.asarray(np.sum(blocks, axis=0))


class PendingEvaluations(Stored):
    """The open evaluations, oldest first, and their covariance with an engine's state."""

    _stored = ("_keys", "_C", "_m", "_G")

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._C, self._m, self._G = _NONE
        self._room = np.empty((0, 0))
        self._told: tuple[float, Array] | None = None  # noise, and the rows H for it

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: int, c: Array, mean: float, variance: float, with_others: Array) -> None:
        """Open g with its covariance c (N,) with the state and with_others (o,) with the rest."""
        o = len(self)
        G = self._with_room(o + 1)
        G[o, :o], G[:o, o], G[o, o] = with_others, with_others, variance
        self._G, self._m = G, np.append(self._m, mean)
        self._C = np.concatenate([self._C, c[None]]) if o else c[None]
        self._keys.append(key)
        self._told = None

    def _with_room(self, o: int) -> Array:
        """G as the corner of o rows of a larger array, so that it is rarely copied."""
        room = self._room
        if self._G.base is not room or len(room) < o:
            room = np.empty((2 * o, 2 * o))
            room[: o - 1, : o - 1] = self._G
            self._room = room
        return room[:o, :o]

    def covariances(self, see: Callable[[Array], Array]) -> Array:
        """Covariance (o,) of each g with a linear function ``see`` of the state."""
        return see(self._C) if self._keys else self._m

    def transform(self, change: Callable[[Array], Array]) -> None:
        """Apply a linear change of the state's coordinates, the columns of C."""
        if self._keys:
            self._C, self._told = change(self._C), None

    def condition(self, key: int, y: float, noise: float) -> tuple[Array, float, float]:
        """Observe g + noise = y; return the gain row u, the innovation z and the log density.

        s^2 = G_jj + sigma^2;  u = c_j / s;  z = (y - m_j) / s. The state's mean gains u z, its
        covariance loses u u^T, and the other open evaluations are conditioned likewise.
        """
        j = self._keys.index(key)
        s = sqrt(self._G[j, j] + noise)
        u, z = self._C[j] / s, (y - float(self._m[j])) / s
        if len(self) > 1:
            shares = self._G[j] / s
            self._G -= shares[:, None] * shares
            self._m += shares * z
            self._C -= shares[:, None] * u
        self._delete(j)
        return u, z, -0.5 * (z * z + log(2.0 * pi)) - log(s)

    def remove(self, key: int) -> None:
        self._delete(self._keys.index(key))

    def as_if_told(self, noise: float) -> Array:
        """Rows H (o, N): observing the open evaluations would explain the covariance H^T H.

        Of very many, only the latest are counted: the variance is then a little larger, and the
        cost of a choice does not grow with their number. A choice reads the rows several times.
        """
        if self._told is None or self._told[0] != noise:
            C, G = self._C[-_COUNTED:], self._G[-_COUNTED:, -_COUNTED:]
            with one_thread():
                root = jittered_cholesky(G + noise * np.eye(len(G)), jitter=0.0)
                self._told = noise, solve_lower_in_rows(root, C)
        return self._told[1]

    def restore(self, state: State) -> None:
        super().restore(state)
        if any(len(array) != len(self) for array in (self._C, self._m, self._G)):
            raise InputError(f"arrays of {len(self)} open evaluations", "another length")
        self._told = None

    def _delete(self, j: int) -> None:
        del self._keys[j]
        self._told = None
        if not self._keys:
            self._C, self._m, self._G = _NONE
            return
        C, m, G = self._C, self._m, self._G
        for array in (C, m, G, G.T):  # the later ones move up
            array[j:-1] = array[j + 1 :]
        self._C, self._m, self._G = C[:-1], m[:-1], G[:-1, :-1]
