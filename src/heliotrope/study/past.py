"""Beliefs at past times: a metric that is fed the results up to then."""

from collections.abc import Callable, Sequence

import numpy as np

from heliotrope.ledger import Observation
from heliotrope.policies.learner import Update
from heliotrope.study.metrics import StudyMetric
from heliotrope.tracker import Metric

_RECENT = 300  # latest results before a past time that its belief rests on


def past_belief(metric: StudyMetric, t: float) -> Callable[[], Metric]:
    """The belief about a metric at a past time; building it takes a while, and reads no state."""
    history, since = metric.history, metric.since if t >= metric.since else -np.inf
    by_then = np.flatnonzero((history.t <= t) & (history.t >= since))[-_RECENT:]
    past = [history[i] for i in by_then.tolist()]
    empty = blank(metric, past)
    return lambda: fed(empty, past)


def blank(metric: StudyMetric, results: Sequence[Observation]) -> Metric:
    """A metric without results, with the present model.

    If the results that it will get precede a jump, it has their mean.
    """
    model = metric.latest_model
    if results and results[-1].t < metric.since:
        model = model.with_mean(float(np.mean([result.y for result in results])))
    empty = Metric(metric.adapter, metric.policy, 0, metric.sign)
    if empty.learner is not None:
        empty.learner.update(Update(model.signed(metric.sign)))
    return empty


def fed(metric: Metric, results: Sequence[Observation]) -> Metric:
    """Tell a metric some results in the order of their times, and return it."""
    for result in sorted(results, key=lambda result: result.t):
        opened = metric.placed(result.x if result.index is None else result.index, result.t)
        metric.begin(opened)
        metric.tell(opened.id, result.y, result.precision)
    return metric
