"""What the log of a study says, read without the package's own state, and the laws of every log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose, isfinite
from typing import Any

import numpy as np

from heliotrope.domains import Finite
from heliotrope.storage import Event
from heliotrope.study import Evaluation, StudyConfig
from heliotrope.study.clocks import seconds_of
from heliotrope.study.evaluations import point_of

CLOSABLE = {"told": ("open", "expired"), "cancelled": ("open", "expired"), "expired": ("open",)}


@dataclass
class Entry:
    """An evaluation: ``state`` is open, expired, told or cancelled."""

    asked: Evaluation
    times: set[float]  # those that it has had: its own, and earlier ones after a retime
    state: str = "open"
    until: float | None = None
    told: Mapping[str, Any] | None = None


@dataclass
class LogModel:
    """The evaluations of a log by id; each event is checked when it is read."""

    config: StudyConfig
    entries: dict[str, Entry] = field(default_factory=dict)
    by_key: dict[str, str] = field(default_factory=dict)
    applied: list[Any] = field(default_factory=list)
    latest: float = 0.0
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.config.goals is not None and self.config.goals.baseline is not None:
            self.applied.append(self.config.goals.baseline)

    def read(self, events: Sequence[Event]) -> None:
        """Read a whole log, which begins with what was read before."""
        known = len(self.events)
        assert events[:known] == self.events, "the log lost or changed an event"
        for event in events[known:]:
            self.events.append(event)
            assert event.seq == len(self.events)
            self._read(event)

    def in_state(self, *states: str) -> list[str]:
        """The ids of the evaluations in some states, oldest first."""
        return [id for id, entry in self.entries.items() if entry.state in states]

    def _read(self, event: Event) -> None:
        body = event.body
        match body["kind"]:
            case "created":
                assert event.seq == 1
            case "asked":
                self._begin(body, event.at)
            case "told" | "cancelled" | "expired":
                self._end(body, event.at)
            case "prolonged":
                assert self.entries[body["id"]].state == "open"
                self._lease(body, event.at)
            case "retimed":
                assert body["latest"] < self.latest
                self.latest = body["latest"]
                for entry in self.entries.values():
                    entry.times.add(min(*entry.times, self.latest))
            case "applied":
                self.applied.append(body.get("params", body.get("option")))
            case "gained":
                assert self.entries[body["id"]].state == "told"
            case "judged":
                judged = {*body["faults"], *body["plausible"]}
                assert judged <= {*self.in_state("told")}
            case kind:
                assert kind == "learned"

    def _begin(self, body: Mapping[str, Any], at: float) -> None:
        id, key, t = body["id"], body.get("key"), body["t"]
        assert id not in self.entries, "an id was given twice"
        assert id.rpartition("-")[2] == str(len(self.entries))
        assert isfinite(t)
        assert t >= self.latest or not self.entries, "time ran backwards"
        assert key not in self.by_key, "a key was carried out twice"
        self._check_place(body)
        self.latest = t
        self.entries[id] = Entry(Evaluation.from_json(body), {t})
        if key is not None:
            self.by_key[key] = id
        if "lease" in body:
            self._lease(body, at)

    def _check_place(self, body: Mapping[str, Any]) -> None:
        """The place is one of the space, and is described by its words."""
        adapter, place = self.config.adapter, body["place"]
        domain = adapter.domain
        if isinstance(domain, Finite):
            assert 0 <= place < len(domain)
        else:
            assert np.all((np.asarray(place) >= domain.lower) & (np.asarray(place) <= domain.upper))
        words = adapter.describe(place, body.get("context"))
        assert {name: body[name] for name in words} == words

    def _lease(self, body: Mapping[str, Any], at: float) -> None:
        assert isclose(body["until"], at + seconds_of(body["lease"]), rel_tol=1e-12)
        self.entries[body["id"]].until = body["until"]

    def _end(self, body: Mapping[str, Any], at: float) -> None:
        entry, kind = self.entries[body["id"]], body["kind"]
        assert entry.state in CLOSABLE[kind], f"{kind} after {entry.state}"
        if kind == "expired":
            assert entry.until is not None
            assert entry.until < at
        entry.state = kind
        if kind == "told":
            entry.told = body
            self.applied.append(entry.asked.option or entry.asked.params)

    # ---- what was acknowledged

    def check_asked(self, asked: Evaluation, key: str | None) -> Entry:
        """An acknowledged evaluation stands in the log as it was answered."""
        entry = self.entries[asked.id]
        assert asked.t in entry.times
        assert point_of(asked) == point_of(entry.asked)
        assert asked.context == entry.asked.context
        assert key is None or self.by_key[key] == asked.id, "a key has two evaluations"
        return entry

    def check_told(self, id: str, value: Any) -> None:
        """An acknowledged result stands in the log."""
        told = self.entries[id].told
        assert told is not None, "a result was lost"
        assert told["value"] == (value if isinstance(value, Mapping) else {"value": value})
