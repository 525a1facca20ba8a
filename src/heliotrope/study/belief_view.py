"""What a study shows of one metric: its belief at one time, its drift in words, its troubles.

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
from heliotrope.estimation import World
from heliotrope.lazy import lazy_module
from heliotrope.policies import Best
from heliotrope.spaces import Categorical, Options, SearchSpace
from heliotrope.study.clocks import Wall, duration, short
from heliotrope.study.config import StudyConfig
from heliotrope.study.metrics import StudyMetric
from heliotrope.tracker import Metric
from heliotrope.validation import Array, Json

stats = lazy_module("scipy.stats")

_LINE, _SIDE, _SLICE = 101, 41, 41  # points of a band, of a side of a map, of a slice
SAMPLES = 1000
RIVALS = 100  # in a Finite domain: points with the highest upper bounds
_SCATTERED, _LATEST = 128, 32  # in a Box: points all over it, and the latest measured ones
SHARE = 0.1  # margin in a space, as a share of the values' standard deviation
FEW = 5  # results; with fewer the standard deviation is unknown
LATEST, _FEWEST = 60, 30  # results that count, and that it takes
_MONOTONIC = 0.97  # rank correlation of values and times
_OFTEN = 0.04  # share of results taken for faults
_WARPED = {
    "identity": "",
    "log": " The model takes logarithms of the values.",
    "sinh-arcsinh": " The model has a skewed scale of values.",
}
_SHOWN_SHARE = 0.01  # of the variance, that is worth a mention
_FASTEST = 1.0 - 1e-12  # drift per unit of time that leaves something to say


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


def describe_drift(metric: StudyMetric) -> Json:
    """The drift rate and its meaning in words."""
    policy = metric.config.policy
    if not (policy.entry.has_drift or policy.learns_sums):
        return {"epsilon": None, "words": "This policy has no drift rate."}
    if not (len(metric.history) or policy.parameters.get("epsilon") is not None):
        return {"epsilon": None, "words": "There are no results yet: the drift is unknown."}
    model = metric.known_model
    words = _world_in_words(metric, model.world) if policy.learns_sums else _in_words(metric)
    return {"epsilon": model.epsilon, "words": words}


def _in_words(metric: StudyMetric) -> str:
    """How fast results become stale."""
    epsilon = metric.known_model.epsilon
    if epsilon <= 0.0:
        return "Nothing becomes stale: the function does not change."
    if epsilon >= _FASTEST:
        return "All that is learned is stale at the next step."
    return f"Half of what is learned is stale after {_half_life(metric, epsilon)}."


def _world_in_words(metric: StudyMetric, world: World) -> str:
    """What the world is made of: shares of the variance, half-lives and noise."""
    model = metric.latest_model
    lives = {
        name: _half_life(metric, model.per_unit(rate))
        for name, rate in (("drifts", world.drift_rate), ("level", world.level_rate))
    }
    said = {
        "stays": "stays",
        "drifts": f"drifts with a half-life of {lives['drifts']}",
        "level": f"is a level that all settings share (half-life {lives['level']})",
        "noise": "is noise",
        "season": f"returns every {_time(metric, world.period * model.pace)}",
    }
    shares = sorted(world.shares().items(), key=lambda item: -item[1])
    words = ", ".join(
        f"{share:.0%} {said[name]}" for name, share in shares if share >= _SHOWN_SHARE
    )
    faults = len(metric.faults)
    taken = f" {faults:,} result{'s' * (faults != 1)} taken for faults." if faults else ""
    return f"Of the variation, {words}.{_WARPED[world.warp.kind]}{taken}"


def _half_life(metric: StudyMetric, epsilon: float) -> str:
    return _time(metric, float(np.log(0.5) / np.log1p(-np.clip(epsilon, 1e-300, _FASTEST))))


def _time(metric: StudyMetric, units: float) -> str:
    """A length of time in words."""
    clock = metric.config.clock
    if isinstance(clock, Wall):
        return duration(units * clock.seconds)
    is_counted = metric.latest == metric.asked
    return f"{short(units)} {'steps' if is_counted else 'units of t'}"


def warning(t: Array, y: Array, faulty: NDArray[np.bool_]) -> str | None:
    """Why a study can hardly follow these results, or None; some are taken for faults.

    Examples
    --------
    >>> values = np.arange(40.0) + np.sin(np.arange(40.0))
    >>> warning(np.arange(40.0), values, np.zeros(40, dtype=bool))
    'All values rise, by about 1 in a unit of time: what differs between the choices may be hidden.'
    """
    if len(y) < _FEWEST or np.ptp(y) == 0.0:
        return None
    share = float(np.mean(faulty))
    if share > _OFTEN:
        return f"{share:.0%} of the latest results are taken for faults."
    if np.ptp(t) > 0.0 and abs(stats.spearmanr(t, y).statistic) > _MONOTONIC:
        slope = float(np.polyfit(t - t[0], y, 1)[0])
        how = f"{'rise' if slope > 0.0 else 'fall'}, by about {abs(slope):.2g} in a unit of time"
        return f"All values {how}: what differs between the choices may be hidden."
    return None
