"""The next ask of a study with goals, by :mod:`heliotrope.live`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from heliotrope.domains import Box, Places, initial_count
from heliotrope.errors import InputError
from heliotrope.history import Suggestion
from heliotrope.live import Reason, Standing, standardized_error
from heliotrope.live.gains import Gain
from heliotrope.live.holding import hold_until
from heliotrope.study.commands import Hold, Measurement, point_of
from heliotrope.study.live import LiveBelief, stream
from heliotrope.study.space_adapter import Context, LoggedPlace
from heliotrope.study.state import StudyState


def live_belief(state: StudyState, t: float, context: Context | None) -> LiveBelief:
    """The beliefs of a study at a present or future time."""
    optimizers = {name: metric.optimizer for name, metric in state.metrics.items()}
    return LiveBelief(state.config, optimizers, t, context, state.progress.trust)


def choose(state: StudyState, t: float, context: Context | None) -> tuple[LoggedPlace, Reason]:
    """The place to measure next, and why."""
    live = live_belief(state, t, context)
    make_rng = stream(state.config, state.optimizer.asked)
    own = _own_proposal(live, state)
    standing = standing_of(state, live, own)
    chooser = replace(live.chooser(make_rng), avoids=state.optimizer.avoidance().avoids)
    if _spreads(live, state, standing):
        chosen: Places = own
        reason: Reason = "first"
        if not chooser.reachable(own, standing).all():
            chosen, reason = chooser.choose(standing, t, make_rng)
    else:
        chosen, reason = chooser.choose(standing, t, make_rng)
    words = live.describe(chosen)
    return state.config.adapter.place_of(_choice(words), context), reason


def check_hold(state: StudyState) -> None:
    """Raise an InputError if the study cannot weigh the cost of a measurement."""
    if state.config.goals is None:
        expected = "a study with metrics, limits, a baseline or moves"
        advice = 'Create it with metrics, such as {"value": "maximize"}.'
        raise InputError(expected, "one without", advice, "cost")


def hold(state: StudyState, t: float, context: Context | None, cost: float) -> Hold | None:
    """The answer to wait, if a measurement at t is not worth its cost."""
    live = live_belief(state, t, context)
    history = state.optimizer.history
    if not live.is_known() or state.told < initial_count(state.config.adapter.choices):
        return None
    places = live.places()
    places = places[live.safe(places)]
    if not len(places):
        return None
    objective = live.objective(stream(state.config, state.optimizer.asked))
    latest = float(history.t.max())
    until = hold_until(objective, t, places, latest, cost, state.model.pace)
    return None if until is None else Hold(until)


def standing_of(state: StudyState, live: LiveBelief, own: Places | None = None) -> Standing:
    """Where the system stands."""
    visited = live.visited() if own is None else [*live.visited(), own]
    return Standing(
        baseline=live.baseline,
        known=tuple(live.place(one) for one in live.goals.known),
        applied=None
        if state.progress.applied is None
        else live.place(_choice(state.progress.applied)),
        open=tuple(_there(live, one) for one in state.optimizer.open),
        visited=tuple(visited),
        asked=state.optimizer.asked,
        at_baseline=state.progress.at_baseline,
        told=state.told,
    )


def errors_of(
    state: StudyState, number: int, results: Mapping[str, Measurement]
) -> dict[str, float]:
    """How far the results of limited metrics are from what was expected, in deviations."""
    goals = state.config.goals
    if goals is None or not state.optimizer.is_open(number):
        return {}
    errors = {}
    for name in goals.rules.limited:
        metric = state.metrics[name]
        if name in results and len(metric.optimizer.history):
            asked, (value, precision) = metric.optimizer.suggestion(number), results[name]
            y, now = metric.config.sign * value, metric.optimizer.latest
            errors[name] = standardized_error(
                metric.optimizer.agent, now, _place(asked), y, precision
            )
    return errors


def gain_of(state: StudyState, id: str) -> Gain | None:
    """The believed gain over the baseline at an evaluation whose result was told."""
    goals = state.config.goals
    if goals is None or goals.baseline is None:
        return None
    told = state.told_evaluation(id)
    if told is None:
        return None
    context = None if told.context is None else dict(told.context)
    live = live_belief(state, max(told.t, state.optimizer.latest), context)
    return live.gain(live.place(_choice(point_of(told))))


def _spreads(live: LiveBelief, state: StudyState, standing: Standing) -> bool:
    """Whether this is one of the first asks, which are spread where no limit forbids it."""
    goals, asked = live.goals, state.optimizer.asked
    if goals.rules.limits or asked >= initial_count(state.config.adapter.choices):
        return False
    return goals.baseline is None or standing.at_baseline > 0


def _own_proposal(live: LiveBelief, state: StudyState) -> Places:
    """What the leading metric's own policy would measure."""
    point = state.config.adapter.context_point(live.context)
    return _place(state.optimizer.propose(live.t, context=point))


def _there(live: LiveBelief, asked: Suggestion) -> Places:
    """The choice of an open ask in the present context."""
    if not isinstance(live.choices, Box) and live.context is None:
        return _place(asked)
    return live.of_points(asked.choice[None])


def _place(asked: Suggestion) -> Places:
    return asked.x[None] if asked.index is None else np.array([asked.index])


def _choice(words: Any) -> Any:
    """The params or the option in words."""
    return words["params"] if "params" in words else words["option"]
