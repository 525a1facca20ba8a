"""The tracker: what a running system's results mean, and what to measure next.

Methods under *deciding* change nothing. Methods under *applying* are the only ones that
change the state. An optimizer keeps its tracker in memory; a study writes an event for each change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from heliotrope.domains import Places, initial_count
from heliotrope.errors import InputError
from heliotrope.ledger import Suggestion
from heliotrope.live.beliefs import Trust, standardized_error
from heliotrope.live.choosing import Standing
from heliotrope.live.deciding import Reason
from heliotrope.live.gains import Gain
from heliotrope.live.holding import hold_until
from heliotrope.precision import Precision
from heliotrope.serialization.codec import Arrays, JsonTree, part, under
from heliotrope.tracker.metric import Metric
from heliotrope.tracker.outlook import Outlook
from heliotrope.tracker.progress import Progress
from heliotrope.tracker.setup import Setup
from heliotrope.validation import Array, as_whole

__all__ = ["Results", "Tracker"]

_PURPOSE = 2  # of the random stream: not that of a metric's own choice

Results = Mapping[str, tuple[float, Precision]]
"""Values and precisions by metric."""


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
        return Outlook(self.rules, self.metrics, t, context, self.progress.trust)

    def hold(self, t: float, context: Array | None, cost: float) -> float | None:
        """Until when a measurement is not worth its cost; None if it is worth it at time t."""
        outlook, setup = self.outlook(t, context), self.rules
        if not outlook.is_known() or self.told < initial_count(setup.adapter.choice_domain):
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
        return outlook.gain(outlook.place(told.choice))

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
        self.progress.apply(choice)

    def gain(self, gain: Gain) -> None:
        """Add the gain of an evaluation to the total."""
        self.progress.gain(gain)

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
        standing = self._standing(outlook, own.place)
        chooser = replace(outlook.chooser(make_rng), avoids=self.lead.avoidance().avoids)
        if self._spreads(standing) and chooser.reachable(own.place, standing).all():
            return own.place, "first"
        return chooser.choose(standing, own.t, make_rng)

    def _standing(self, outlook: Outlook, own: Places) -> Standing:
        """What runs now, what is open, and what was measured."""
        progress = self.progress
        return Standing(
            baseline=outlook.baseline,
            known=outlook.known,
            applied=None if progress.applied is None else outlook.place(progress.applied),
            open=tuple(outlook.of_open(suggestion) for suggestion in self.lead.open),
            visited=(*outlook.visited(), own),
            asked=self.lead.asked,
            at_baseline=progress.at_baseline,
            told=min([self.told, *(len(self.metrics[name].history) for name in progress.trust)]),
        )

    def _spreads(self, standing: Standing) -> bool:
        """Whether this is one of the first asks, which are spread where no limit forbids it."""
        setup = self.rules
        if setup.live.rules.limits or standing.asked >= initial_count(setup.adapter.choice_domain):
            return False
        return setup.baseline is None or standing.at_baseline > 0
