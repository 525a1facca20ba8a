"""How the tuning of a running system goes: what runs, why it was asked for, what was gained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from heliotrope.live import Trust
from heliotrope.live.gains import Gain, TotalGain
from heliotrope.study.commands import Evaluation, Measurement, point_of
from heliotrope.study.config import StudyConfig
from heliotrope.validation import Json, as_number, as_whole

_REMEMBERED = 1000  # asks whose reasons are kept
_CHOSEN = ("params", "option")


class Progress:
    """What a study with goals knows beside its metrics; nothing in a study without goals.

    ``applied`` are the params or the option that run now. ``reasons`` are those of the latest asks,
    by number. ``trust`` says how far the predictions of limited metrics were off.
    """

    def __init__(self, config: StudyConfig) -> None:
        self._goals = config.goals
        self.applied = config.applied
        self.reasons: dict[int, str] = {}
        self.at_baseline = 0  # number of asks
        self.trust = {name: Trust() for name in config.limited}
        self.total = TotalGain()

    def begin(self, number: int, body: Mapping[str, Any]) -> None:
        """Take an asked event."""
        if "reason" in body:
            self.reasons[number] = str(body["reason"])
            if len(self.reasons) > _REMEMBERED:
                del self.reasons[next(iter(self.reasons))]
        if self._goals is not None and _chosen(body) == self._goals.baseline:
            self.at_baseline += 1

    def tell(
        self,
        number: int,
        body: Mapping[str, Any],
        told: Evaluation | None,
        results: Mapping[str, Measurement],
    ) -> None:
        """Take a told event; what was asked for runs from then on."""
        for name, error in errors_in(body).items():
            believed = self.reasons.get(number) != "fallback"
            value, _ = results[name]
            self.trust[name] = self._trust_after(name, error, value, believed=believed)
        if number in self.reasons and told is not None:
            self.applied = point_of(told)

    def _trust_after(self, name: str, error: float, value: float, *, believed: bool) -> Trust:
        """The trust in a limited metric's belief after a result where it was believed safe."""
        assert self._goals is not None
        rules = self._goals.rules
        crossed = believed and rules.crosses(name, value)
        return self.trust[name].after(error, crossed=crossed, risk=rules.risk)

    def apply(self, body: Mapping[str, Any]) -> None:
        """Take an applied event."""
        self.applied = {name: body[name] for name in _CHOSEN if name in body}

    def gain(self, body: Mapping[str, Any]) -> None:
        """Take a gained event."""
        mean, std, baseline = (as_number(one, "a gain") for one in body["gain"])
        self.total = self.total.after(Gain(mean, std, baseline))

    def to_json(self) -> Json:
        """The progress as a part of a snapshot."""
        if self._goals is None:
            return {}
        known = {
            "at_baseline": self.at_baseline,
            "applied": self.applied,
            "reasons": list(self.reasons.items()),
            "trust": {name: astuple(trust) for name, trust in self.trust.items()},
            "total": astuple(self.total),
        }
        return {"progress": known}

    @classmethod
    def from_json(cls, config: StudyConfig, header: Mapping[str, Any]) -> Progress:
        """Read the progress in a snapshot."""
        found = cls(config)
        if config.goals is None:
            return found
        known = header["progress"]
        found.at_baseline = as_whole(known["at_baseline"], "at_baseline", least=0)
        found.applied = None if known["applied"] is None else dict(known["applied"])
        found.reasons = {as_whole(n, "number", least=0): str(why) for n, why in known["reasons"]}
        found.trust = {name: Trust(*numbers) for name, numbers in known["trust"].items()}
        found.total = TotalGain(*known["total"])
        return found


def errors_in(body: Mapping[str, Any]) -> dict[str, float]:
    """How far a told event's results of limited metrics were from what was expected."""
    found = body.get("error", {})
    return {name: as_number(error, "error") for name, error in found.items()}


def _chosen(body: Mapping[str, Any]) -> Any:
    """The params or the option of an asked event."""
    return body["params"] if "params" in body else body.get("option")
