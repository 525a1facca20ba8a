"""The progress of the tuning: what runs now, why each ask was chosen, and what was gained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import numpy as np

from heliotrope.live.beliefs import Trust
from heliotrope.live.gains import Gain, TotalGain
from heliotrope.live.rules import Rules
from heliotrope.tracker.setup import Setup
from heliotrope.validation import Array, Json, as_whole

__all__ = ["Progress"]

_REMEMBERED = 1000  # asks whose reasons are kept


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

    def apply(self, choice: Array) -> None:
        """Note that a choice runs now."""
        self.applied = choice

    def gain(self, gain: Gain) -> None:
        """Add the gain of an evaluation."""
        self.total = self.total.after(gain)

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
