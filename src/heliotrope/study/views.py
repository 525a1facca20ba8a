"""A study to look at, as JSON has it: its belief, its track, its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from heliotrope.history import Observation
from heliotrope.optimizer import Optimizer
from heliotrope.posterior import Learned
from heliotrope.study.clocks import Wall, duration, short
from heliotrope.study.fold import Fold
from heliotrope.study.scenes import Scene
from heliotrope.study.setups import Setup
from heliotrope.study.terrain import Context

_RECENT = 300  # results before a past time that its belief is made of
_SHOWN = 500  # results of the track
_STOPS = 40  # times at which the track looks for the best

Json = dict[str, Any]
Show: TypeAlias = Callable[[], Json]
"""What is left to do once the state was looked at: it may take a while, and needs no lock."""


def belief(fold: Fold, t: float, context: object = None) -> Show:
    """What is believed at time t in a context, by what was told up to then.

    ``view`` is "options" (every option), "band" (one varying number), "map" (two), "slices" (each
    parameter varied alone around the best), or "none" for a policy without a belief.
    """
    setup, history = fold.setup, fold.optimizer.history
    there = _chosen_context(fold, context)
    head, point = {"t": t, **_about(there)}, setup.terrain.point(there)
    if not setup.policy.has_model:
        return lambda: {**head, "view": "none"}
    if t >= fold.optimizer.latest:
        shown = Scene(setup, fold.optimizer, t, point).belief()
        return lambda: {**head, **shown}
    since = fold.since if t >= fold.since else -np.inf
    by_then = np.flatnonzero((history.t <= t) & (history.t >= since))[-_RECENT:]
    past = [history[i] for i in by_then.tolist()]
    blank = _blank(fold, past)
    return lambda: {**head, **Scene(setup, _fed(blank, past), t, point).belief()}


def summary(fold: Fold, t: float, context: object = None) -> Json:
    """The setup, the counts, the best now in a context, and the drift."""
    optimizer, setup = fold.optimizer, fold.setup
    there = _chosen_context(fold, context)
    told, model = len(optimizer.history), setup.given.override(fold.model)
    scene = Scene(setup, optimizer, t, setup.terrain.point(there))
    is_known = setup.policy.has_model and told > 0
    return {
        "setup": setup.to_json(),
        "created": fold.created,
        "t": t,
        **_about(there),
        "events": fold.seq,
        "asked": optimizer.asked,
        "told": told,
        "open": [ask.to_json() for ask in fold.open],
        "model": model.to_json(),
        "best": scene.best_and_how_sure(model.variance) if is_known else None,
        "drift": drift(fold),
    }


def drift(fold: Fold) -> Json:
    """The drift rate with its interval, and what it means in words."""
    policy = fold.setup.policy
    if not policy.has_drift:
        return {"epsilon": None, "words": "This policy has no drift rate."}
    if policy.epsilon is None and not len(fold.optimizer.history):
        return {"epsilon": None, "words": "Nothing was told yet: the drift is unknown."}
    if not policy.learns_drift:
        known = policy.epsilon
        epsilon = fold.model.epsilon if known is None else known
        words = _in_words(fold, [epsilon])
        return {"epsilon": epsilon, "interval": None, "words": words}
    learned = fold.optimizer.learned()
    words = _of_learned(fold, learned)
    return {"epsilon": learned.epsilon, "interval": list(learned.interval), "words": words}


def track(fold: Fold) -> Show:
    """The latest results with what was chosen, and where the best was believed to be."""
    setup, shown = fold.setup, fold.optimizer.history[-_SHOWN:]
    levels = [[one for one in shown if (one.t >= fold.since) == new] for new in (False, True)]
    tracked = [(_blank(fold, some), some) for some in levels if some and setup.policy.has_model]

    def show() -> Json:
        best = [stop for blank, some in tracked for stop in _stops(setup, blank, some)]
        return {"results": [_result(setup, one) for one in shown], "best": best}

    return show


def _blank(fold: Fold, results: Sequence[Observation]) -> Optimizer:
    """An optimizer that was told nothing, of the drift and the model that are known now.

    If the results that it is to be told are of another level, its mean is theirs.
    """
    setup, model = fold.setup, fold.model
    if results and results[-1].t < fold.since:
        mean = setup.sign * float(np.mean([one.y for one in results]))
        model = replace(model, mean=mean, low=None, high=None)
    epsilon = drift(fold)["epsilon"] if setup.policy.learns_drift else None
    known = setup if epsilon is None else setup.with_drift(epsilon)
    return Optimizer(setup.terrain.ground, known.build(model))


def _fed(optimizer: Optimizer, results: Sequence[Observation]) -> Optimizer:
    for one in sorted(results, key=lambda one: one.t):
        begun = optimizer.begin(one.x if one.index is None else one.index, one.t)
        optimizer.tell(begun, one.y)
    return optimizer


def _stops(setup: Setup, blank: Optimizer, results: Sequence[Observation]) -> Iterator[Json]:
    """The best at some times, by what was told up to each and in the context of its latest."""
    in_time = sorted(results, key=lambda one: one.t)
    for part in np.array_split(np.arange(len(in_time)), min(_STOPS, len(in_time))):
        optimizer = _fed(blank, [in_time[i] for i in part])
        context = setup.terrain.context_of(in_time[part[-1]].x)
        yield Scene(setup, optimizer, optimizer.latest, context).best()


def _result(setup: Setup, one: Observation) -> Json:
    label = setup.terrain.shown(one.x if one.index is None else one.index)
    return {"t": one.t, "value": setup.sign * one.y, **label}


def _chosen_context(fold: Fold, context: object) -> Context | None:
    """The context to look at: one that is given, or that of the latest ask."""
    return fold.setup.terrain.given(fold.context if context is None else context)


def _about(context: Context | None) -> Json:
    """What an answer says of the context that it is about."""
    return {} if context is None else {"context": context}


def _of_learned(fold: Fold, learned: Learned) -> str:
    """The interval in words; one that begins at the lowest candidate has no lower end."""
    low, high = learned.interval
    if low == learned.epsilons.min() and high < learned.epsilons.max():
        least = _half_life(fold, high)
        return (
            "No drift seen: if there is any, half of what is learned stays good "
            f"for at least {least}."
        )
    return _in_words(fold, [low, high])


def _in_words(fold: Fold, epsilons: Sequence[float]) -> str:
    """How soon things get stale, by one drift rate or by the ends of its interval."""
    if max(epsilons) <= 0.0:
        return "Nothing gets stale: the function stands still."
    if min(epsilons) >= 1.0:
        return "Nothing that is learned stays good."
    shortest, longest = (_half_life(fold, end(epsilons)) for end in (max, min))
    if shortest == longest:
        return f"Half of what is learned is stale after {longest}."
    number, _, unit = shortest.partition(" ")
    least = number if longest.endswith(f" {unit}") else shortest
    return f"Half of what is learned is stale after {least} to {longest}."


def _half_life(fold: Fold, epsilon: float) -> str:
    units = float(np.log(0.5) / np.log1p(-np.clip(epsilon, 1e-300, 1.0 - 1e-12)))
    clock = fold.setup.clock
    if isinstance(clock, Wall):
        return duration(units * clock.seconds)
    is_counted = fold.optimizer.latest == fold.optimizer.asked
    return f"{short(units)} {'steps' if is_counted else 'units of t'}"
