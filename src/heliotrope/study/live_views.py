"""Views of a study with goals as JSON: its belief, its summary, its track, its trade-offs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Finite, Places, are_indices
from heliotrope.errors import InputError
from heliotrope.ledger import Observation
from heliotrope.live.beliefs import Belief, Gain, TotalGain
from heliotrope.policies import Best
from heliotrope.spaces import Options
from heliotrope.study.belief_view import FEW, RIVALS, SAMPLES, SHARE, BeliefView, describe_drift
from heliotrope.study.config import Goals, StudyConfig
from heliotrope.study.metrics import blank, fed, past_belief
from heliotrope.study.state import StudyState
from heliotrope.tracker import Outlook
from heliotrope.validation import Array, Json

_SHOWN = 500  # results in the track
_STOPS = 20  # times of the track with a best: each needs the beliefs about all metrics
_FRONT = 60  # trade-offs


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricView(BeliefView):
    """The belief about a metric or a weighted sum, with the choices that keep all limits."""

    outlook: Outlook
    believed: Belief

    def _best(self) -> Best:
        place, _ = self.outlook.best()
        mean, std = self._predicted(place)
        index = int(place[0]) if are_indices(place) else None
        return Best(
            self.t, self.config.adapter.domain.at(place)[0], index, float(mean[0]), float(std[0])
        )

    def _at(self, choices: Array | None) -> tuple[Array, Array]:
        return self._predicted(self._places(choices))

    def _marks(self, choices: Array | None) -> NDArray[np.bool_] | None:
        limits = self.outlook.live.rules.limits
        return self.outlook.safe(self._places(choices)) if limits else None

    def _places(self, choices: Array | None) -> Places:
        every = self.config.space.domain
        if choices is None and isinstance(every, Finite):  # all options, each in the context
            choices = every.points
        return self.outlook.places() if choices is None else self.outlook.places_of(choices)

    def _predicted(self, places: Places) -> tuple[Array, Array]:
        mean, variance = self.believed.predict(self.t, places)
        return mean, np.sqrt(variance)


@dataclass(frozen=True, eq=False)
class GoalsView:
    """The beliefs at a time as JSON."""

    config: StudyConfig
    outlook: Outlook

    def words(self, place: Places) -> Json:
        """The params or the option of one place, and the context."""
        return self.config.adapter.describe(int(place[0]) if are_indices(place) else place[0])

    def value(self, believed: Belief, place: Places) -> Json:
        """Mean and deviation at one place."""
        mean, variance = believed.predict(self.outlook.t, place)
        return {"mean": float(mean[0]), "std": float(np.sqrt(variance[0]))}

    def values(self, place: Places) -> Json:
        """Mean and deviation of each metric with results at one place."""
        outlook, metrics = self.outlook, self.outlook.metrics.items()
        told = [name for name, metric in metrics if len(metric.history)]
        return {name: self.value(outlook.metric(name), place) for name in told}

    def valued(self, place: Places, believed: Belief) -> Json:
        """A choice with the mean and deviation of the objective and of each metric."""
        value = self.value(believed, place)
        return {**self.words(place), **value, "metrics": self.values(place)}

    def baseline(self, believed: Belief) -> Json:
        """The baseline with its values, if there is one."""
        baseline = self.outlook.baseline
        return {} if baseline is None else {"baseline": self.valued(baseline, believed)}

    def limits(self) -> Json:
        """The bounds of each limited metric, in its unit."""
        bounds: Json = {}
        for limit in self.outlook.live.rules.limits:
            if len(self.outlook.metrics[limit.metric].history) or not limit.relative:
                bound = {"side": limit.side, "bound": self.outlook.bound(limit)}
                bounds.setdefault(limit.metric, []).append(bound)
        return bounds

    def confidence(self, best: Places) -> Json:
        """The probability that nothing that keeps the limits is better by more than a margin.

        The margin is that of a study without goals. It is unknown if nothing is known to keep them.
        """
        outlook, weights = self.outlook, self.outlook.live.weights
        y, places = outlook.lead.history.y, outlook.kept_places()
        if weights is None or len(y) < FEW or np.ptp(y) == 0.0 or not len(places):
            return {"probability": None, "margin": None}
        spreads = [weight * outlook.spread(name) for name, weight in weights.items()]
        spread = float(np.sqrt(np.square(spreads).sum()))
        margin = 0.0 if isinstance(self.config.space, Options) else SHARE * spread
        believed = outlook.weighted(weights)
        mean, variance = believed.predict(outlook.t, places)
        rivals = places[np.argsort(-(mean + 3.0 * np.sqrt(variance)), kind="stable")[:RIVALS]]
        joint = np.concatenate([best, rivals])
        means, _ = believed.predict(outlook.t, joint)
        covariance = believed.covariance(outlook.t, joint, joint)
        rng = np.random.default_rng(0)
        f = rng.multivariate_normal(means, covariance, SAMPLES, check_valid="ignore", method="eigh")
        is_beaten = f.max(axis=1) - f[:, 0] > margin + 1e-6 * spread  # rounding errors
        return {"probability": 1.0 - float(is_beaten.mean()), "margin": margin}

    def front(self) -> list[Json]:
        """The best trade-offs between several objectives, by the first of them."""
        if not self.outlook.is_known():
            return []
        places, first = self.outlook.front()[:_FRONT], next(iter(self.outlook.live.objectives))
        single = (places[i : i + 1] for i in range(len(places)))
        choices = [{**self.words(place), "metrics": self.values(place)} for place in single]
        return sorted(choices, key=lambda choice: float(choice["metrics"][first]["mean"]))

    def stop(self) -> list[Json]:
        """The best and the baseline; nothing before every objective has a result."""
        if not self.outlook.is_known():
            return []
        believed, (place, _) = self.outlook.objective_as_told(), self.outlook.best()
        return [{"t": self.outlook.t, **self.valued(place, believed), **self.baseline(believed)}]


def belief(state: StudyState, head: Json, metric: str | None) -> Callable[[], Json]:
    """The belief about a metric, or about the objective, and which choices keep the limits.

    ``head`` has the time ``t``, and the ``context`` in a study with contexts.
    """
    config, goals = state.config, _goals(state)
    state.tracker.metric(metric)  # refuses an unknown one
    weights, name = goals.weights or {}, metric
    if metric is not None or len(weights) <= 1:
        name = metric or goals.lead
        weights, head = {name: 1.0}, {**head, "metric": name}
    is_told = all(len(state.metrics[told].history) for told in weights)
    make = _beliefs_at(state, head)

    def show() -> Json:
        if not is_told:
            return {**head, "view": "none"}
        outlook = make()
        believed, view = outlook.weighted(weights), GoalsView(config, outlook)
        now = (config, outlook.lead, outlook.t, outlook.context)
        shown = MetricView(*now, outlook=outlook, believed=believed).belief()
        bounds = view.limits()
        limited = {"limits": bounds[name]} if name in bounds else {}
        return {**head, **shown, **limited, **view.baseline(believed)}

    return show


def summary(state: StudyState, head: Json) -> Json:
    """The best that keeps all limits, the baseline and the gain over it, and the trade-offs."""
    goals, outlook = _goals(state), _outlook(state, head)
    view = GoalsView(state.config, outlook)
    shown: Json = {"lead": goals.lead, "best": None, "metrics": _metrics(state)}
    if state.applied is not None:
        shown["applied"] = state.applied
    if outlook.baseline is not None:
        shown |= {"baseline": view.words(outlook.baseline), "gain": None}
    if not outlook.is_known():
        return shown
    place, is_safe = outlook.best()
    objective = outlook.objective_as_told()
    shown["best"] = {"t": outlook.t, **view.valued(place, objective), **view.confidence(place)}
    if goals.rules.limits:
        shown["best"]["safe"] = is_safe
    if outlook.baseline is not None:
        gain, total = outlook.gain(place), state.tracker.progress.total
        shown |= {**view.baseline(objective), "gain": _gain(gain, total, goals.sign)}
    if goals.weights is None:
        shown["front"] = front(state, head)
    return shown


def front(state: StudyState, head: Json) -> Json:
    """The best trade-offs between several objectives, by the first of them."""
    goals = state.config.goals
    if goals is None or goals.weights is not None:
        expected, got = "a study with several objectives", "one with a single objective"
        raise InputError(expected, got, "Maximize or minimize two metrics or more.", "metrics")
    choices = GoalsView(state.config, _outlook(state, head)).front()
    return {**head, "objectives": list(goals.objectives), "choices": choices}


def track(state: StudyState) -> Callable[[], Json]:
    """The latest results, and the best and the baseline as they were believed at some times."""
    config, metrics, results = state.config, state.metrics, _results(state)
    histories = {name: metric.history[-_SHOWN:] for name, metric in metrics.items()}
    empty = {name: blank(metric, histories[name]) for name, metric in metrics.items()}
    latest = _outlook(state, {"t": state.lead.latest, "context": state.context})
    limits = GoalsView(config, latest).limits()

    def show() -> Json:
        best = _stops(config, replace(latest, metrics=empty, trust={}), histories)
        return {"results": results, "best": best, "limits": limits, "certificate": None}

    return show


def _goals(state: StudyState) -> Goals:
    assert state.config.goals is not None
    return state.config.goals


def _outlook(state: StudyState, head: Json) -> Outlook:
    """The beliefs at a present or future time."""
    context = state.config.adapter.context_point(head.get("context"))
    return state.tracker.outlook(head["t"], context)


def _beliefs_at(state: StudyState, head: Json) -> Callable[[], Outlook]:
    """The beliefs at a time; those of the past are built when they are needed."""
    present = _outlook(state, head)
    if present.t >= state.lead.latest:
        return lambda: present
    made = {name: past_belief(metric, present.t) for name, metric in state.metrics.items()}
    past = replace(present, trust=dict(present.trust))
    return lambda: replace(past, metrics={name: build() for name, build in made.items()})


def _metrics(state: StudyState) -> Json:
    """Each metric's aim, number of results and drift."""
    aims, shown = _goals(state).metrics, {}
    for name, metric in state.metrics.items():
        told, drift = len(metric.history), describe_drift(metric)["words"]
        shown[name] = {"aim": aims[name], "told": told, "drift": drift}
    return shown


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


def _results(state: StudyState) -> list[Json]:
    """The latest results: the values of all metrics, where they were measured, and why."""
    rows: dict[int, Json] = {}
    describe, reasons = state.config.adapter.describe, state.tracker.progress.reasons
    for name, metric in state.metrics.items():
        shown = metric.history[-_SHOWN:]
        for i, result in enumerate(shown):
            number = i - len(shown) if result.id is None else result.id
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
    config: StudyConfig, blank: Outlook, histories: Mapping[str, Sequence[Observation]]
) -> list[Json]:
    """The best and the baseline at some times, from the results up to each."""
    results = [(result, name) for name, history in histories.items() for result in history]
    results.sort(key=lambda pair: pair[0].t)
    times = np.unique([result.t for result, _ in results])
    stops, seen = list[Json](), 0
    for part in np.array_split(times, min(_STOPS, len(times))) if len(times) else []:
        until, before = float(part[-1]), seen
        while seen < len(results) and results[seen][0].t <= until:
            seen += 1
        for name, metric in blank.metrics.items():
            fed(metric, [result for result, of in results[before:seen] if of == name])
        context = config.adapter.context_of(results[seen - 1][0].x)
        stops += GoalsView(config, replace(blank, t=until, context=context)).stop()
    return stops
