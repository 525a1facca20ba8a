"""Beliefs at past times: an optimizer that is fed the results up to then."""

from collections.abc import Callable, Sequence

import numpy as np

from heliotrope.history import Observation
from heliotrope.optimizer import Optimizer
from heliotrope.policies.learner import Update
from heliotrope.study.drift import describe_drift
from heliotrope.study.metrics import MetricState

_RECENT = 300  # latest results before a past time that its belief rests on


def past_belief(state: MetricState, t: float) -> Callable[[], Optimizer]:
    """The belief about a metric at a past time; building it takes a while, and reads no state."""
    history, since = state.optimizer.history, state.since if t >= state.since else -np.inf
    by_then = np.flatnonzero((history.t <= t) & (history.t >= since))[-_RECENT:]
    past = [history[i] for i in by_then.tolist()]
    empty = blank(state, past)
    return lambda: fed(empty, past)


def blank(state: MetricState, results: Sequence[Observation]) -> Optimizer:
    """An optimizer without results, with the present model and drift.

    If the results that it will get precede a jump, it has their mean.
    """
    config, model = state.config, state.model
    if results and results[-1].t < state.since:
        mean = config.sign * float(np.mean([one.y for one in results]))
        model = model.with_mean(mean)
    epsilon = describe_drift(state)["epsilon"] if config.policy.learns_drift else None
    known = config if epsilon is None else config.with_drift(epsilon)
    optimizer = Optimizer(config.adapter.problem, state.policy(known))
    if optimizer.learner is not None:
        optimizer.learner.update(Update(model.signed(config.sign)))
    return optimizer


def fed(optimizer: Optimizer, results: Sequence[Observation]) -> Optimizer:
    """The optimizer, after it has taken the results in the order of time."""
    for one in sorted(results, key=lambda one: one.t):
        opened = optimizer.begin(one.x if one.index is None else one.index, one.t)
        optimizer.observe(opened, one.y, one.precision)
    return optimizer
