"""The tracker: what a running system's results mean, and what to measure next.

Methods under *deciding* change nothing. Methods under *applying* are the only ones that
change the state. An optimizer keeps its tracker in memory; a study writes an event for each change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Places, are_indices, initial_count
from heliotrope.errors import InputError
from heliotrope.ledger import Observation, Suggestion
from heliotrope.live.beliefs import Belief, Gain, TotalGain, Trust, hold_until, standardized_error
from heliotrope.live.choosing import HORIZON, Reason, View, candidates, decide, safe
from heliotrope.live.rules import Rules
from heliotrope.precision import Precision
from heliotrope.surroundings import RNGFactory
from heliotrope.tracker.metric import Metric
from heliotrope.tracker.outlook import Outlook, Setup
from heliotrope.validation import Array, Indices, Json, as_whole, short_repr

__all__ = ["Progress", "Results", "Tracker"]

_PURPOSE = 2  # of the random stream: not that of a metric's own choice
_REMEMBERED = 1000  # asks whose reasons are kept

Results = Mapping[str, tuple[float, Precision]]
"""Values and precisions by metric."""


class Progress:
    """What a tracker knows beside its metrics; without rules, only what runs now.

    ``applied`` are the coordinates of the choice that runs now. ``reasons`` are those of the latest
    asks, by number. ``trust`` says how far the predictions of limited metrics were off. ``total``
    is the gain of all evaluations. ``at_baseline`` counts the asks at the baseline.
    """

    def __init__(self, setup: Setup | None) -> None:
        self._rules = Rules() if setup is None else setup.live.rules
        self._baseline = self.applied = None if setup is None else setup.baseline
        self.reasons: dict[int, str] = {}
        self.at_baseline = 0
        self.trust = {name: Trust() for name in self._rules.limited}
        self.total = TotalGain()

    def begin(self, asked: Suggestion) -> None:
        """Note that a choice was asked for."""
        if asked.reason is not None:
            self.reasons[asked.id] = asked.reason
            if len(self.reasons) > _REMEMBERED:
                del self.reasons[next(iter(self.reasons))]
        if self._baseline is not None and np.array_equal(asked.choice, self._baseline):
            self.at_baseline += 1

    def tell(self, asked: Suggestion, results: Results, errors: Mapping[str, float]) -> None:
        """Take results and their errors; a choice that the rules asked for runs from now on."""
        rules, reason = self._rules, self.reasons.get(asked.id)
        for name, error in errors.items():
            crossed = reason != "fallback" and rules.crosses(name, results[name][0])
            self.trust[name] = self.trust[name].after(error, crossed=crossed, risk=rules.risk)
        if reason is not None:
            self.applied = asked.choice

    def to_json(self) -> Json:
        """The progress as a part of a file."""
        return {
            "at_baseline": self.at_baseline,
            "applied": None if self.applied is None else self.applied.tolist(),
            "reasons": list(self.reasons.items()),
            "trust": {name: astuple(trust) for name, trust in self.trust.items()},
            "total": astuple(self.total),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_json` wrote."""
        self.at_baseline = as_whole(data["at_baseline"], "at_baseline", least=0)
        self.applied = None if data["applied"] is None else np.array(data["applied"], dtype=float)
        self.reasons = {as_whole(n, "number", least=0): str(why) for n, why in data["reasons"]}
        self.trust = {name: Trust(*numbers) for name, numbers in data["trust"].items()}
        self.total = TotalGain(*data["total"])


class Tracker:
    """The metrics of a system, the rules for its asks, and how its tuning goes.

    Every metric has every evaluation. ``leading`` names the one that people see first. Without a
    ``setup`` there are no rules, and one metric.
    """

    def __init__(self, leading: str, metrics: Mapping[str, Metric], setup: Setup | None) -> None:
        self.leading, self.metrics, self.setup = leading, metrics, setup
        self.lead = metrics[leading]
        self.progress = Progress(setup)
        self.told = 0

    # ---- deciding

    @property
    def rules(self) -> Setup:
        """The setup of the rules; InputError without rules."""
        if self.setup is None:
            advice = "Create it with limits, a baseline, moves or metrics."
            raise InputError("the rules of a running system", "none", advice, "live")
        return self.setup

    def metric(self, name: str | None) -> Metric:
        """The metric of a name, by default the leading one; InputError."""
        if name is not None and name not in self.metrics:
            expected = f"a metric among {', '.join(self.metrics)}"
            raise InputError(expected, short_repr(name), "", "metric")
        return self.lead if name is None else self.metrics[name]

    def propose(self, t: float | None, context: ArrayLike | None) -> Suggestion:
        """What to measure next at time t, and why."""
        own = self.lead.propose(t, context)
        if self.setup is None:
            return own
        place, reason = _chosen(self, own)
        return replace(self.lead.suggestion_of(place, own.t), reason=reason)

    def outlook(self, t: float, context: Array | None) -> Outlook:
        """The beliefs at a present or future time."""
        applied, trust = self.progress.applied, self.progress.trust
        return Outlook(self.rules, context, applied, metrics=self.metrics, t=t, trust=trust)

    def hold(self, t: float, context: Array | None, cost: float) -> float | None:
        """Until when a measurement is not worth its cost; None if it is worth it at time t."""
        outlook, domain = self.outlook(t, context), self.rules.adapter.choice_domain
        if not outlook.is_known() or self.told < initial_count(domain):
            return None
        places = outlook.kept_places()
        if not len(places):
            return None
        objective = outlook.objective(self.lead.rng(_PURPOSE))
        latest, pace = float(self.lead.history.t.max()), self.lead.pace
        return hold_until(objective, t, places, latest, cost, pace)

    def errors_of(self, number: int, results: Results) -> dict[str, float]:
        """How far results of limited metrics are from what was expected, in deviations."""
        if self.setup is None or not self.lead.is_open(number):
            return {}
        errors = {}
        for name in self.setup.live.rules.limited:
            metric = self.metrics[name]
            if name in results and len(metric.history):
                value, precision = results[name]
                y = self.setup.live.sign_of(name) * value
                place, now = metric.suggestion(number).place, metric.latest
                errors[name] = standardized_error(metric.agent, now, place, y, precision)
        return errors

    def gain_of(self, told: Suggestion) -> Gain | None:
        """The believed gain over the baseline at an evaluation that has its result."""
        if self.setup is None or self.setup.baseline is None:
            return None
        outlook = self.outlook(max(told.t, self.lead.latest), told.context)
        return outlook.gain(outlook.places_of(told.choice[None]))

    # ---- applying

    def begin(self, suggestion: Suggestion) -> None:
        """Open an evaluation."""
        for metric in self.metrics.values():
            metric.begin(suggestion)
        self.progress.begin(suggestion)

    def tell(self, asked: Suggestion, results: Results, errors: Mapping[str, float]) -> None:
        """Take the results of an open evaluation.

        For a metric without a result it is as if the evaluation had not been asked for. A metric
        whose error shows that its model is wrong estimates it again.
        """
        for name, metric in self.metrics.items():
            if name in results:
                wrong = Trust.is_contradicted_by(errors.get(name, 0.0))
                metric.tell(asked.id, *results[name], contradicts=wrong)
            else:
                metric.cancel(asked.id, avoid=False)
        self.told += 1
        self.progress.tell(asked, results, errors)

    def tell_late(self, asked: Suggestion, results: Results) -> None:
        """Take results of an evaluation that was cancelled."""
        for name, result in results.items():
            self.metrics[name].tell_late(asked, *result)
        self.told += 1
        self.progress.tell(asked, results, {})

    def add(self, observations: Sequence[Observation]) -> None:
        """Take results of the only metric that were measured elsewhere, sorted by time."""
        self.lead.add(observations)
        self.told += len(observations)

    def cancel(self, number: int, *, avoid: bool) -> None:
        """Close an evaluation without a result; suggestions may avoid its place for a while."""
        for metric in self.metrics.values():
            metric.cancel(number, avoid=avoid)

    def avoid(self, failed: Suggestion) -> None:
        """Let suggestions avoid the place of an evaluation that was closed before."""
        for metric in self.metrics.values():
            metric.avoid(failed)

    def apply(self, choice: Array) -> None:
        """Note that a choice runs now."""
        self.progress.applied = choice

    def gain(self, gain: Gain) -> None:
        """Add the gain of an evaluation to the total."""
        self.progress.total = self.progress.total.after(gain)

    def set_back(self, latest: float) -> None:
        """Move all later times back to ``latest``."""
        for metric in self.metrics.values():
            metric.set_back(latest)


def _chosen(tracker: Tracker, own: Suggestion) -> tuple[Places, Reason]:
    """The choice by the rules, and why; ``own`` is that of the leading metric's policy."""
    lead, progress = tracker.lead, tracker.progress
    outlook, make_rng = tracker.outlook(own.t, own.context), lead.rng(_PURPOSE)
    rules, domain = outlook.live.rules, outlook.setup.adapter.choice_domain
    is_first = not rules.limits and lead.asked < initial_count(domain)
    is_spread = is_first and (outlook.baseline is None or progress.at_baseline > 0)
    if is_spread and outlook.reachable(own.place).all():
        return own.place, "first"
    roles = (outlook.running, outlook.baseline, *outlook.called_safe)
    near = [place for place in (*roles, *outlook.visited(), own.place) if place is not None]
    places, objective = candidates(outlook.choices, near, make_rng), outlook.objective(make_rng)
    view = _view(outlook, objective, places, make_rng)
    gain = _gain(outlook, objective, view, places)
    due = gain is not None and rules.remeasure.is_due(lead.asked, progress.at_baseline, *gain)
    told = min([tracker.told, *(len(tracker.metrics[name].history) for name in rules.limited)])
    chosen = decide(view, rules.risk_of_each, make_rng, first=told == 0, baseline_due=due)
    return places[[chosen.index]], chosen.reason


def _view(outlook: Outlook, objective: Belief, places: Places, make_rng: RNGFactory) -> View:
    """What is believed of places, and which of them can be reached."""
    limits = outlook.live.rules.limits
    beliefs = [outlook.metric(limit.metric) for limit in limits]
    mean, variance, score = objective.judge(outlook.t, places, make_rng)
    margin, doubt = outlook.margins(places)

    def covariance(limit: int, rows: Indices, columns: Indices) -> Array:
        return beliefs[limit].covariance(outlook.t, places[rows], places[columns])

    def index(place: Places) -> int:
        same = places == place if are_indices(places) else (places == place).all(axis=1)
        return int(np.flatnonzero(same)[0])

    return View(
        score=score,
        mean=mean,
        std=np.sqrt(variance),
        margin=margin,
        doubt=doubt,
        reachable=outlook.reachable(places),
        price=outlook.setup.distances.price(places, outlook.running) / HORIZON,
        noise=np.array([belief.noise for belief in beliefs]),
        covariance=covariance,
        called_safe=tuple(index(place) for place in outlook.called_safe),
        baseline=None if outlook.baseline is None else index(outlook.baseline),
        horizon=HORIZON,
        avoided=outlook.lead.avoidance().avoids(places),
        factor=np.array([outlook.factor(limit) for limit in limits]),
    )


def _gain(
    outlook: Outlook, objective: Belief, view: View, places: Places
) -> tuple[float, float] | None:
    """The gain of the best safe place over the baseline, and its deviation; None without one."""
    if view.baseline is None:
        return None
    kept = safe(view.margin, view.doubt, outlook.live.rules.risk_of_each)
    best = int(np.argmax(np.where(kept | ~kept.any(), view.mean, -np.inf)))
    pair = [best, view.baseline]
    shared = objective.covariance(outlook.t, places[pair[:1]], places[pair[1:]])
    variance = float(np.square(view.std[pair]).sum() - 2.0 * shared[0, 0])
    return float(view.mean[best] - view.mean[view.baseline]), sqrt(max(variance, 0.0))
