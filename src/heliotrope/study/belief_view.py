"""The belief at one time, in one context, as JSON.

Symbols
-------
f (s, q)  samples of the values at q points, the first of which is the best
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Box, Finite
from heliotrope.lazy import lazy_module
from heliotrope.policies import Best
from heliotrope.spaces import Categorical, Options, SearchSpace
from heliotrope.study.config import StudyConfig
from heliotrope.tracker import Metric
from heliotrope.validation import Array, Json

stats = lazy_module("scipy.stats")

_LINE, _SIDE, _SLICE = 101, 41, 41  # points of a band, of a side of a map, of a slice
SAMPLES = 1000
RIVALS = 100  # in a Finite domain: points with the highest upper bounds
_SCATTERED, _LATEST = 128, 32  # in a Box: points all over it, and the latest measured ones
SHARE = 0.1  # margin in a space, as a share of the values' standard deviation
FEW = 5  # results; with fewer the standard deviation is unknown


@dataclass(frozen=True, eq=False)
class BeliefView:
    """The belief about a metric at a time, in a context given by its coordinates."""

    config: StudyConfig
    metric: Metric
    t: float
    context: Array | None = None

    def best(self) -> Json:
        """The best point with its mean and standard deviation."""
        return self._describe(self._best())

    def best_with_confidence(self, variance: float) -> Json:
        """The same, and the ``probability`` that nothing is better by more than a ``margin``.

        Among options the margin is 0. In a space, where neighbours are nearly as good, it is a
        tenth of the values' standard deviation. With few or equal results that deviation is
        unknown, and both are None.
        """
        best, y = self._best(), self.metric.history.y
        shown = {**self._describe(best), "probability": None, "margin": None}
        if self.config.policy.parameters.get("variance") is None and (
            len(y) < FEW or np.ptp(y) == 0.0
        ):
            return shown
        is_listed = isinstance(self.config.space, Options)
        margin = 0.0 if is_listed else SHARE * float(np.sqrt(variance))
        rivals = self._rivals()
        rivals = rivals[(rivals != best.x).any(axis=1)]  # not the best itself: rounding errors
        f = self.config.sign * self.metric.sample(
            self.t, np.vstack([best.x, rivals]), context=None, size=SAMPLES, seed=0
        )
        is_beaten = f.max(axis=1) - f[:, 0] > margin
        return {**shown, "probability": 1.0 - float(is_beaten.mean()), "margin": margin}

    def belief(self) -> Json:
        """The best, and the belief about all options or along the parameters."""
        best = self.best()
        if isinstance(self.config.space, Options):
            return {"best": best, **self._options(self.config.space)}
        return {"best": best, **self._configurations(self.config.space, best["params"])}

    def _best(self) -> Best:
        return self.metric.best(self.t, self.context)

    def _describe(self, best: Best) -> Json:
        label = self.config.adapter.describe(best.x if best.index is None else best.index)
        return {"t": best.t, **label, "mean": best.mean, "std": best.std}

    def _rivals(self) -> Array:
        """Points in the context that may be higher than the best."""
        metric, problem, context = self.metric, self.metric.contextual, self.context
        if isinstance(metric.domain if problem is None else problem.choices, Finite):
            belief = metric.belief(self.t, context=context, count_open=False)
            mean = self.config.sign * belief.mean
            highest = np.argsort(mean + 3.0 * belief.std)[-RIVALS:]
            return belief.points[highest]
        latest = metric.history.x[-_LATEST:]
        if problem is not None and context is not None:
            latest = problem.points(latest[:, : problem.choices.dimension], context)
        box = metric.domain if problem is None or context is None else problem.given(context)
        assert isinstance(box, Box)
        scattered = stats.qmc.Sobol(box.dimension, rng=0).random(_SCATTERED)
        return np.vstack([box.snap(box.scaled(scattered)), latest])

    def _options(self, options: Options) -> Json:
        mean, std = self._at(None)
        rows = zip(options.names, mean.tolist(), std.tolist(), strict=True)
        shown = [{"option": name, "mean": m, "std": s} for name, m, s in rows]
        marks = self._marks(None)
        if marks is not None:
            shown = [{**row, "safe": safe} for row, safe in zip(shown, marks.tolist(), strict=True)]
        return {"view": "options", "options": shown}

    def _configurations(self, space: SearchSpace, best: Json) -> Json:
        varying = [name for name, parameter in space.parameters.items() if parameter.count != 1]
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
        points = self._points(space, [{**best, name: value} for value in values])
        mean, std = self._at(points)
        shown = {"parameter": name, "values": values, "mean": mean.tolist(), "std": std.tolist()}
        marks = self._marks(points)
        return shown if marks is None else {**shown, "safe": marks.tolist()}

    def _map(self, space: SearchSpace, best: Json, names: Sequence[str]) -> Json:
        across, up = (_values(space, name, _SIDE) for name in names)
        cells = [{**best, names[0]: x, names[1]: y} for y in up for x in across]
        points, side = self._points(space, cells), len(up)
        mean, std = (part.reshape(side, -1).tolist() for part in self._at(points))
        shown = {"parameters": list(names), "values": [across, up], "mean": mean, "std": std}
        marks = self._marks(points)
        return shown if marks is None else {**shown, "safe": marks.reshape(side, -1).tolist()}

    @staticmethod
    def _points(space: SearchSpace, configurations: Sequence[Mapping[str, Any]]) -> Array:
        return np.array([space.point(parameters) for parameters in configurations])

    def _marks(self, choices: Array | None) -> NDArray[np.bool_] | None:
        """Which choices, or options, keep all limits; None in a study without limits."""
        return None

    def _at(self, choices: Array | None) -> tuple[Array, Array]:
        """Means and standard deviations of choices, or of all options."""
        belief = self.metric.belief(self.t, choices, context=self.context)
        return belief.mean, belief.std


def _values(space: SearchSpace, name: str, count: int) -> list[Any]:
    """Values of a parameter, evenly spaced on its scale."""
    parameter = space.parameters[name]
    if parameter.count is not None and parameter.count <= count:
        return [parameter.value(i) for i in range(parameter.count)]
    return [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]
