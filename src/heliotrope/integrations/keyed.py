"""What the adapters share: an optimizer of another project's parameters, with constraints.

Where constraints are likely to be satisfied now follows from a belief about each of them.

Symbols: X n candidates, as configurations or points; p (n,) their probability of satisfying every
constraint, which the model takes as independent; a value of at most 0 satisfies a constraint.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import heliotrope as ht
from heliotrope.directions import Direction, sign_of
from heliotrope.errors import InputError, located
from heliotrope.precision import Noise
from heliotrope.spaces import Parameter
from heliotrope.validation import Array, short_repr

_LARGEST = 1e45  # an optimizer refuses larger values
_LIKELY = 0.5  # least probability of a point that is chosen, if there is such a point
_WIDTH = 2.0  # standard deviations from the mean
_CANDIDATES = 1_000  # random points of a Box
_NEARBY = 20  # further points around each of the latest feasible results
_CENTRES = 10
_SPREAD = 0.05  # of the nearby points, in the unit cube

Candidates: TypeAlias = Array | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Listed:
    """A list of any values of another project; in an ordered list neighbours are alike.

    Examples
    --------
    >>> Listed([None, "relu"]).enter("relu")
    1
    """

    values: Sequence[Any]
    ordered: bool = False

    @property
    def parameter(self) -> Parameter:
        """The parameter of the positions."""
        count = len(self.values)
        return ht.Integer(0, count - 1) if self.ordered else ht.Categorical(range(count))

    def enter(self, value: Any) -> int:
        """Return the position of a value, or raise an InputError."""
        for position, listed in enumerate(self.values):
            is_equal = listed == value and isinstance(listed, bool) == isinstance(value, bool)
            if listed is value or is_equal:
                return position
        raise InputError(f"one of {short_repr(list(self.values))}", short_repr(value))

    def leave(self, position: int) -> Any:
        """Return the value at a position."""
        return self.values[position]


ForeignParameter: TypeAlias = Parameter | Listed
"""A parameter of another project: with the values of a search space, or with any others."""


class KeyedOptimizer:
    """Asks for configurations and takes their results in any order, with ``ht.auto``.

    The caller names each evaluation by a key. Times never decrease: an evaluation that starts
    before the latest time counts from that time. With constraints it prefers configurations that
    are likely to satisfy all of them now.

    Examples
    --------
    >>> keyed = KeyedOptimizer({"x": ht.Real(0, 1)}, "minimize")
    >>> x = keyed.ask(key=0)["x"]
    >>> keyed.tell(0, (x - 0.3) ** 2)
    >>> keyed.rank([{"x": x}, {"x": 1.0}])
    [0, 1]
    """

    def __init__(
        self,
        parameters: Mapping[str, ForeignParameter],
        direction: Direction = "maximize",
        seed: int = 0,
    ) -> None:
        self._listed = {name: p for name, p in parameters.items() if isinstance(p, Listed)}
        space = ht.SearchSpace(
            {name: p.parameter if isinstance(p, Listed) else p for name, p in parameters.items()}
        )
        self._names = tuple(parameters)
        self._optimizer = ht.Optimizer(space, ht.auto(space), seed, direction=direction)
        self._feasibility = Feasibility(space, seed)
        self._open: dict[Hashable, tuple[ht.Suggestion, dict[str, Any]]] = {}

    def is_open(self, key: Hashable) -> bool:
        """Whether the evaluation with this key waits for its result."""
        return key in self._open

    def params(self, key: Hashable) -> dict[str, Any]:
        """Return the configuration of an open evaluation."""
        return self._open[key][1]

    def ask(self, key: Hashable, t: float | None = None) -> dict[str, Any]:
        """Open an evaluation and return its configuration.

        The default time is one step after the latest.
        """
        proposed = self._optimizer.propose(self._time(t))
        chosen = self._feasibility.choose(self._optimizer, proposed)
        values = {name: listed.leave(chosen[name]) for name, listed in self._listed.items()}
        params = {**chosen, **values}
        self.begin(key, params, proposed.t)
        return params

    def begin(self, key: Hashable, params: Mapping[str, Any], t: float | None = None) -> None:
        """Open an evaluation of a given configuration, unless it is open already.

        If it is open with another configuration, it moves to this one.
        """
        chosen = {name: params.get(name) for name in self._names}
        if key in self._open and self._open[key][1] == chosen:
            return
        entered = self._enter(params)
        self._optimizer.placed(entered, self._time(t))  # raises an error before anything changes
        self.cancel(key, avoid=False)
        suggestion = self._optimizer.begin(entered, self._time(t))
        self._feasibility.begin(suggestion)
        self._open[key] = suggestion, chosen

    def tell(
        self,
        key: Hashable,
        value: float,
        constraints: Mapping[str, float] | None = None,
        std: float | None = None,
    ) -> None:
        """Take the result of an open evaluation, and its standard error if it is known.

        A constraint is satisfied by a value of at most 0. An infinite value counts as the highest
        or lowest of the finite ones. NaN, and a first value that is infinite, count as no result.
        """
        suggestion, _ = self._open.pop(key)
        finite = self._finite(value)
        if finite is None:
            self._optimizer.cancel(suggestion)
        else:
            noise: Noise = {} if std is None else {"std": std}
            self._optimizer.tell(suggestion, finite, **noise)
        self._feasibility.tell(suggestion, constraints or {})

    def cancel(self, key: Hashable, *, avoid: bool = True) -> None:
        """Close an open evaluation without a result; its setting is avoided for a while."""
        if key in self._open:
            suggestion, _ = self._open.pop(key)
            self._optimizer.cancel(suggestion, avoid=avoid)
            self._feasibility.cancel(suggestion)

    def check(self, params: Mapping[str, Any]) -> None:
        """Raise an InputError for a configuration that is not in the space."""
        self._optimizer.placed(self._enter(params))

    def rank(self, configurations: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the numbers of configurations, the one believed best now first.

        Those that are likely to satisfy the constraints come before the others.
        """
        X = [self._enter(params) for params in configurations]
        gain = sign_of(self._optimizer.direction) * self._optimizer.belief(X=X).mean
        unlikely = ~self._feasibility.is_likely(self._optimizer.latest, X)
        order: list[int] = np.lexsort([-gain, unlikely]).tolist()
        return order

    def _enter(self, params: Mapping[str, Any]) -> dict[str, Any]:
        entered = {}
        for name in self._names:
            if name not in params:
                raise InputError(f"a value of {name!r}", "none", field=name)
            with located(name):
                listed, value = self._listed.get(name), params[name]
                entered[name] = value if listed is None else listed.enter(value)
        return entered

    def _time(self, t: float | None) -> float | None:
        return None if t is None else max(t, self._optimizer.latest)

    def _finite(self, value: float) -> float | None:
        told = self._optimizer.history.y
        if isfinite(value) and abs(value) <= _LARGEST:
            return value
        if isnan(value) or not len(told):
            return None
        return float(told.max() if value > 0.0 else told.min())


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
        """Take a value; NaN, an infinite one and one that is too large count as none."""
        if not abs(value) <= _LARGEST:
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
