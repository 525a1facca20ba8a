"""The drift of a study in words."""

from collections.abc import Sequence

import numpy as np

from heliotrope.estimation import World
from heliotrope.posterior import Learned
from heliotrope.study.clocks import Wall, duration, short
from heliotrope.study.metrics import MetricState
from heliotrope.validation import Json

_WARPED = {
    "identity": "",
    "log": " The model takes logarithms of the values.",
    "sinh-arcsinh": " The model has a skewed scale of values.",
}
_SHOWN_SHARE = 0.01  # of the variance, that is worth a mention


def describe_drift(state: MetricState) -> Json:
    """The drift rate, its interval, and its meaning in words."""
    policy = state.config.policy
    if not (policy.entry.has_drift or policy.learns_sums):
        return {"epsilon": None, "words": "This policy has no drift rate."}
    if policy.epsilon is None and not len(state.core.history):
        return {"epsilon": None, "words": "There are no results yet: the drift is unknown."}
    if state.model.world is not None:
        words = _world_in_words(state, state.model.world)
        return {"epsilon": state.model.epsilon, "interval": None, "words": words}
    if not policy.learns_drift:
        epsilon = state.model.epsilon if policy.epsilon is None else policy.epsilon
        return {"epsilon": epsilon, "interval": None, "words": _in_words(state, [epsilon])}
    learned = state.core.learned()
    words = _of_learned(state, learned)
    return {"epsilon": learned.epsilon, "interval": list(learned.interval), "words": words}


def _of_learned(state: MetricState, learned: Learned) -> str:
    """The interval in words; at the lowest candidate it has no lower end."""
    low, high = learned.interval
    if low == learned.epsilons.min() and high < learned.epsilons.max():
        valid = f"half of what is learned stays valid for at least {_half_life(state, high)}."
        return f"No drift detected: {valid}"
    return _in_words(state, [low, high])


def _in_words(state: MetricState, epsilons: Sequence[float]) -> str:
    """How fast results become stale, for one drift rate or for the ends of its interval."""
    if max(epsilons) <= 0.0:
        return "Nothing becomes stale: the function does not change."
    if min(epsilons) >= 1.0:
        return "All that is learned is stale at the next step."
    shortest, longest = (_half_life(state, end(epsilons)) for end in (max, min))
    if shortest == longest:
        return f"Half of what is learned is stale after {longest}."
    number, _, unit = shortest.partition(" ")
    least = number if longest.endswith(f" {unit}") else shortest
    return f"Half of what is learned is stale after {least} to {longest}."


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
    return _time(state, float(np.log(0.5) / np.log1p(-np.clip(epsilon, 1e-300, 1.0 - 1e-12))))


def _time(state: MetricState, units: float) -> str:
    """A length of time in words."""
    clock = state.config.clock
    if isinstance(clock, Wall):
        return duration(units * clock.seconds)
    is_counted = state.core.latest == state.core.asked
    return f"{short(units)} {'steps' if is_counted else 'units of t'}"
