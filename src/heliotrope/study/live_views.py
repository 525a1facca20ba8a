"""Views of a study with goals as JSON: its belief, its summary, its track, its trade-offs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Places, are_indices
from heliotrope.errors import InputError
from heliotrope.ledger import Observation
from heliotrope.live.beliefs import Belief, Gain, TotalGain
from heliotrope.policies import Best
from heliotrope.spaces import Options
from heliotrope.study.belief_view import FEW, RIVALS, SAMPLES, SHARE, BeliefView
from heliotrope.study.config import StudyConfig
from heliotrope.study.drift import describe_drift
from heliotrope.study.past import blank, fed, past_belief
from heliotrope.study.space_adapter import Context
from heliotrope.study.state import StudyState
from heliotrope.tracker import Outlook
from heliotrope.validation import Array, Json, short_repr

_SHOWN = 500  # results in the track
_STOPS = 20  # times of the track with a best: each needs the beliefs about all metrics
_FRONT = 60  # trade-offs


@dataclass(frozen=True, eq=False)
class MetricView(BeliefView):
    """The belief about a metric or a weighted sum, with the choices that keep all limits."""

    outlook: Outlook | None = None
    believed: Belief | None = None

    def _best(self) -> Best:
        assert self.outlook is not None
        place, _ = self.outlook.best()
        mean, std = self._predicted(place)
        index = int(place[0]) if place.ndim == 1 else None
        x = self.config.adapter.domain.at(place)[0]
        return Best(self.t, x, index, float(mean[0]), float(std[0]))

    def _at(self, choices: Array | None) -> tuple[Array, Array]:
        return self._predicted(self._places(choices))

    def _marks(self, choices: Array | None) -> NDArray[np.bool_] | None:
        assert self.outlook is not None
        if not self.outlook.live.rules.limits:
            return None
        return self.outlook.safe(self._places(choices))

    def _places(self, choices: Array | None) -> Places:
        assert self.outlook is not None
        return self.outlook.places() if choices is None else self.outlook.places_of(choices)

    def _predicted(self, places: Places) -> tuple[Array, Array]:
        assert self.believed is not None
        mean, variance = self.believed.predict(self.t, places)
        return mean, np.sqrt(variance)


def belief(
    state: StudyState, t: float, context: Context | None, metric: str | None
) -> Callable[[], Json]:
    """The belief about a metric, or about the objective, and which choices keep the limits."""
    config, goals = state.config, state.config.goals
    assert goals is not None
    if metric is not None and metric not in goals.metrics:
        known = ", ".join(goals.metrics)
        raise InputError(f"a metric among {known}", short_repr(metric), "", "metric")
    make = _beliefs_at(state, t, context)
    told = {name for name, learned in state.metrics.items() if len(learned.core.history)}
    name = metric or (goals.lead if goals.weights is None or len(goals.weights) == 1 else None)

    def show() -> Json:
        head: Json = {"t": t, **({} if context is None else {"context": context})}
        head |= {} if name is None else {"metric": name}
        outlook = make()
        weights = {name: 1.0} if name is not None else goals.weights or {}
        if not told.issuperset(weights):
            return {**head, "view": "none"}
        believed = outlook.weighted(weights)
        limits = [
            {"side": limit.side, "bound": outlook.bound(limit)}
            for limit in goals.rules.limits
            if limit.metric == name and name in told
        ]
        view = MetricView(config, outlook.lead, t, outlook.context, outlook, believed)
        base = _baseline(config, outlook, believed)
        return {**head, **view.belief(), **({"limits": limits} if limits else {}), **base}

    return show


def summary(state: StudyState, t: float, context: Context | None) -> Json:
    """The best that keeps all limits, the baseline and the gain over it, and the trade-offs."""
    goals = state.config.goals
    assert goals is not None
    config, outlook = state.config, _outlook(state, t, context)
    shown: Json = {"lead": goals.lead, "best": None, "metrics": _metrics(state)}
    if state.applied is not None:
        shown["applied"] = state.applied
    if outlook.baseline is not None:
        shown |= {"baseline": _words(config, outlook.baseline), "gain": None}
    if not outlook.is_known():
        return shown
    place, is_safe = outlook.best()
    objective = outlook.objective_as_told()
    best = {**_valued(config, outlook, place, objective), **_confidence(config, outlook, place)}
    shown["best"] = {"t": t, **best, **({"safe": is_safe} if goals.rules.limits else {})}
    if outlook.baseline is not None:
        shown["baseline"] = _valued(config, outlook, outlook.baseline, objective)
        total = state.tracker.progress.total
        shown["gain"] = _gain(outlook.gain(place), total, goals.sign)
    if goals.weights is None:
        shown["front"] = front(state, t, context)
    return shown


def front(state: StudyState, t: float, context: Context | None) -> Json:
    """The best trade-offs between several objectives, by the first of them."""
    goals = state.config.goals
    if goals is None or goals.weights is not None:
        expected, got = "a study with several objectives", "one with a single objective"
        raise InputError(expected, got, "Maximize or minimize two metrics or more.", "metrics")
    outlook, objectives, choices = _outlook(state, t, context), list(goals.objectives), []
    if outlook.is_known():
        for place in outlook.front()[:_FRONT]:
            where = np.asarray(place)[None]
            words = _words(state.config, where)
            choices.append({**words, "metrics": _values(outlook, where)})
        choices.sort(key=lambda choice: float(choice["metrics"][objectives[0]]["mean"]))
    head = {"t": t, **({} if context is None else {"context": context})}
    return {**head, "objectives": objectives, "choices": choices}


def track(state: StudyState) -> Callable[[], Json]:
    """The latest results, and the best and the baseline as they were believed at some times."""
    config, results = state.config, _results(state)
    metrics = state.metrics
    histories = {name: metric.core.history[-_SHOWN:] for name, metric in metrics.items()}
    empty = {name: blank(metric, histories[name]) for name, metric in metrics.items()}
    latest = _outlook(state, state.core.latest, state.context)
    limits = _limits(latest)

    def show() -> Json:
        best = _stops(config, replace(latest, metrics=empty, trust={}), histories)
        return {"results": results, "best": best, "limits": limits, "certificate": None}

    return show


def _outlook(state: StudyState, t: float, context: Context | None) -> Outlook:
    """The beliefs at a present or future time."""
    return state.tracker.outlook(t, state.config.adapter.context_point(context))


def _beliefs_at(state: StudyState, t: float, context: Context | None) -> Callable[[], Outlook]:
    """The beliefs at a time; those of the past are built when they are needed."""
    present = _outlook(state, t, context)
    if t >= state.core.latest:
        return lambda: present
    made = {name: past_belief(metric, t) for name, metric in state.metrics.items()}
    trust = dict(present.trust)
    return lambda: replace(
        present, metrics={name: build() for name, build in made.items()}, trust=trust
    )


def _metrics(state: StudyState) -> Json:
    """Each metric's aim, number of results and drift."""
    goals = state.config.goals
    assert goals is not None
    return {
        name: {
            "aim": goals.metrics[name],
            "told": len(metric.core.history),
            "drift": describe_drift(metric)["words"],
        }
        for name, metric in state.metrics.items()
    }


def _words(config: StudyConfig, place: Places) -> Json:
    """The params or the option of one place, and the context."""
    return config.adapter.describe(int(place[0]) if are_indices(place) else place[0])


def _values(outlook: Outlook, place: Places) -> dict[str, Json]:
    """Mean and deviation of each metric with results at one place."""
    shown = {}
    for name, metric in outlook.metrics.items():
        if len(metric.history):
            mean, variance = outlook.metric(name).predict(outlook.t, place)
            shown[name] = {"mean": float(mean[0]), "std": float(np.sqrt(variance[0]))}
    return shown


def _valued(config: StudyConfig, outlook: Outlook, place: Places, believed: Belief) -> Json:
    """A choice with the mean and deviation of the objective and of each metric."""
    mean, variance = believed.predict(outlook.t, place)
    value = {"mean": float(mean[0]), "std": float(np.sqrt(variance[0]))}
    return {**_words(config, place), **value, "metrics": _values(outlook, place)}


def _baseline(config: StudyConfig, outlook: Outlook, believed: Belief) -> Json:
    """The baseline with its values, if there is one."""
    if outlook.baseline is None:
        return {}
    return {"baseline": _valued(config, outlook, outlook.baseline, believed)}


def _confidence(config: StudyConfig, outlook: Outlook, best: Places) -> Json:
    """The probability that nothing that keeps the limits is better by more than a margin.

    The margin is that of a study without goals. It is unknown if nothing is known to keep them.
    """
    is_listed, weights = isinstance(config.space, Options), outlook.live.weights
    y, places = outlook.lead.history.y, outlook.places()
    places = places[outlook.safe(places)]
    if weights is None or len(y) < FEW or np.ptp(y) == 0.0 or not len(places):
        return {"probability": None, "margin": None}
    spread = np.sqrt(sum((weight * outlook.spread(name)) ** 2 for name, weight in weights.items()))
    margin = 0.0 if is_listed else SHARE * float(spread)
    believed = outlook.weighted(weights)
    mean, variance = believed.predict(outlook.t, places)
    rivals = places[np.argsort(-(mean + 3.0 * np.sqrt(variance)), kind="stable")[:RIVALS]]
    joint = np.concatenate([best, rivals])
    means, _ = believed.predict(outlook.t, joint)
    covariance = believed.covariance(outlook.t, joint, joint)
    rng = np.random.default_rng(0)
    f = rng.multivariate_normal(means, covariance, SAMPLES, check_valid="ignore", method="eigh")
    is_beaten = f.max(axis=1) - f[:, 0] > margin + 1e-6 * float(spread)  # rounding errors
    return {"probability": 1.0 - float(is_beaten.mean()), "margin": margin}


def _gain(best: Gain | None, total: TotalGain, sign: float) -> Json | None:
    """The gain of the best choice now and the sum so far, as numbers and in words."""
    if best is None:
        return None
    now = best.as_told(sign)
    words, summed = f"The best is {now}.", None
    if total.steps:
        told = total.gain.as_told(sign)
        words += f" All {total.steps:,} results together: {told}."
        summed = {**told.to_json(), "steps": total.steps}
    return {"now": now.to_json(), "total": summed, "words": words}


def _limits(outlook: Outlook) -> Json:
    """The bounds of each limited metric, in its unit."""
    bounds: Json = {}
    for limit in outlook.live.rules.limits:
        if len(outlook.metrics[limit.metric].history) or not limit.relative:
            bound = {"side": limit.side, "bound": outlook.bound(limit)}
            bounds.setdefault(limit.metric, []).append(bound)
    return bounds


def _results(state: StudyState) -> list[Json]:
    """The latest results: the values of all metrics, where they were measured, and why."""
    rows: dict[int, Json] = {}
    describe, reasons = state.config.adapter.describe, state.tracker.progress.reasons
    for name, metric in state.metrics.items():
        for result in metric.core.history[-_SHOWN:]:
            number = result.id
            assert number is not None
            if number not in rows:
                words = describe(result.x if result.index is None else result.index)
                rows[number] = {"t": result.t, "value": None, **words, "metrics": {}}
                if number in reasons:
                    rows[number]["reason"] = reasons[number]
            rows[number]["metrics"][name] = result.y
            if name == state.config.lead:
                rows[number]["value"] = result.y
            if number in metric.faults:
                rows[number]["fault"] = True
    return [rows[number] for number in sorted(rows)][-_SHOWN:]


def _stops(
    config: StudyConfig,
    blank: Outlook,
    histories: Mapping[str, Sequence[Observation]],
) -> list[Json]:
    """The best and the baseline at some times, from the results up to each."""
    in_time = {
        name: sorted(results, key=lambda result: result.t) for name, results in histories.items()
    }
    times = np.unique([result.t for results in in_time.values() for result in results])
    stops, seen = [], dict.fromkeys(in_time, 0)
    for part in np.array_split(times, min(_STOPS, len(times))) if len(times) else []:
        until, latest = float(part[-1]), None
        for name, results in in_time.items():
            new = [result for result in results[seen[name] :] if result.t <= until]
            seen[name] += len(new)
            fed(blank.metrics[name], new)
            latest = new[-1] if new else latest
        context = config.adapter.context_point(_context_of(config, latest))
        stops += _stop(config, replace(blank, t=until, context=context))
    return stops


def _context_of(config: StudyConfig, result: Observation | None) -> Any:
    """The context of a result, or the default one; None if the study has no contexts."""
    if config.context is None:
        return None
    if result is None:
        return config.adapter.default_context()
    place = result.x if result.index is None else result.index
    return config.adapter.describe(place)["context"]


def _stop(config: StudyConfig, outlook: Outlook) -> list[Json]:
    """The best and the baseline at one time; nothing before every objective has a result."""
    if not outlook.is_known():
        return []
    believed, (place, _) = outlook.objective_as_told(), outlook.best()
    best = _valued(config, outlook, place, believed)
    return [{"t": outlook.t, **best, **_baseline(config, outlook, believed)}]
