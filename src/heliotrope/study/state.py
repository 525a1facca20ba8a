"""A study as the state over its events: what was asked, told, cancelled and learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heliotrope.errors import (
    ClosedSuggestionError,
    FormatError,
    UnknownSuggestionError,
)
from heliotrope.estimation import (
    SHORTEST_LEVEL_SHIFT,
    Model,
    Results,
    estimate_robustly,
    is_estimate_due,
    level_shift_length,
    outlier_bounds,
)
from heliotrope.history import Observation, Suggestion
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Uniform
from heliotrope.serialization import archive
from heliotrope.study.commands import Evaluation, as_key, as_value
from heliotrope.study.config import StudyConfig
from heliotrope.study.events import VERSION, Body, fitting
from heliotrope.study.keys import Keys
from heliotrope.study.space_adapter import Context, Place
from heliotrope.validation import as_number, as_whole

_KIND = "heliotrope.study"
_PREFIX = 12  # digits of the uid that an ask's id begins with
_LONGEST = 15  # digits of an ask's number
_SHOWN = 300  # latest results that a policy made anew is shown
_RECENT = 2_000  # latest results that a model is learned from
_FIRST = 50  # results, up to which every model that is learned is taken


class StudyState:
    """The state of a study after some of its events, which are applied in their order.

    A new one is as bare as its first event; :meth:`extend` takes the others.
    """

    def __init__(self, uid: str, config: StudyConfig, created: float) -> None:
        self.uid, self.config, self.created = uid, config, created
        self.model, self.seq = Model(), 1
        self.optimizer = Optimizer(config.adapter.ground, Uniform(), config.seed)
        self.context = config.adapter.middle()  # that of the latest ask, as soon as there is one
        self._bare = True  # whether the optimizer still waits for its policy
        self._keys = Keys()
        self.since = -np.inf  # results of earlier times were of another level, and do not count

    # ---- what the next events are

    def asked(self, t: float | None, key: str | None, context: Context | None = None) -> Body:
        """The event of the next ask, in a context that was given."""
        point = self.config.adapter.point(context)
        return self._asked(self.optimizer.propose(t, context=point), key)

    def asked_at(self, place: Place, t: float | None, key: str | None) -> Body:
        """The event of an ask at a place that was chosen elsewhere."""
        return self._asked(self.optimizer.placed(place, t), key)

    def _asked(self, suggestion: Suggestion, key: str | None) -> Body:
        place = self.config.adapter.place(suggestion)
        body = {"v": VERSION, "kind": "asked", "id": self._id(suggestion.id), "t": suggestion.t}
        body |= {"place": place, **self._shown(place)}
        return body if key is None else {**body, "key": key}

    def told(self, id: str, value: float) -> Body | None:
        """The event of a result; None if the same was told before."""
        number = self._number(id)
        if self.optimizer.is_open(number):
            return {"v": VERSION, "kind": "told", "id": id, "value": value}
        before = self._value(number)
        if before is None:
            raise ClosedSuggestionError("an open ask", f"{id}, which was cancelled", "", "id")
        if before != value:
            raise ClosedSuggestionError(
                f"the value {before!r} that was told before", repr(value), "", "value"
            )
        return None

    def cancelled(self, id: str) -> Body | None:
        """The event of a cancellation; None if it was cancelled before."""
        number = self._number(id)
        if self.optimizer.is_open(number):
            return {"v": VERSION, "kind": "cancelled", "id": id}
        if self._value(number) is not None:
            raise ClosedSuggestionError("an open ask", f"{id}, which has its result", "", "id")
        return None

    def learned(self) -> Body | None:
        """The event of the model that suits the latest results best, if it is time to look."""
        history, given = self.optimizer.history, self.config.given
        if given.complete or not self.config.policy.has_model:
            return None
        results, since = self._counting()
        told = len(history) if np.isinf(since) else int(np.sum(history.t >= since))
        is_known = since == self.since and self.model.outlier_bounds().suit(results.y)
        if not told or (is_known and not is_estimate_due(told)):
            return None
        rates = self.config.policy.rates(results.pace)
        model = estimate_robustly(
            self._latest(_RECENT, since), outlier_bounds(results.y), given, rates
        )
        if is_known and told > _FIRST and model.is_close_to(given.override(self.model)):
            return None
        body = {"v": VERSION, "kind": "learned", "model": model.to_json()}
        return body if np.isinf(since) else {**body, "since": since}

    def _counting(self) -> tuple[Results, float]:
        """The latest results of the level of the very latest, by time, and when that began.

        Those of the same time as the last of the old level do not count: when it began is a time.
        """
        results = self._latest(_SHOWN, self.since)
        length_scale = self.config.given.override(self.model).length_scale
        last = level_shift_length(results.y, lambda: results.x, length_scale)
        later = results.at(results.t > results.t[-last - 1]) if last else results
        if not last or len(later.t) < SHORTEST_LEVEL_SHIFT:
            return results, self.since
        return later, float(later.t[0])

    def _latest(self, count: int, since: float) -> Results:
        """The latest results of times since then, by time."""
        t, x, y = self.optimizer.history.latest(count)
        first = int(np.searchsorted(t, since))
        return Results(t[first:], x[first:], self.config.sign * y[first:])

    # ---- events applied

    def extend(self, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Take the next events; if one is refused, this state is of no more use.

        Making a policy and showing it results takes long, so none is made but the last.
        """
        learned = [i for i, body in enumerate(bodies) if body.get("kind") == "learned"]
        if learned:
            self.optimizer.reconsider(Uniform(), last=0)
        elif self._bare:
            self._renew()
        for i, body in enumerate(bodies):
            with fitting(body):
                self._apply(body, renewing=i in learned[-1:])
        self._bare = False

    def apply(self, body: Mapping[str, Any]) -> None:
        """Take the next event."""
        self._apply(body, renewing=True)

    def _apply(self, body: Mapping[str, Any], *, renewing: bool) -> None:
        kind = body.get("kind")
        if body.get("v") != VERSION:
            raise FormatError(
                f"events of version {VERSION}", f"version {body.get('v')!r}", "Update heliotrope."
            )
        if kind == "asked":
            self._apply_asked(body)
        elif kind == "told":
            self._apply_told(body)
        elif kind == "cancelled":
            self.optimizer.cancel(self._number(body["id"]))
            self._keys.close(body["id"])
        elif kind == "learned":
            self.model = Model.from_json(body["model"])
            self.since = as_number(body["since"], "since") if "since" in body else -np.inf
            if renewing:
                self._renew()
        else:
            raise FormatError("an event that is asked, told, cancelled or learned", repr(kind))
        self.seq += 1

    def _renew(self) -> None:
        self.optimizer.reconsider(self.config.build(self.model), last=_SHOWN, since=self.since)

    def _apply_told(self, body: Mapping[str, Any]) -> None:
        number, value = self._number(body["id"]), as_value(body["value"])
        self.optimizer.tell(number, self.config.sign * value)
        if self.optimizer.history[-1].t < self.since:
            self._renew()  # without what came late
        self._keys.close(body["id"])

    def _apply_asked(self, body: Mapping[str, Any]) -> None:
        if self._id(self.optimizer.asked) != body["id"]:
            raise FormatError(f"ask {self._id(self.optimizer.asked)} next", body["id"])
        begun = self.optimizer.begin(body["place"], body["t"])
        if self.context is not None:
            self.context = self._shown(self.config.adapter.place(begun))["context"]
        if "key" in body:
            self._keys.begin(as_key(body["key"]), body["id"])

    # ---- what can be read

    def ask_of_key(self, key: str) -> Evaluation | None:
        """The open ask that was made with a client's key; ClosedSuggestionError if it is closed."""
        id = self._keys.find(key)
        if id is None:
            return None
        number = self._number(id)
        if not self.optimizer.is_open(number):
            end = "cancelled" if self._value(number) is None else "told"
            raise ClosedSuggestionError(
                "the key of a new or an open ask",
                f"that of a closed one ({id}, {end})",
                "Take a new key for each ask.",
                "key",
            )
        return self.ask_of(next(one for one in self.optimizer.open if one.id == number))

    def ask_of_result(
        self, key: str, place: Place, t: float | None, value: float
    ) -> Evaluation | None:
        """The ask that took this very result by its key; ClosedSuggestionError if another did."""
        id = self._keys.find(key)
        if id is None:
            return None
        told = self.optimizer.history.of(self._number(id))
        known = None if told is None else self._ask_of_told(id, told)
        if known is None or known != Evaluation(
            id, known.t if t is None else t, **self._shown(place)
        ):
            raise ClosedSuggestionError(
                "a new key, or the result that it was first used for",
                f"the key of another ask ({id})",
                "Take a new key for each result.",
                "key",
            )
        self.told(id, value)  # refuses another value
        return known

    @property
    def open(self) -> list[Evaluation]:
        """Asks that wait for their results, oldest first."""
        return [self.ask_of(suggestion) for suggestion in self.optimizer.open]

    def ask_of(self, suggestion: Suggestion) -> Evaluation:
        """A suggestion in the words of the space."""
        place = self.config.adapter.place(suggestion)
        return Evaluation(self._id(suggestion.id), suggestion.t, **self._shown(place))

    def _ask_of_told(self, id: str, told: Observation) -> Evaluation:
        place = told.x if told.index is None else told.index
        return Evaluation(id, told.t, **self.config.adapter.shown(place))

    def _value(self, number: int) -> float | None:
        """The value told for an ask, None if there is none."""
        told = self.optimizer.history.of(number)
        return None if told is None else self.config.sign * told.y

    def _id(self, number: int) -> str:
        return f"{self.uid[:_PREFIX]}-{number}"

    def _number(self, id: str) -> int:
        digits = id.rpartition("-")[2] if isinstance(id, str) else ""
        number = int(digits) if digits.isdecimal() and len(digits) <= _LONGEST else -1
        if not 0 <= number < self.optimizer.asked or id != self._id(number):
            raise UnknownSuggestionError("the id of an ask of this study", repr(id)[:60], "", "id")
        return number

    def _shown(self, place: Place) -> dict[str, Any]:
        return self.config.adapter.shown(place if isinstance(place, int) else np.array(place))

    # ---- snapshots

    def dumps(self) -> bytes:
        """Everything but the config, which the first event has."""
        optimizer, arrays = self.optimizer.parts()
        header = {
            "format": _KIND,
            "version": VERSION,
            "seq": self.seq,
            "model": self.model.to_json(),
            **({} if np.isinf(self.since) else {"since": self.since}),
            **self._keys.to_json(),
            **({} if self.context is None else {"context": self.context}),
            "optimizer": optimizer,
        }
        return archive.pack_flat(header, arrays)

    def loads(self, data: bytes) -> None:
        """Go on from a snapshot of this study; FormatError, and nothing is changed."""
        header, arrays = archive.unpack_flat(data, _KIND, VERSION, "a snapshot")
        with archive.fitting_parts("a snapshot of a study", "one"):
            optimizer = Optimizer.from_parts(header["optimizer"], arrays, "a snapshot")
            model, seq = Model.from_json(header["model"]), as_whole(header["seq"], "seq", least=1)
            keys, since = Keys.from_json(header), float(header.get("since", -np.inf))
        self.optimizer, self.model, self.seq = optimizer, model, seq
        self._keys, self._bare = keys, False
        self.context, self.since = header.get("context"), since
