"""The belief at one time, in one context, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heliotrope.optimizer import Optimizer
from heliotrope.policies import Best
from heliotrope.spaces import Categorical, Options, Real, SearchSpace
from heliotrope.study.confidence import confidence
from heliotrope.study.config import StudyConfig
from heliotrope.validation import Array, Json

_LINE, _SIDE, _SLICE = 101, 41, 41  # points of a band, of a side of a map, of a slice


@dataclass(frozen=True, eq=False)
class BeliefView:
    """The belief of an optimizer at a time, in a context given by its coordinates."""

    config: StudyConfig
    optimizer: Optimizer
    t: float
    context: Array | None = None

    def best(self) -> Json:
        """The best point with its mean and standard deviation."""
        return self._describe(self._best())

    def best_with_confidence(self, variance: float) -> Json:
        """The same with the confidence in it, given the variance of the values."""
        best = self._best()
        known = confidence(self.config, self.optimizer, best, variance, self.context)
        return {**self._describe(best), **known}

    def belief(self) -> Json:
        """The best, and the belief about all options or along the parameters."""
        best = self.best()
        if isinstance(self.config.space, Options):
            return {"best": best, **self._options(self.config.space)}
        return {"best": best, **self._configurations(self.config.space, best["params"])}

    def _best(self) -> Best:
        return self.optimizer.best(self.t, context=self.context)

    def _describe(self, best: Best) -> Json:
        label = self.config.adapter.describe(best.x if best.index is None else best.index)
        return {"t": best.t, **label, "mean": self.config.sign * best.mean, "std": best.std}

    def _options(self, options: Options) -> Json:
        mean, std = self._at(None)
        rows = zip(options.names, mean.tolist(), std.tolist(), strict=True)
        shown = [{"option": name, "mean": m, "std": s} for name, m, s in rows]
        return {"view": "options", "options": shown}

    def _configurations(self, space: SearchSpace, best: Json) -> Json:
        varying = [name for name, one in space.parameters.items() if one.count != 1]
        numeric = all(not isinstance(space.parameters[name], Categorical) for name in varying)
        if len(varying) == 1 and numeric:
            return {"view": "band", **self._band(space, best, varying[0], _LINE)}
        if len(varying) == 2 and numeric:
            return {"view": "map", **self._map(space, best, varying)}
        slices = [self._band(space, best, name, _SLICE) for name in varying]
        return {"view": "slices", "slices": slices}

    def _band(self, space: SearchSpace, best: Json, name: str, count: int) -> Json:
        """The belief along one parameter, with the others as in the best."""
        values = _values(space, name, count)
        mean, std = self._of(space, [{**best, name: value} for value in values])
        return {"parameter": name, "values": values, "mean": mean.tolist(), "std": std.tolist()}

    def _map(self, space: SearchSpace, best: Json, names: Sequence[str]) -> Json:
        across, up = (_values(space, name, _SIDE) for name in names)
        cells = [{**best, names[0]: x, names[1]: y} for y in up for x in across]
        mean, std = (part.reshape(len(up), -1).tolist() for part in self._of(space, cells))
        return {"parameters": list(names), "values": [across, up], "mean": mean, "std": std}

    def _of(
        self, space: SearchSpace, configurations: Sequence[Mapping[str, Any]]
    ) -> tuple[Array, Array]:
        return self._at(np.array([space.point(one) for one in configurations]))

    def _at(self, choices: Array | None) -> tuple[Array, Array]:
        """Means and standard deviations of choices, or of all options."""
        found = self.optimizer.belief(self.t, choices, context=self.context)
        return self.config.sign * found.mean, found.std


def _values(space: SearchSpace, name: str, count: int) -> list[Any]:
    """Values of a parameter, evenly spaced on its scale."""
    parameter = space.parameters[name]
    if not isinstance(parameter, Real) and parameter.count <= count:
        return [parameter.value(i) for i in range(parameter.count)]
    return [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]
