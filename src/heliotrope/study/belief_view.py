"""What is believed at one time, in one context, as JSON has it."""

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
from heliotrope.validation import Array

_LINE, _SIDE, _SLICE = 101, 41, 41  # points of a band, of a map's side, of a slice

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class BeliefView:
    """An optimizer looked at, at a time and with the coordinates of a context, if there are any."""

    config: StudyConfig
    optimizer: Optimizer
    t: float
    context: Array | None = None

    def best(self) -> Json:
        """Where the best is, and the value that is believed there."""
        return self._shown(self._best())

    def best_and_how_sure(self, variance: float) -> Json:
        """The same, and how sure it is where values vary with that variance."""
        best = self._best()
        sure = confidence(self.config, self.optimizer, best, variance, self.context)
        return {**self._shown(best), **sure}

    def belief(self) -> Json:
        """The best, and a view of what is believed of everything."""
        best = self.best()
        if isinstance(self.config.space, Options):
            return {"best": best, **self._options(self.config.space)}
        return {"best": best, **self._configurations(self.config.space, best["params"])}

    def _best(self) -> Best:
        return self.optimizer.best(self.t, context=self.context)

    def _shown(self, best: Best) -> Json:
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
        """One parameter varied, the others where the best is."""
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
        """Mean and deviation of some choices, or of all of a list."""
        found = self.optimizer.belief(self.t, choices, context=self.context)
        return self.config.sign * found.mean, found.std


def _values(space: SearchSpace, name: str, count: int) -> list[Any]:
    """Values of a parameter over its range, evenly on its scale."""
    parameter = space.parameters[name]
    if not isinstance(parameter, Real) and parameter.count <= count:
        return [parameter.value(i) for i in range(parameter.count)]
    return [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]
