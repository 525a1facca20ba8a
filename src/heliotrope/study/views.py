"""Views of a study as JSON: its belief, its summary, its track."""

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import TypeAlias

import numpy as np

from heliotrope.errors import InputError, NoBeliefError
from heliotrope.ledger import Observation
from heliotrope.policies.certificate import certify
from heliotrope.precision import Precision
from heliotrope.study import live_views
from heliotrope.study.belief_view import LATEST, BeliefView, describe_drift, warning
from heliotrope.study.commands import THE_VALUE
from heliotrope.study.config import StudyConfig
from heliotrope.study.metrics import blank, fed, past_belief
from heliotrope.study.state import StudyState
from heliotrope.tracker import Metric
from heliotrope.validation import Array, Json, short_repr

_SHOWN = 500  # results in the track
_STOPS = 40  # times of the track with a best
_CERTIFIED = 2000  # most asks of a certificate, which replays all of them

Show: TypeAlias = Callable[[], Json]
"""The rest of a view, which may take a while and does not read the state."""


def belief(state: StudyState, t: float, context: object, metric: str | None = None) -> Show:
    """The belief about a metric at time t in a context, from the results up to then.

    ``view`` is "options" (every option), "band" (one varying number), "map" (two), "slices" (each
    parameter varied alone around the best), or "none" for a policy without a belief.
    """
    there, point = _context(state, context)
    head = {"t": t, **there}
    if not state.config.policy.has_model:
        return lambda: {**head, "view": "none"}
    if state.config.goals is not None:
        return live_views.belief(state, head, metric)
    if metric not in (None, THE_VALUE):
        expected = "no metric, because the study has one value"
        raise InputError(expected, short_repr(metric), "", "metric")
    if t >= state.lead.latest:
        shown = BeliefView(state.config, state.lead, t, point).belief()
        return lambda: {**head, **shown}
    believed = past_belief(state.lead, t)
    return lambda: {**head, **BeliefView(state.config, believed(), t, point).belief()}


def summary(state: StudyState, t: float, context: object) -> Json:
    """The configuration, the counts, the present best in a context, and the drift."""
    core, config = state.lead, state.config
    there, point = _context(state, context)
    model = state.lead.known_model
    view = BeliefView(config, core, t, point)
    is_known = config.policy.has_model and len(core.history) > 0
    if config.goals is None:
        own = {"best": view.best_with_confidence(model.variance) if is_known else None}
    else:
        own = live_views.summary(state, {"t": t, **there})
    return {
        "setup": config.to_json(),
        "created": state.created,
        "t": t,
        **there,
        "events": state.seq,
        "asked": core.asked,
        "told": state.told,
        "faults": [state.ids.of(number) for number in sorted(state.lead.faults)],
        "open": [ask.to_json() for ask in state.open],
        "model": model.to_json(),
        **own,
        "drift": describe_drift(state.lead),
        "accuracy": _accuracy(core),
        "warning": _warning(state),
    }


def _warning(state: StudyState) -> str | None:
    """The troubles of the models, and why the results can hardly be followed."""
    latest = state.lead.history[-LATEST:]
    t, y = (np.array([getattr(result, name) for result in latest]) for name in ("t", "y"))
    faulty = np.array([result.id in state.lead.faults for result in latest], dtype=bool)
    troubles = (metric.trouble and f"{metric.trouble}." for metric in state.metrics.values())
    return " ".join(filter(None, [*troubles, warning(t, y, faulty)])) or None


def _accuracy(core: Metric) -> Json | None:
    """The error that the engine has accepted, or None for a policy without a joint posterior."""
    try:
        return core.accuracy()._asdict()
    except NoBeliefError:
        return None


def front(state: StudyState, t: float, context: object) -> Json:
    """The best trade-offs between several objectives."""
    there, _ = _context(state, context)
    return live_views.front(state, {"t": t, **there})


def track(state: StudyState) -> Show:
    """The latest results with their choices, the estimated best at some times, the certificate."""
    if state.config.goals is not None:
        return live_views.track(state)
    config, shown = state.config, state.lead.history[-_SHOWN:]
    since = state.lead.since
    levels = [[result for result in shown if (result.t >= since) == new] for new in (False, True)]
    certificate, faults = _certificate(state), state.lead.faults
    tracked = [
        (blank(state.lead, level), level) for level in levels if level and config.policy.has_model
    ]

    def show() -> Json:
        best = [stop for blank, level in tracked for stop in _stops(config, blank, level)]
        results = [_result(config, result, result.id in faults) for result in shown]
        return {"results": results, "best": best, "certificate": certificate()}

    return show


def _certificate(state: StudyState) -> Callable[[], Json | None]:
    """The certificate of a study whose model and drift are given and whose beta is a theorem's."""
    config, core = state.config, state.lead
    is_fixed = config.policy.has_model and core.learner is None
    if not is_fixed or config.context is not None or core.asked > _CERTIFIED:
        return lambda: None
    policy, domain = core.policy, core.domain
    events = [*core.history, *core.open]

    def show() -> Json | None:
        try:
            certificate = certify(policy, domain, events)
        except InputError:
            return None
        return {
            "steps": certificate.steps,
            "bound": certificate.bound,
            "per_step": certificate.per_step,
            "probability": certificate.probability,
            "assumptions": list(certificate.assumptions),
        }

    return show


def _stops(config: StudyConfig, blank: Metric, results: Sequence[Observation]) -> Iterator[Json]:
    """The best at some times, from the results up to each, in the context of the latest one."""
    in_time = sorted(results, key=lambda result: result.t)
    for part in np.array_split(np.arange(len(in_time)), min(_STOPS, len(in_time))):
        metric = fed(blank, [in_time[i] for i in part])
        context = config.adapter.context_of(in_time[part[-1]].x)
        yield BeliefView(config, metric, metric.latest, context).best()


def _result(config: StudyConfig, result: Observation, is_fault: bool) -> Json:
    label = config.adapter.describe(result.x if result.index is None else result.index)
    told = {"t": result.t, "value": result.y, **_noise(result.precision), **label}
    return {**told, "fault": True} if is_fault else told


def _noise(precision: Precision) -> Json:
    """The standard error or the number of repeats of a result, if told."""
    noise = {} if precision.variance is None else {"std": sqrt(precision.variance)}
    return noise if precision.repeats == 1 else {"n": precision.repeats}


def _context(state: StudyState, context: object) -> tuple[Json, Array | None]:
    """The given context, or that of the latest ask: as part of an answer, and as coordinates."""
    adapter = state.config.adapter
    there = adapter.check_context(state.context if context is None else context)
    return {} if there is None else {"context": there}, adapter.context_point(there)
