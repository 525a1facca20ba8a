"""The tracker: what a running system's results mean, and what to measure next.

Methods under *deciding* change nothing. Methods under *applying* are the only ones that
change the state. An optimizer keeps its tracker in memory; a study writes an event for each change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Places, are_indices, initial_count
from heliotrope.errors import InputError
from heliotrope.ledger import Suggestion
from heliotrope.live.beliefs import (
    Belief,
    Gain,
    TotalGain,
    Trust,
    hold_until,
    standardized_error,
)
from heliotrope.live.choosing import HORIZON, Reason, View, candidates, decide, safe
from heliotrope.live.rules import Mask, Rules
from heliotrope.precision import Precision
from heliotrope.serialization.codec import Arrays, JsonTree, part, under
from heliotrope.surroundings import RNGFactory
from heliotrope.tracker.metric import Metric
from heliotrope.tracker.outlook import Outlook, Setup
from heliotrope.validation import Array, Indices, Json, as_whole

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

    def begin(self, number: int, choice: Array, reason: str | None) -> None:
        """Note that a choice was asked for."""
        if reason is not None:
            self.reasons[number] = reason
            if len(self.reasons) > _REMEMBERED:
                del self.reasons[next(iter(self.reasons))]
        if self._baseline is not None and np.array_equal(choice, self._baseline):
            self.at_baseline += 1

    def tell(
        self, number: int, choice: Array, values: Mapping[str, float], errors: Mapping[str, float]
    ) -> None:
        """Take results and their errors; a choice that the rules asked for runs from now on."""
        rules, reason = self._rules, self.reasons.get(number)
        for name, error in errors.items():
            crossed = reason != "fallback" and rules.crosses(name, values[name])
            self.trust[name] = self.trust[name].after(error, crossed=crossed, risk=rules.risk)
        if reason is not None:
            self.applied = choice

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

    def propose(self, t: float | None, context: ArrayLike | None) -> Suggestion:
        """What to measure next at time t, and why."""
        own = self.lead.propose(t, context)
        if self.setup is None:
            return own
        place, reason = self._chosen(own)
        return replace(self.lead.suggestion_of(place, own.t), reason=reason)

    def outlook(self, t: float, context: Array | None) -> Outlook:
        """The beliefs at a present or future time."""
        return Outlook(self.rules, context, self.metrics, t, self.progress.trust)

    def hold(self, t: float, context: Array | None, cost: float) -> float | None:
        """Until when a measurement is not worth its cost; None if it is worth it at time t."""
        outlook, domain = self.outlook(t, context), self.rules.adapter.choice_domain
        if not outlook.is_known() or self.told < initial_count(domain):
            return None
        places = outlook.places()
        places = places[outlook.safe(places)]
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
        self.progress.begin(suggestion.id, suggestion.choice, suggestion.reason)

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
        self._note(asked, results, errors)

    def tell_late(self, asked: Suggestion, results: Results) -> None:
        """Take results of an evaluation that was cancelled."""
        for name, result in results.items():
            self.metrics[name].tell_late(asked, *result)
        self._note(asked, results, {})

    def _note(self, asked: Suggestion, results: Results, errors: Mapping[str, float]) -> None:
        self.told += 1
        values = {name: value for name, (value, _) in results.items()}
        self.progress.tell(asked.id, asked.choice, values, errors)

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

    # ---- files

    def parts(self) -> tuple[JsonTree, Arrays]:
        """The state of all metrics but the leading one, and the progress, as JSON and arrays."""
        headers, arrays = dict[str, JsonTree](), dict[str, Any]()
        for i, name in enumerate(self._others()):
            headers[name], own = self.metrics[name].parts()
            arrays |= under(f"metric/{i}/", own)
        return {
            "told": self.told,
            "progress": self.progress.to_json(),
            "metrics": headers,
        }, arrays

    def restore(self, header: JsonTree, arrays: Arrays) -> None:
        """Take over what :meth:`parts` returned."""
        self.told = as_whole(header["told"], "told", least=0)
        self.progress.restore(header["progress"])
        for i, name in enumerate(self._others()):
            self.metrics[name].restore(header["metrics"][name], part(arrays, f"metric/{i}/"))

    # ---- private

    def _others(self) -> list[str]:
        return [name for name in self.metrics if name != self.leading]

    def _chosen(self, own: Suggestion) -> tuple[Places, Reason]:
        """The choice by the rules, and why; ``own`` is that of the leading metric's policy."""
        outlook, make_rng = self.outlook(own.t, own.context), self.lead.rng(_PURPOSE)
        progress, asked, rules = self.progress, self.lead.asked, outlook.live.rules
        runs = None if progress.applied is None else outlook.places_of(progress.applied[None])
        opened = [outlook.place_of(suggestion) for suggestion in self.lead.open]
        if self._spreads() and _reachable(outlook, own.place, runs, opened).all():
            return own.place, "first"
        near = (runs, outlook.baseline, *outlook.called_safe, *outlook.visited(), own.place)
        named = [place for place in near if place is not None]
        places = candidates(outlook.choices, named, make_rng)
        objective = outlook.objective(make_rng)
        reachable = _reachable(outlook, places, runs, opened)
        view = _view(outlook, objective, places, reachable, runs, make_rng)
        gain = _gain(outlook, objective, view, places)
        due = gain is not None and rules.remeasure.is_due(asked, progress.at_baseline, *gain)
        told = min([self.told, *(len(self.metrics[name].history) for name in rules.limited)])
        chosen = decide(view, rules.risk_of_each, make_rng, first=told == 0, baseline_due=due)
        return places[[chosen.index]], chosen.reason

    def _spreads(self) -> bool:
        """Whether this is one of the first asks, which are spread where no limit forbids it."""
        setup, asked = self.rules, self.lead.asked
        if setup.live.rules.limits or asked >= initial_count(setup.adapter.choice_domain):
            return False
        return setup.baseline is None or self.progress.at_baseline > 0


def _reachable(
    outlook: Outlook, places: Places, runs: Places | None, opened: Sequence[Places]
) -> Mask:
    """Which places are within the largest move of what runs now, and of all open asks.

    Then every move is small enough, in whatever order open asks are applied.
    """
    if runs is None:
        return np.ones(len(places), dtype=bool)
    near = outlook.setup.distances.reachable(places, [runs, *opened])
    return near if near.any() else outlook.setup.distances.reachable(places, [runs])


def _view(
    outlook: Outlook,
    objective: Belief,
    places: Places,
    reachable: Mask,
    runs: Places | None,
    make_rng: RNGFactory,
) -> View:
    """What is believed of places."""
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
        score,
        mean,
        np.sqrt(variance),
        margin,
        doubt,
        reachable,
        price=outlook.setup.distances.price(places, runs) / HORIZON,
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
    if outlook.baseline is None:
        return None
    kept = safe(view.margin, view.doubt, outlook.live.rules.risk_of_each)
    best = int(np.argmax(np.where(kept | ~kept.any(), view.mean, -np.inf)))
    mean, variance = objective.contrast(outlook.t, places[[best]], outlook.baseline)
    return float(mean[0]), float(np.sqrt(variance[0]))
