"""When and how a study re-estimates the model of its values."""

from __future__ import annotations

import numpy as np

from heliotrope.estimation import (
    SHORTEST_LEVEL_SHIFT,
    Results,
    estimate_robustly,
    is_estimate_due,
    level_shift_length,
    outlier_bounds,
)
from heliotrope.storage import EventBody
from heliotrope.study.events import VERSION
from heliotrope.study.state import REPLAYED, StudyState

_RECENT = 2_000  # latest results that an estimate uses
_FIRST = 50  # results up to which every new estimate is kept


def learned_event(state: StudyState) -> EventBody | None:
    """The event of a new model, or None if none is due or the new one is close to the old."""
    history, given = state.optimizer.history, state.config.given
    if given.complete or not state.config.policy.entry.has_prior:
        return None
    results, since = _current_level(state)
    told = len(history) if np.isinf(since) else int(np.sum(history.t >= since))
    is_known = since == state.since and state.model.outlier_bounds().suit(results.y)
    if not told or (is_known and not is_estimate_due(told)):
        return None
    rates = state.config.policy.rates(results.pace)
    recent = _latest(state, _RECENT, since)
    model = estimate_robustly(recent, outlier_bounds(results.y), given, rates)
    if is_known and told > _FIRST and model.is_close_to(given.override(state.model)):
        return None
    body = {"v": VERSION, "kind": "learned", "model": model.to_json()}
    return body if np.isinf(since) else {**body, "since": since}


def _current_level(state: StudyState) -> tuple[Results, float]:
    """The latest results since the last level shift, by time, and the time of that shift.

    Results at the very time of the last one before the shift do not count.
    """
    results = _latest(state, REPLAYED, state.since)
    length_scale = state.config.given.override(state.model).length_scale
    last = level_shift_length(results.y, lambda: results.x, length_scale)
    later = results.at(results.t > results.t[-last - 1]) if last else results
    if not last or len(later.t) < SHORTEST_LEVEL_SHIFT:
        return results, state.since
    return later, float(later.t[0])


def _latest(state: StudyState, count: int, since: float) -> Results:
    """At most ``count`` latest results from ``since`` on, by time."""
    t, x, y = state.optimizer.history.latest(count)
    first = int(np.searchsorted(t, since))
    return Results(t[first:], x[first:], state.config.sign * y[first:])
