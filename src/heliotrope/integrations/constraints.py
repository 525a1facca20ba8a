"""Where constraints are likely to be satisfied now, by a belief about each of them.

Symbols: X (n, d) candidates; p (n,) their probability of satisfying every constraint, which the
model takes as independent; a value of at most 0 satisfies a constraint.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np
from numpy.typing import NDArray

import heliotrope as ht
from heliotrope.domains import Domain
from heliotrope.validation import Array

_LIKELY = 0.5  # least probability of a point that is chosen, if there is such a point
_WIDTH = 2.0  # standard deviations above the mean
_CANDIDATES = 1_000  # random points of a Box
_NEARBY = 20  # further points around each of the best feasible results
_CENTRES = 10
_SPREAD = 0.05  # of the nearby points, as a share of the box


class Feasibility:
    """Beliefs about constraints by name; the first result with a name adds it."""

    def __init__(self, domain: Domain, seed: int) -> None:
        self._domain, self._seed = domain, seed
        self._constraints: dict[str, _Constraint] = {}
        self._feasible: list[tuple[float, ...]] = []  # points that satisfied all constraints

    def begin(self, suggestion: ht.Suggestion) -> None:
        """Open an evaluation."""
        for constraint in self._constraints.values():
            constraint.begin(suggestion)

    def tell(self, suggestion: ht.Suggestion, values: Mapping[str, float]) -> None:
        """Take the values of the constraints of an evaluation."""
        for name, value in values.items():
            if name not in self._constraints:
                self._constraints[name] = _Constraint(self._domain, self._seed)
            if isfinite(value):
                self._constraints[name].tell(suggestion, value)
            else:
                self._constraints[name].cancel(suggestion)
        if values and max(values.values()) <= 0.0:
            self._feasible.append(tuple(suggestion.x.tolist()))

    def cancel(self, suggestion: ht.Suggestion) -> None:
        """Close an evaluation without a result."""
        for constraint in self._constraints.values():
            constraint.cancel(suggestion)

    def choose(self, objective: ht.Optimizer, proposed: ht.Suggestion) -> Array:
        """Return the proposed point if it is likely feasible, or the best likely feasible one."""
        if self.is_likely(proposed.t, proposed.x[None])[0]:
            return proposed.x
        return self._search(objective, proposed.t)

    def is_likely(self, t: float, X: Array) -> NDArray[np.bool_]:
        """Whether points (n, d) are likely to satisfy all constraints, (n,)."""
        return self._probability(t, X) >= _LIKELY

    def _search(self, objective: ht.Optimizer, t: float) -> Array:
        """Return the highest upper bound among likely feasible points; if none, the likeliest."""
        X = self._candidates(objective.asked)
        p = self._probability(t, X)
        belief = objective.belief(t, X)
        bound = np.where(p >= _LIKELY, belief.mean + _WIDTH * belief.std, -np.inf)
        return np.asarray(X[int(bound.argmax() if p.max() >= _LIKELY else p.argmax())])

    def _probability(self, t: float, X: Array) -> Array:
        p = np.ones(len(X))
        for constraint in self._constraints.values():
            p *= constraint.probability(t, X)
        return p

    def _candidates(self, asked: int) -> Array:
        """All points of a Finite domain; of a Box random ones and neighbours of feasible ones."""
        if isinstance(self._domain, ht.Finite):
            return self._domain.points
        rng, d = np.random.default_rng([self._seed, asked]), self._domain.dimension
        centres = np.repeat(np.array(self._feasible[-_CENTRES:]).reshape(-1, d), _NEARBY, axis=0)
        nearby = self._domain.unit(centres) + _SPREAD * rng.standard_normal(centres.shape)
        unit = np.concatenate([rng.random((_CANDIDATES, d)), np.clip(nearby, 0.0, 1.0)])
        return self._domain.snap(self._domain.scaled(unit))


class _Constraint:
    """The belief about one constraint."""

    def __init__(self, domain: Domain, seed: int) -> None:
        self._optimizer = ht.Optimizer(domain, ht.auto(domain), seed)
        self._open: dict[int, ht.Suggestion] = {}  # by the id of the objective's suggestion

    def begin(self, suggestion: ht.Suggestion) -> None:
        t = max(suggestion.t, self._optimizer.latest)
        self._open[suggestion.id] = self._optimizer.begin(suggestion.x, t)

    def tell(self, suggestion: ht.Suggestion, value: float) -> None:
        if suggestion.id not in self._open:
            self.begin(suggestion)
        self._optimizer.tell(self._open.pop(suggestion.id), value)

    def cancel(self, suggestion: ht.Suggestion) -> None:
        if suggestion.id in self._open:
            self._optimizer.cancel(self._open.pop(suggestion.id))

    def probability(self, t: float, X: Array) -> Array:
        """The probability (n,) of a value of at most 0."""
        from scipy.special import ndtr

        if not len(self._optimizer.history):
            return np.ones(len(X))
        belief = self._optimizer.belief(max(t, self._optimizer.latest), X, count_open=False)
        return np.asarray(ndtr(-belief.mean / np.maximum(belief.std, 1e-300)))
