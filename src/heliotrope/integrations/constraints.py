"""Where constraints are likely to be satisfied now, by a belief about each of them.

Symbols: X n candidates, as configurations or points; p (n,) their probability of satisfying every
constraint, which the model takes as independent; a value of at most 0 satisfies a constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import heliotrope as ht
from heliotrope.directions import sign_of
from heliotrope.validation import Array

_LIKELY = 0.5  # least probability of a point that is chosen, if there is such a point
_WIDTH = 2.0  # standard deviations from the mean
_CANDIDATES = 1_000  # random points of a Box
_NEARBY = 20  # further points around each of the latest feasible results
_CENTRES = 10
_SPREAD = 0.05  # of the nearby points, in the unit cube

Candidates: TypeAlias = Array | Sequence[Mapping[str, Any]]


class Feasibility:
    """Beliefs about constraints by name; the first result with a name adds it."""

    def __init__(self, space: ht.SearchSpace, seed: int) -> None:
        self._space, self._seed = space, seed
        self._constraints: dict[str, _Constraint] = {}
        self._feasible: list[Array] = []  # the latest points that satisfied all constraints

    def begin(self, suggestion: ht.Suggestion) -> None:
        """Open an evaluation."""
        for constraint in self._constraints.values():
            constraint.begin(suggestion)

    def tell(self, suggestion: ht.Suggestion, values: Mapping[str, float]) -> None:
        """Take the values of the constraints of an evaluation."""
        for name in values:
            if name not in self._constraints:
                self._constraints[name] = _Constraint(self._space, self._seed)
        for name, constraint in self._constraints.items():
            constraint.tell(suggestion, values.get(name, np.nan))
        if values and max(values.values()) <= 0.0:
            self._feasible = [*self._feasible, suggestion.x][-_CENTRES:]

    def cancel(self, suggestion: ht.Suggestion) -> None:
        """Close an evaluation without a result."""
        for constraint in self._constraints.values():
            constraint.cancel(suggestion)

    def choose(self, objective: ht.Optimizer, proposed: ht.Suggestion) -> dict[str, Any]:
        """Return the proposal if it is likely feasible, or the best likely feasible point."""
        if self.is_likely(proposed.t, proposed.x[None])[0]:
            return proposed.params
        return self._space.params(self._search(objective, proposed.t))

    def is_likely(self, t: float, X: Candidates) -> NDArray[np.bool_]:
        """Whether candidates are likely to satisfy all constraints, (n,)."""
        return self._probability(t, X) >= _LIKELY

    def _search(self, objective: ht.Optimizer, t: float) -> Array:
        """Return the best confidence bound among likely feasible points; if none, the likeliest."""
        X = self._candidates(objective.asked)
        p, belief = self._probability(t, X), objective.belief(t, X)
        bound = sign_of(objective.direction) * belief.mean + _WIDTH * belief.std
        likely = np.where(p >= _LIKELY, bound, -np.inf)
        return np.asarray(X[int(likely.argmax() if p.max() >= _LIKELY else p.argmax())])

    def _probability(self, t: float, X: Candidates) -> Array:
        p = np.ones(len(X))
        for constraint in self._constraints.values():
            p *= constraint.probability(t, X)
        return p

    def _candidates(self, asked: int) -> Array:
        """All points of a Finite domain; of a Box random ones and neighbours of feasible ones."""
        domain = self._space.domain
        if isinstance(domain, ht.Finite):
            return domain.points
        rng, d = np.random.default_rng([self._seed, asked]), domain.dimension
        centres = np.repeat(np.reshape(self._feasible, (-1, d)), _NEARBY, axis=0)
        nearby = np.clip(centres + _SPREAD * rng.standard_normal(centres.shape), 0.0, 1.0)
        return self._space.snap(np.concatenate([rng.random((_CANDIDATES, d)), nearby]))


class _Constraint:
    """The belief about one constraint."""

    def __init__(self, space: ht.SearchSpace, seed: int) -> None:
        self._optimizer = ht.Optimizer(space, ht.auto(space), seed)
        self._open: dict[int, ht.Suggestion] = {}  # by the id of the objective's suggestion

    def begin(self, suggestion: ht.Suggestion) -> None:
        t = max(suggestion.t, self._optimizer.latest)
        self._open[suggestion.id] = self._optimizer.begin(suggestion.x, t)

    def tell(self, suggestion: ht.Suggestion, value: float) -> None:
        """Take a value; an infinite one and NaN count as none."""
        if not isfinite(value):
            self.cancel(suggestion)
            return
        if suggestion.id not in self._open:
            self.begin(suggestion)
        self._optimizer.tell(self._open.pop(suggestion.id), value)

    def cancel(self, suggestion: ht.Suggestion) -> None:
        if suggestion.id in self._open:
            self._optimizer.cancel(self._open.pop(suggestion.id))

    def probability(self, t: float, X: Candidates) -> Array:
        """The probability (n,) of a value of at most 0."""
        from scipy.special import ndtr

        if not len(self._optimizer.history):
            return np.ones(len(X))
        belief = self._optimizer.belief(max(t, self._optimizer.latest), X, count_open=False)
        return np.asarray(ndtr(-belief.mean / np.maximum(belief.std, 1e-300)))
