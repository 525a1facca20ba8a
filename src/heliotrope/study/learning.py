"""The events of what a study learns: models that are due, and results that are taken for faults."""

from collections.abc import Callable
from typing import TypeAlias

from heliotrope.policies.learner import Update, due_as_json
from heliotrope.storage import EventBody
from heliotrope.study.cache import Chain
from heliotrope.study.state import VERSION, StudyState

Learn: TypeAlias = Callable[[StudyState], Chain[None]]
"""Yields the events of what is learned after a result, or has that done elsewhere."""


def learn(state: StudyState) -> Chain[None]:
    """Estimate the models that are due."""
    for name, metric in state.metrics.items():
        learner = metric.learner
        estimation = None if learner is None else learner.estimation()
        if estimation is not None:
            yield _learned_event(estimation.run(), state, name)
    yield from judge(state)


def log_fallbacks(state: StudyState) -> Chain[None]:
    """Log which model is in use, where the latest one in the log did not work.

    A replay then builds the model in use, without those that failed.
    """
    for name, metric in state.metrics.items():
        update = metric.fallback()
        if update is not None:
            yield _learned_event(update, state, name)


def take(update: Update, state: StudyState, name: str) -> Chain[None]:
    """Take what was learned elsewhere about a metric, unless another process was first.

    If the update says which results are contradicted, the next operations do that stepwise.
    """
    learner = state.metrics[name].learner
    if learner is not None and learner.knowledge.due == update.due:
        yield _learned_event(update, state, name)
        yield from judge(state)


def judge(state: StudyState) -> Chain[None]:
    """Say which results are newly taken for faults, and which no longer."""
    yield from log_fallbacks(state)
    for name in state.metrics:
        judged = state.judge(name)
        if judged is not None:
            yield judged


def _learned_event(update: Update, state: StudyState, name: str) -> EventBody:
    """The event of a new model, which is that of the values as they are told."""
    model = update.model.signed(state.metrics[name].config.sign).to_json()
    body = {"v": VERSION, "kind": "learned", "model": model}
    variances = update.contradicted
    ids = {state.ids.of(key): variance for key, variance in sorted((variances or {}).items())}
    stepwise = {} if variances is None else {"contradicted": ids}
    trouble = {"trouble": update.trouble} if update.trouble else {}
    return {**body, **due_as_json(update.due), **stepwise, **trouble, **state.config.about(name)}
