"""Beliefs at past times: a metric that is fed the results up to then."""

from collections.abc import Callable, Sequence

import numpy as np

from heliotrope.ledger import Observation
from heliotrope.policies.learner import Update
from heliotrope.study.metrics import MetricState
from heliotrope.tracker import Metric

_RECENT = 300  # latest results before a past time that its belief rests on


def past_belief(state: MetricState, t: float) -> Callable[[], Metric]:
    """The belief about a metric at a past time; building it takes a while, and reads no state."""
    history, since = state.core.history, state.since if t >= state.since else -np.inf
    by_then = np.flatnonzero((history.t <= t) & (history.t >= since))[-_RECENT:]
    past = [history[i] for i in by_then.tolist()]
    empty = blank(state, past)
    return lambda: fed(empty, past)


def blank(state: MetricState, results: Sequence[Observation]) -> Metric:
    """A metric without results, with the present model.

    If the results that it will get precede a jump, it has their mean.
    """
    config, model = state.config, state.model
    if results and results[-1].t < state.since:
        mean = float(np.mean([result.y for result in results]))
        model = model.with_mean(mean)
    metric = Metric(state.core.adapter, state.policy(config), 0, config.sign)
    if metric.learner is not None:
        metric.learner.update(Update(model.signed(config.sign)))
    return metric


def fed(metric: Metric, results: Sequence[Observation]) -> Metric:
    """Tell a metric some results in the order of their times, and return it."""
    for result in sorted(results, key=lambda result: result.t):
        opened = metric.placed(result.x if result.index is None else result.index, result.t)
        metric.begin(opened)
        metric.tell(opened.id, result.y, result.precision)
    return metric
