"""The state of a study after the events of its log, which are versioned JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from heliotrope.errors import (
    ClosedSuggestionError,
    FormatError,
    HeliotropeError,
    InputError,
)
from heliotrope.estimation import Model
from heliotrope.history import Suggestion
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Uniform
from heliotrope.policies.learner import Update, due_from_json
from heliotrope.precision import Precision
from heliotrope.serialization import archive
from heliotrope.storage import EventBody
from heliotrope.study.commands import Evaluation, Tell, as_key
from heliotrope.study.config import StudyConfig
from heliotrope.study.ids import Ids
from heliotrope.study.leases import Leases
from heliotrope.validation import as_number, as_whole

VERSION = 1  # of events
VERSION_WITH_NOISE = (
    2  # of events of results with their own noise; older versions of heliotrope refuse it
)
VERSION_WITH_MARKS = 2  # of asked events: their ids have marks, and they may have leases
VERSION_WITH_LEARNER = 2  # of learned events and of snapshots: both are those of the one learner
REPLAYED = 300  # latest results that a new policy is given
_KIND = "heliotrope.study"
_NEWEST = {
    "told": VERSION_WITH_NOISE,
    "asked": VERSION_WITH_MARKS,
    "learned": VERSION_WITH_LEARNER,
}
_MARKS = "ids/marks"  # array of a snapshot
_REMEMBERED = 1000  # closed asks whose keys are kept


def created_event(config: StudyConfig) -> EventBody:
    """The first event of a study."""
    return {"v": VERSION, "kind": "created", "setup": {"seed": 0, **config.to_json()}}


def config_of(body: Mapping[str, Any]) -> StudyConfig:
    """The configuration in the first event."""
    if body.get("kind") != "created" or body.get("v") != VERSION:
        raise FormatError("a created event first", json.dumps(body)[:80], "Update heliotrope.")
    try:
        return StudyConfig.from_json(body["setup"])
    except InputError as error:
        raise FormatError("the configuration of a study", str(error)) from error


class Keys:
    """The ids of all open asks with a key, and of the latest closed ones, by key.

    An ask that is repeated with its key is no new ask.
    """

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._closed: dict[str, str] = {}  # oldest first
        self._key_of: dict[str, str] = {}  # keys of open asks by id

    def begin(self, key: str, id: str) -> None:
        self._closed.pop(key, None)
        self._open[key] = id
        self._key_of[id] = key

    def close(self, id: str) -> None:
        """Note that an ask, with or without a key, is closed."""
        key = self._key_of.pop(id, None)
        if key is None:
            return
        del self._open[key]
        self._closed[key] = id
        if len(self._closed) > _REMEMBERED:
            del self._closed[next(iter(self._closed))]

    def find(self, key: str | None) -> str | None:
        """The id of the ask with a key, or None."""
        return None if key is None else self._open.get(key) or self._closed.get(key)

    def to_json(self) -> dict[str, Any]:
        return {"keys": self._open, "closed_keys": self._closed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Keys:
        """Read the keys of a snapshot; earlier versions kept only open ones."""
        keys = cls()
        for key, id in data["keys"].items():
            keys.begin(key, id)
        keys._closed = dict(data.get("closed_keys", {}))
        return keys


class StudyState:
    """The state after some events, which are applied in their order.

    A new state holds the first event alone; :meth:`extend` applies the others.
    """

    def __init__(self, uid: str, config: StudyConfig, created: float) -> None:
        self.uid, self.config, self.created = uid, config, created
        self.model, self.seq = Model(), 1
        self.optimizer = Optimizer(config.adapter.problem, Uniform(), config.seed or 0)
        self.context = config.adapter.default_context()  # later that of the latest ask
        self._bare = True  # the optimizer has no policy yet
        self.keys, self.leases, self.ids = Keys(), Leases(), Ids(uid)
        self.since = -np.inf  # time of the last level shift: earlier results do not count
        self.faults = frozenset[int]()  # numbers of the results that are taken for faults

    # ---- events applied

    def extend(self, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Apply the next events; after a FormatError this state cannot be used any more.

        Building a policy and replaying results takes long, so only the last one is built.
        """
        if self._bare:
            self._renew()
        learned = [i for i, body in enumerate(bodies) if body.get("kind") == "learned"]
        learner = self.optimizer.learner
        if learned and learner is not None:
            learner.rest()
        for i, body in enumerate(bodies):
            if learner is not None and i in learned[-1:]:
                learner.rest(resting=False)
            with _fitting(body):
                self.apply(body)
        self._bare = False

    def apply(self, body: Mapping[str, Any]) -> None:
        """Apply the next event."""
        kind = body.get("kind")
        newest = _NEWEST.get(str(kind), VERSION)
        if body.get("v") not in (VERSION, newest):
            raise FormatError(
                f"events of version {newest}", f"version {body.get('v')!r}", "Update heliotrope."
            )
        if kind == "asked":
            self._apply_asked(body)
        elif kind == "told":
            self._apply_told(body)
        elif kind == "cancelled":
            self.optimizer.cancel(self._close(body["id"]))
        elif kind == "expired":
            self._apply_expired(body["id"])
        elif kind == "prolonged":
            self.leases.begin(self.ids.number_of(body["id"]), body["lease"], body["until"])
        elif kind == "retimed":
            self._apply_retimed(as_number(body["latest"], "latest"))
        elif kind == "learned":
            self._apply_learned(body)
        elif kind == "judged":
            self._apply_judged(body)
        else:
            raise FormatError("a kind of event that this version knows", repr(kind)[:60])
        self.seq += 1

    def _apply_learned(self, body: Mapping[str, Any]) -> None:
        if self.optimizer.learner is None:
            raise FormatError("a policy that learns its model", "one with a given model")
        model, due = Model.from_json(body["model"]), due_from_json(body)
        model = model.of_dimension(self.optimizer.domain.dimension)
        self.optimizer.learner.update(Update(model.signed(self.config.sign), due))
        self.model, self.since = model, -np.inf if due.back else max(due.since, self.since)

    def _apply_judged(self, body: Mapping[str, Any]) -> None:
        faults, plausible = (
            {self.ids.number_of(id) for id in body[name]} for name in ("faults", "plausible")
        )
        self.faults = (self.faults | faults) - plausible

    def judge(self) -> EventBody | None:
        """The event that says which results are newly taken for faults, and which no longer."""
        learner = self.optimizer.learner
        found = self.faults if learner is None else learner.faults(self.faults)
        if found == self.faults:
            return None
        named = {
            "faults": [self.ids.of(number) for number in sorted(found - self.faults)],
            "plausible": [self.ids.of(number) for number in sorted(self.faults - found)],
        }
        return {"v": VERSION, "kind": "judged", **named}

    def _renew(self) -> None:
        self.optimizer.reconsider(self.config.build(), last=REPLAYED)

    def _apply_told(self, body: Mapping[str, Any]) -> None:
        value, precision = Tell.of_event(body).measured
        number, y = self.ids.number_of(body["id"]), self.config.sign * value
        expired = self.leases.expired(number)
        if expired is None:
            self.optimizer.observe(number, y, precision)
        else:
            t, place = expired
            self.optimizer.observe_cancelled(number, place, t, y, precision)
        if expired is not None and self.optimizer.learner is None:
            self._renew()
        self._close(body["id"])

    def _apply_expired(self, id: str) -> None:
        suggestion = self.optimizer.suggestion(self._close(id))
        self.optimizer.cancel(suggestion)
        self.leases.expire(suggestion)

    def _apply_retimed(self, latest: float) -> None:
        self.optimizer.set_back(latest)
        self.leases.set_back(latest)
        self.since = min(self.since, latest)
        if self.optimizer.learner is None:
            self._renew()

    def _close(self, id: str) -> int:
        """Note that an evaluation is closed; return its number."""
        number = self.ids.number_of(id)
        self.leases.close(number)
        self.keys.close(id)
        return number

    def _apply_asked(self, body: Mapping[str, Any]) -> None:
        self.ids.add(body["id"])
        number = self.optimizer.begin(self.config.adapter.logged_place(body), body["t"]).id
        if "lease" in body:
            self.leases.begin(number, body["lease"], body["until"])
        if self.context is not None:
            self.context = dict(body["context"])
        if "key" in body:
            self.keys.begin(as_key(body["key"]), body["id"])

    def time(self, seconds: float) -> float:
        """The time by the clock at a wall time, or the latest time seen if that is later."""
        at = self.config.clock.at(seconds, self.created)
        return self.optimizer.latest if at is None else max(at, self.optimizer.latest)

    # ---- evaluations

    @property
    def open(self) -> list[Evaluation]:
        """Open evaluations, oldest first."""
        return [self._evaluation(suggestion) for suggestion in self.optimizer.open]

    def open_evaluation(self, id: str) -> Evaluation:
        """The open evaluation whose key was found again; ClosedSuggestionError if it is closed."""
        number = self.ids.number_of(id)
        if self.optimizer.is_open(number):
            return self._evaluation(self.optimizer.suggestion(number))
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
        told = self.optimizer.history.of(self.ids.number_of(id))
        if told is None:
            return None
        place = told.x if told.index is None else told.index
        return Evaluation(id, told.t, **self.config.adapter.describe(place))

    def point_of(self, id: str) -> dict[str, Any] | None:
        """The ``params`` or ``option`` of an evaluation; None if it was cancelled."""
        number = self.ids.number_of(id)
        if self.optimizer.is_open(number):
            asked: Evaluation | None = self.open_evaluation(id)
        elif (expired := self.leases.expired(number)) is not None:
            t, place = expired
            asked = Evaluation(id, t, **self.config.adapter.describe(place))
        else:
            asked = self.told_evaluation(id)
        return None if asked is None else {"params": asked.params, "option": asked.option}

    def result_of(self, number: int) -> tuple[float, Precision] | None:
        """The value and precision told for an evaluation, or None."""
        told = self.optimizer.history.of(number)
        return None if told is None else (self.config.sign * told.y, told.precision)

    def _evaluation(self, suggestion: Suggestion) -> Evaluation:
        adapter = self.config.adapter
        words = adapter.describe(adapter.place_of_suggestion(suggestion))
        lease = self.leases.of(suggestion.id)
        until = None if lease is None else lease.until
        return Evaluation(self.ids.of(suggestion.id), suggestion.t, **words, until=until)

    # ---- snapshots

    def dumps(self) -> bytes:
        """The state as a snapshot, without the configuration, which is in the first event."""
        optimizer, arrays = self.optimizer.parts()
        header = {
            "format": _KIND,
            "version": VERSION_WITH_LEARNER,
            "faults": sorted(self.faults),
            "seq": self.seq,
            "model": self.model.to_json(),
            **({} if np.isinf(self.since) else {"since": self.since}),
            **self.keys.to_json(),
            **self.leases.to_json(),
            **({} if self.context is None else {"context": self.context}),
            "optimizer": optimizer,
        }
        return archive.pack_flat(header, {**arrays, _MARKS: self.ids.to_array()})

    def loads(self, data: bytes) -> None:
        """Restore a snapshot of this study; a FormatError changes nothing."""
        header, arrays = archive.unpack_flat(data, _KIND, VERSION_WITH_LEARNER, "a snapshot")
        if header["version"] < VERSION_WITH_LEARNER:
            raise FormatError("a snapshot of this version", "an older one")
        with archive.readable("a snapshot of a study", "a snapshot"):
            optimizer = Optimizer.from_parts(header["optimizer"], arrays, "a snapshot")
            model, seq = Model.from_json(header["model"]), as_whole(header["seq"], "seq", least=1)
            keys, since = Keys.from_json(header), float(header.get("since", -np.inf))
            leases, ids = Leases.from_json(header), Ids(self.uid)
            ids.restore(arrays.get(_MARKS), optimizer.asked)
            faults = frozenset(as_whole(one, "a fault", least=0) for one in header["faults"])
        self.leases, self.ids = leases, ids
        self.optimizer, self.model, self.seq = optimizer, model, seq
        self.keys, self._bare = keys, False
        self.context, self.since, self.faults = header.get("context"), since, faults


@contextmanager
def _fitting(body: Mapping[str, Any]) -> Iterator[None]:
    """Raise a FormatError for an event that cannot be applied."""
    try:
        yield
    except FormatError:
        raise
    except (HeliotropeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError("an event that fits those before", json.dumps(body)[:80]) from error
