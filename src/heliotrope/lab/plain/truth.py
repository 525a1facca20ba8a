"""The true values of a plain world, the best of them, and what random choices lose.

Symbols: U (n, d) points of the unit cube, a context's coordinates after those of the choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliotrope.lab.plain.drifts import DRIFTS
from heliotrope.lab.plain.results import RESULTS, Told, in_unit
from heliotrope.lab.plain.shapes import SHAPES
from heliotrope.lab.plain.world import PlainWorld
from heliotrope.spaces import Options, SearchSpace
from heliotrope.validation import Array

_CANDIDATES = 512  # random choices among which the best is looked for, beside the place itself
_CONTEXTS = 5  # over which the function is standardized
_HILL = 0.15  # width of the second hill
_KEPT = 0.6  # share of all choices that keep the limit

LIMITED = "cost"
"""The metric with a limit, of worlds that have one."""


class Truth:
    """A world's function, its results and its regret."""

    def __init__(self, world: PlainWorld) -> None:
        self.world, self._rng = world, np.random.default_rng([world.seed, 1])
        self._shape, self._drift = SHAPES[world.shape], DRIFTS[world.drift]
        self.results = RESULTS[world.results]
        self.candidates = _candidates(world.space, self._rng)
        self._width = self.candidates.shape[1]
        contexts = 0 if world.context is None else world.context.cube.dimension
        self._place = self._rng.uniform(0.15, 0.85, self._width + contexts)
        self._hill = self.candidates[self._rng.integers(len(self.candidates))]
        self._forbidden = self._rng.uniform(0.0, 1.0, self._width)
        values = self._first_values()
        self._mean, self._deviation = float(values.mean()), float(values.std(axis=1).mean()) or 1.0
        self.limit = float(np.quantile(self.costs(self.candidates), _KEPT))
        self.deviation = float(self._good(self._standard(values)).std())

    def point(self, choice: Any) -> Array:
        """Coordinates of parameters, or of an option."""
        return encoded(self.world.space, choice)

    def context(self, step: int) -> Any:
        """The context of a step; None without contexts."""
        if self.world.context is None:
            return None
        rng = np.random.default_rng([self.world.seed, 2, step])
        return _params(self.world.context, rng.random(self.world.context.cube.dimension))

    def outside(self, context: Any) -> Array:
        """Coordinates of a context."""
        if self.world.context is None:
            return np.zeros(0)
        return encoded(self.world.context, context)

    def values(self, U: Array, step: float, context: Any = None) -> Array:
        """Mean results, with the opposite sign if low ones are good; in deviations if in a unit."""
        outside = self.outside(context)
        place = self._drift.place(self._place, step)
        v = self._standard(self._shape(_joined(U, outside), place)) + self._drift.level(step)
        if self._drift.hill is not None:
            squares = np.sum((U - self._hill) ** 2, axis=1)
            v = v + self._drift.hill(step) * np.exp(-squares / (2.0 * _HILL**2))
        return self._good(v)

    def costs(self, U: Array) -> Array:
        """Values of the metric with a limit."""
        return np.asarray(np.abs(U - self._forbidden).sum(axis=1))

    def allowed(self, step: float, context: Any = None) -> Array:
        """The choices among which the best is sought, (m, d): those that keep the limit."""
        U = np.vstack([self.candidates, self._likely(step, context)])
        return U[self.costs(U) <= self.limit] if self.world.limited else U

    @property
    def told_in(self) -> tuple[float, float]:
        """The scale and the offset in which mean results are told."""
        if self.results.in_units:
            return self.world.sign * self.world.unit, self.world.offset
        return self.world.sign, 0.0

    @property
    def baseline(self) -> Any:
        """The choice that is farthest from the limit."""
        space, index = self.world.space, int(np.argmin(self.costs(self.candidates)))
        if isinstance(space, Options):
            return space.name(index)
        return _params(space, self.candidates[index])

    def regret(self, choice: Any, step: float, context: Any = None) -> tuple[float, float]:
        """What a choice loses, and what a random one loses on average."""
        values = self.values(self.allowed(step, context), step, context)
        own = float(self.values(self.point(choice)[None], step, context)[0])
        best = float(values.max())
        return max(best - own, 0.0), best - float(values.mean())

    def range(self, steps: int) -> float:
        """The range of the values over places, at the beginning, in the middle and at the end."""
        times = (0, steps // 2, steps - 1)
        tables = [
            self.values(self.allowed(t, context), t, context)
            for t, context in ((t, self.context(t)) for t in times)
        ]
        return max(float(np.ptp(values)) for values in tables)

    def measure(self, choice: Any, step: float, context: Any, rng: np.random.Generator) -> Told:
        """A result, as the arguments of ``tell``."""
        U, world = self.point(choice)[None], self.world
        mean, (scale, offset) = float(self.values(U, step, context)[0]), self.told_in
        if self.results.in_units:
            told = in_unit(self.results.draw(mean, world.noise, rng), scale, offset)
        else:
            told = self.results.draw(scale * mean, world.noise, rng)
        if not world.limited:
            return told
        return {"value": {"gain": told["value"], LIMITED: float(self.costs(U)[0])}}

    def noise(self) -> float:
        """The usual deviation of a result, in deviations of the mean results."""
        if self.results.noise is None:
            return self.world.noise
        means = self.values(self.candidates, 0.0, self.context(0))
        return float(self.results.noise(np.abs(means)).mean()) / (self.deviation or 1.0)

    def _first_values(self) -> Array:
        """Values of the shape in a few contexts, (contexts, candidates)."""
        outsides = [self.outside(self.context(step)) for step in range(_CONTEXTS)]
        joined = [_joined(self.candidates, outside) for outside in outsides]
        return np.array([self._shape(U, self._place) for U in joined])

    def _good(self, v: Array) -> Array:
        """Mean results for standardized values, with the opposite sign if low ones are good."""
        sign = 1.0 if self.results.in_units else self.world.sign
        return sign * self.results.mean(sign * v)

    def _standard(self, values: Array) -> Array:
        return (values - self._mean) / self._deviation

    def _likely(self, step: float, context: Any) -> Array:
        """Places that may be better than all candidates."""
        if isinstance(self.world.space, Options):
            return self.candidates[:0]
        outside = self.outside(context)
        place = self._drift.place(self._place, step)[: self._width] + _shift(outside)
        corner = (place > 0.5).astype(float)
        inside = np.clip([place, corner, self._hill], 0.0, 1.0)
        return self.world.space.snapped(inside)


def _shift(outside: Array) -> float:
    """How far a context moves the best choice."""
    return 0.3 * (float(outside.mean()) - 0.5) if outside.size else 0.0


def _joined(U: Array, outside: Array) -> Array:
    """Points of choices, moved by the context, with its coordinates."""
    return np.hstack([U - _shift(outside), np.tile(outside, (len(U), 1))])


def encoded(space: SearchSpace | Options, choice: Any) -> Array:
    """Coordinates of parameters, or of an option."""
    if isinstance(space, Options):
        return np.asarray(space.domain.points[space.index(choice)])
    return space.point(choice)


def chosen(space: SearchSpace | Options, rng: np.random.Generator) -> Any:
    """Random parameters, or a random option."""
    if isinstance(space, Options):
        return space.name(int(rng.integers(len(space.names))))
    return _params(space, rng.random(space.cube.dimension))


def nearby(
    space: SearchSpace | Options, choice: Any, distance: float, rng: np.random.Generator
) -> Any:
    """Parameters close to others; of options, the same one."""
    if isinstance(space, Options):
        return choice
    point = space.point(choice) + distance * rng.standard_normal(space.cube.dimension)
    return _params(space, np.clip(point, 0.0, 1.0))


def _params(space: SearchSpace, point: Array) -> Any:
    return space.decoded(space.snapped(point[None])[0])


def _candidates(space: SearchSpace | Options, rng: np.random.Generator) -> Array:
    if isinstance(space, Options):
        return np.asarray(space.domain.points)
    return space.snapped(rng.random((_CANDIDATES, space.cube.dimension)))
