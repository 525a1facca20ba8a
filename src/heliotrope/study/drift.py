"""The drift of a study in words."""

import numpy as np

from heliotrope.estimation import World
from heliotrope.study.clocks import Wall, duration, short
from heliotrope.study.metrics import MetricState
from heliotrope.validation import Json

_WARPED = {
    "identity": "",
    "log": " The model takes logarithms of the values.",
    "sinh-arcsinh": " The model has a skewed scale of values.",
}
_SHOWN_SHARE = 0.01  # of the variance, that is worth a mention
_FASTEST = 1.0 - 1e-12  # drift per unit of time that leaves something to say


def describe_drift(state: MetricState) -> Json:
    """The drift rate and its meaning in words."""
    policy = state.config.policy
    if not (policy.entry.has_drift or policy.learns_sums):
        return {"epsilon": None, "words": "This policy has no drift rate."}
    if not (len(state.core.history) or "epsilon" in policy.parameters):
        return {"epsilon": None, "words": "There are no results yet: the drift is unknown."}
    model = state.known_model
    words = _world_in_words(state, model.world) if policy.learns_sums else _in_words(state)
    return {"epsilon": model.epsilon, "words": words}


def _in_words(state: MetricState) -> str:
    """How fast results become stale."""
    epsilon = state.known_model.epsilon
    if epsilon <= 0.0:
        return "Nothing becomes stale: the function does not change."
    if epsilon >= _FASTEST:
        return "All that is learned is stale at the next step."
    return f"Half of what is learned is stale after {_half_life(state, epsilon)}."


def _world_in_words(state: MetricState, world: World) -> str:
    """What the world is made of: shares of the variance, half-lives and noise."""
    model = state.model
    lives = {
        name: _half_life(state, model.per_unit(rate))
        for name, rate in (("drifts", world.drift_rate), ("level", world.level_rate))
    }
    said = {
        "stays": "stays",
        "drifts": f"drifts with a half-life of {lives['drifts']}",
        "level": f"is a level that all places share (half-life {lives['level']})",
        "noise": "is noise",
        "season": f"returns every {_time(state, world.period * model.pace)}",
    }
    shares = sorted(world.shares().items(), key=lambda item: -item[1])
    words = ", ".join(
        f"{share:.0%} {said[name]}" for name, share in shares if share >= _SHOWN_SHARE
    )
    faults = len(state.faults)
    taken = f" {faults:,} result{'s' * (faults != 1)} taken for faults." if faults else ""
    return f"Of the variation, {words}.{_WARPED[world.warp.kind]}{taken}"


def _half_life(state: MetricState, epsilon: float) -> str:
    return _time(state, float(np.log(0.5) / np.log1p(-np.clip(epsilon, 1e-300, _FASTEST))))


def _time(state: MetricState, units: float) -> str:
    """A length of time in words."""
    clock = state.config.clock
    if isinstance(clock, Wall):
        return duration(units * clock.seconds)
    is_counted = state.core.latest == state.core.asked
    return f"{short(units)} {'steps' if is_counted else 'units of t'}"
