"""The state of a study after the events of its log, which are versioned JSON."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from heliotrope.domains import DomainAdapter
from heliotrope.errors import (
    ClosedSuggestionError,
    FormatError,
    HeliotropeError,
    InputError,
)
from heliotrope.ledger import Observation, Suggestion
from heliotrope.live.beliefs import Gain
from heliotrope.serialization import archive
from heliotrope.serialization.codec import Arrays, part, under
from heliotrope.storage import EventBody
from heliotrope.study.asks import Ids, Keys, Leases
from heliotrope.study.commands import Evaluation, Measurement, Tell, as_key, point_of
from heliotrope.study.config import StudyConfig
from heliotrope.study.metrics import StudyMetric, named_results
from heliotrope.study.space_adapter import default_context
from heliotrope.tracker import Tracker
from heliotrope.tracker.archives import FORMAT, VERSION as ARCHIVE, restore
from heliotrope.validation import Json, as_number, as_positive, as_whole, short_repr

VERSION = 1  # of all events
_SNAPSHOT = 1  # version of snapshots: others are not read, and the events are replayed
_KIND = "heliotrope.study"
_MARKS = "ids/marks"  # array of a snapshot


def created_event(config: StudyConfig) -> EventBody:
    """The first event of a study."""
    return {"v": VERSION, "kind": "created", "setup": {"seed": 0, **config.to_json()}}


def config_of(body: Mapping[str, Any]) -> StudyConfig:
    """The configuration in the first event."""
    _check_version(body)
    if body.get("kind") != "created":
        raise FormatError("a created event first", json.dumps(body)[:80])
    try:
        return StudyConfig.from_json(body["setup"])
    except InputError as error:
        raise FormatError("the configuration of a study", str(error)) from error


class StudyState:
    """The state after some events, which are applied in their order.

    A new state holds the first event alone; :meth:`extend` applies the others.
    """

    def __init__(self, uid: str, config: StudyConfig, created: float) -> None:
        self.uid, self.config, self.created = uid, config, created
        adapter = DomainAdapter(config.adapter.problem)
        self.metrics = {
            name: StudyMetric(of_metric, adapter, config.limits_of(name))
            for name, of_metric in config.metrics.items()
        }
        self.tracker = self._tracker_of(self.metrics)
        self.seq = 1
        self.context = default_context(config.context)  # later that of the latest ask
        self._bare = True  # the optimizers have no policy yet
        self.keys, self.leases, self.ids = Keys(), Leases(), Ids(uid)

    def _tracker_of(self, metrics: Mapping[str, StudyMetric]) -> Tracker:
        adapter = metrics[self.config.lead].adapter
        return Tracker(self.config.lead, metrics, self.config.setup(adapter))

    # ---- the leading metric, which the others follow

    @property
    def lead(self) -> StudyMetric:
        return self.metrics[self.tracker.leading]

    @property
    def told(self) -> int:
        """Number of evaluations with a result."""
        return self.tracker.told

    # ---- events applied

    def extend(self, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Apply the next events; after a FormatError this state cannot be used any more.

        Building a policy and replaying results takes long, so only the policy of the last model is
        built. If that model is taken stepwise, the policy before it is built, too.
        """
        first_built = self._first_built(bodies)
        for name, metric in self.metrics.items():
            if self._bare:
                metric.renew()
            if name in first_built:
                metric.rest(resting=True)
        for i, body in enumerate(bodies):
            with _fitting(body):
                if i in first_built.values():
                    self.metrics[self._named(body)].rest(resting=False)
                self.apply(body)
        self._bare = False

    def _first_built(self, bodies: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        """By metric, the position of the first event whose model needs a policy, if any does."""
        before, built = dict[str, int](), dict[str, int]()
        for i, body in enumerate(bodies):
            if body.get("kind") == "learned":
                name = self._named(body)
                if "contradicted" not in body:
                    built[name] = i
                elif name in before:
                    built[name] = before[name]
                before[name] = i
        return built

    def apply(self, body: Mapping[str, Any]) -> None:
        """Apply the next event."""
        _check_version(body)
        kind = body.get("kind")
        if kind == "asked":
            self._apply_asked(body)
        elif kind == "told":
            self._apply_told(body)
        elif kind == "cancelled":
            self._apply_cancelled(body)
        elif kind == "expired":
            self._apply_expired(body["id"])
        elif kind == "prolonged":
            self.leases.begin(self.ids.number_of(body["id"]), body["lease"], body["until"])
        elif kind == "retimed":
            self._apply_retimed(as_number(body["latest"], "latest"))
        elif kind == "applied":
            chosen = body["params"] if "params" in body else body["option"]
            self.tracker.apply(self.config.adapter.choice_point(chosen))
        elif kind == "gained":
            self.tracker.gain(Gain(*(as_number(number, "a gain") for number in body["gain"])))
        elif kind == "learned":
            self.metrics[self._named(body)].learn(body, self._contradicted(body))
        elif kind == "judged":
            self._apply_judged(body)
        elif kind == "continued":
            self._apply_continued(body)
        else:
            raise FormatError("a kind of event that this version knows", repr(kind)[:60])
        self.seq += 1

    def _contradicted(self, body: Mapping[str, Any]) -> dict[int, float] | None:
        """The variances in a learned event that is taken stepwise, by number; None in others."""
        variances = body.get("contradicted")
        if variances is None:
            return None
        return {
            self.ids.number_of(id): as_positive(variance, "contradicted")
            for id, variance in variances.items()
        }

    def _named(self, body: Mapping[str, Any]) -> str:
        """The metric that a learned or a judged event is about."""
        return str(body.get("metric", self.config.lead))

    def _apply_continued(self, body: Mapping[str, Any]) -> None:
        """Continue from the snapshot in an optimizer's file, before any ask."""
        data = b64decode(body["snapshot"], validate=True)
        header, arrays = archive.unpack_flat(data, FORMAT, ARCHIVE, "an event")
        restore(self.tracker, header["snapshot"], arrays)
        for metric in self.metrics.values():
            metric.take_over()
        self.ids.begin(self.lead.asked, as_whole(body["mark"], "mark", least=0))

    def _apply_judged(self, body: Mapping[str, Any]) -> None:
        metric = self.metrics[self._named(body)]
        faults, plausible = (
            {self.ids.number_of(id) for id in body[name]} for name in ("faults", "plausible")
        )
        metric.faults = (metric.faults | faults) - plausible

    def judge(self, name: str) -> EventBody | None:
        """The event that says which results are newly taken for faults, and which no longer."""
        metric = self.metrics[name]
        faults = metric.found_faults()
        if faults == metric.faults:
            return None
        named = {
            "faults": [self.ids.of(number) for number in sorted(faults - metric.faults)],
            "plausible": [self.ids.of(number) for number in sorted(metric.faults - faults)],
        }
        return {"v": VERSION, "kind": "judged", **named, **self.config.about(name)}

    def _apply_told(self, body: Mapping[str, Any]) -> None:
        results = named_results(self.config, Tell.of_event(body).measured)
        number = self.ids.number_of(body["id"])
        expired = self.leases.expired(number)
        if expired is None:
            self.tracker.tell(self.lead.suggestion(number), results, errors_in(body))
        else:
            t, place = expired
            late = self.lead.adapter.suggestion_at(number, t, place)
            self.tracker.tell_late(late, results)
        self._close(body["id"])

    def _apply_cancelled(self, body: Mapping[str, Any]) -> None:
        """Close an ask for good; if its lease has expired, only note the place to avoid."""
        expired = self.leases.expired(self.ids.number_of(body["id"]))
        number = self._close(body["id"])
        if expired is None:
            self.tracker.cancel(number, avoid=True)
        else:
            self.tracker.avoid(self.lead.adapter.suggestion_at(number, *expired))

    def _apply_expired(self, id: str) -> None:
        """Close an ask without a result; its place is not avoided, since a worker may have died."""
        suggestion = self.lead.suggestion(self._close(id))
        self.tracker.cancel(suggestion.id, avoid=False)
        self.leases.expire(suggestion)

    def _apply_retimed(self, latest: float) -> None:
        self.tracker.set_back(latest)
        self.leases.set_back(latest)

    def _close(self, id: str) -> int:
        """Note that an evaluation is closed; return its number."""
        number = self.ids.number_of(id)
        self.leases.close(number)
        self.keys.close(id)
        return number

    def _apply_asked(self, body: Mapping[str, Any]) -> None:
        self.ids.add(body["id"])
        asked, reason = self.lead.placed(body["place"], body["t"]), body.get("reason")
        self.tracker.begin(replace(asked, reason=None if reason is None else str(reason)))
        if "lease" in body:
            self.leases.begin(asked.id, body["lease"], body["until"])
        if self.context is not None:
            self.context = dict(body["context"])
        if "key" in body:
            self.keys.begin(as_key(body["key"]), body["id"])

    def time(self, seconds: float) -> float:
        """The time by the clock at a wall time, or the latest time seen if that is later."""
        at = self.config.clock.at(seconds, self.created)
        return self.lead.latest if at is None else max(at, self.lead.latest)

    # ---- evaluations

    @property
    def open(self) -> list[Evaluation]:
        """Open evaluations, oldest first."""
        return [self._evaluation(suggestion) for suggestion in self.lead.open]

    def open_evaluation(self, id: str) -> Evaluation:
        """The open evaluation whose key was found again; ClosedSuggestionError if it is closed."""
        number = self.ids.number_of(id)
        if self.lead.is_open(number):
            return self._evaluation(self.lead.suggestion(number))
        self.leases.check_open(number, id)
        end = "cancelled" if self.result_of(number) is None else "told"
        raise ClosedSuggestionError(
            "the key of a new or an open ask",
            f"that of a closed one ({id}, {end})",
            "Take a new key for each ask.",
            "key",
        )

    def told_evaluation(self, id: str) -> Evaluation | None:
        """The evaluation of an id if its result was told."""
        told = self._told(self.ids.number_of(id))
        if told is None:
            return None
        place = told.x if told.index is None else told.index
        return Evaluation(id, told.t, **self.config.adapter.describe(place))

    @property
    def applied(self) -> Json | None:
        """The ``params`` or the ``option`` that runs now, if it is known."""
        applied = self.tracker.progress.applied
        return None if applied is None else self.config.adapter.describe_choice(applied)

    def gain_of(self, id: str) -> Gain | None:
        """The believed gain over the baseline at an evaluation that was told."""
        number = self.ids.number_of(id)
        told = self._told(number)
        if told is None:
            return None
        return self.tracker.gain_of(self.lead.adapter.suggestion(number, told.t, told.place))

    def _told(self, number: int) -> Observation | None:
        """An evaluation's result of any metric; None without any."""
        results = (metric.history.of(number) for metric in self.metrics.values())
        return next(filter(None, results), None)

    def point_of(self, id: str) -> dict[str, Any] | None:
        """The ``params`` or ``option`` of an evaluation; None if it was cancelled."""
        number = self.ids.number_of(id)
        if self.lead.is_open(number):
            asked: Evaluation | None = self.open_evaluation(id)
        elif (expired := self.leases.expired(number)) is not None:
            t, place = expired
            asked = Evaluation(id, t, **self.config.adapter.describe(place))
        else:
            asked = self.told_evaluation(id)
        return None if asked is None else point_of(asked)

    def result_of(self, number: int) -> dict[str, Measurement] | None:
        """The value and precision told for each metric of an evaluation; None without any."""
        results = {name: metric.result_of(number) for name, metric in self.metrics.items()}
        return {name: result for name, result in results.items() if result is not None} or None

    def _evaluation(self, suggestion: Suggestion) -> Evaluation:
        adapter = self.config.adapter
        words = adapter.describe(adapter.place_of_suggestion(suggestion))
        lease = self.leases.of(suggestion.id)
        until = None if lease is None else lease.until
        id = self.ids.of(suggestion.id)
        return Evaluation(id, suggestion.t, **words, until=until, reason=suggestion.reason)

    # ---- snapshots

    def dumps(self) -> bytes:
        """The state as a snapshot, without the configuration, which is in the first event."""
        lead, arrays = self.lead.saved()
        metrics = dict[str, Any]()
        for i, (name, metric) in enumerate(self._others()):
            metrics[name], own = metric.saved()
            arrays |= under(f"metric/{i}/", own)
        header = {
            "format": _KIND,
            "version": _SNAPSHOT,
            "seq": self.seq,
            "told": self.told,
            **({} if self.config.goals is None else {"metrics": metrics}),
            "progress": self.tracker.progress.to_json(),
            **self.keys.to_json(),
            **self.leases.to_json(),
            **({} if self.context is None else {"context": self.context}),
            **lead,
        }
        return archive.pack_flat(header, {**arrays, _MARKS: self.ids.to_array()})

    def loads(self, data: bytes) -> None:
        """Restore a snapshot of this study; a FormatError changes nothing."""
        header, arrays = archive.unpack_flat(data, _KIND, _SNAPSHOT, "a snapshot")
        with archive.readable("a snapshot of a study", "a snapshot"):
            metrics = self._metrics_of(header, arrays)
            lead, seq = metrics[self.config.lead], as_whole(header["seq"], "seq", least=1)
            tracker = self._tracker_of(metrics)
            tracker.told = as_whole(header["told"], "told", least=0)
            tracker.progress.restore(header["progress"])
            keys, leases, ids = Keys.from_json(header), Leases.from_json(header), Ids(self.uid)
            ids.restore(arrays[_MARKS], lead.asked)
        self.leases, self.ids, self.keys = leases, ids, keys
        self.metrics, self.tracker, self.seq = metrics, tracker, seq
        self.context, self._bare = header.get("context"), False

    def _others(self) -> list[tuple[str, StudyMetric]]:
        """The metrics that do not lead."""
        return [item for item in self.metrics.items() if item[0] != self.config.lead]

    def _metrics_of(self, header: Json, arrays: Arrays) -> dict[str, StudyMetric]:
        """The metrics in a snapshot, in their order."""
        restored = {self.config.lead: self.lead.restored(header, arrays)}
        for i, (name, metric) in enumerate(self._others()):
            inner, own = header["metrics"][name], part(arrays, f"metric/{i}/")
            restored[name] = metric.restored(inner, own)
        return {name: restored[name] for name in self.metrics}


def _check_version(body: Mapping[str, Any]) -> None:
    if body.get("v") != VERSION:
        got = f"version {short_repr(body.get('v'))}"
        raise FormatError(f"events of version {VERSION}", got, archive.ITS_WRITER)


def errors_in(body: Mapping[str, Any]) -> dict[str, float]:
    """How far a told event's results of limited metrics were from what was expected."""
    errors = body.get("error", {})
    return {name: as_number(error, "error") for name, error in errors.items()}


@contextmanager
def _fitting(body: Mapping[str, Any]) -> Iterator[None]:
    """Raise a FormatError for an event that cannot be applied."""
    try:
        yield
    except FormatError:
        raise
    except (HeliotropeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError("an event that fits those before", json.dumps(body)[:80]) from error
