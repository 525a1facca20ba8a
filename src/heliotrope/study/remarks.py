"""What a study says of its drift, and of results that it can hardly follow."""

import numpy as np
from numpy.typing import NDArray

from heliotrope.estimation import World
from heliotrope.lazy import lazy_module
from heliotrope.study.clocks import Wall, duration, short
from heliotrope.study.metrics import StudyMetric
from heliotrope.validation import Array, Json

stats = lazy_module("scipy.stats")

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
        "level": f"is a level that all places share (half-life {lives['level']})",
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
