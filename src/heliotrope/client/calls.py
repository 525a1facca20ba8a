"""The calls of a client, without a connection: what is sent, and how replies are read.

A client with threads and one with asyncio carry out the same calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import httpx

from heliotrope.client.errors import error_from, valid_answer
from heliotrope.client.transport import Call, Calls, as_json
from heliotrope.errors import HeliotropeError, InputError, ServiceError
from heliotrope.storage.protocol import Event, StudyInfo, as_name
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Add, Evaluation, Tell
from heliotrope.study.results import BeliefReport, Front, Summary, Track
from heliotrope.surroundings import REAL
from heliotrope.validation import Json, as_number, as_whole, short_repr

if TYPE_CHECKING:
    from heliotrope.study import StudyConfig
    from heliotrope.study.creation import NewStudy
    from heliotrope.study.space_adapter import SpaceAdapter

T = TypeVar("T")

_EVENTS = 1_000  # in one answer
_STUDIES = 100  # in one answer
_BATCH = 1_000  # commands in one request


def description(new: NewStudy) -> dict[str, Any]:
    """The description of a new study; raises the errors of the service, without a request.

    The studies that it is like are in the service.
    """
    from heliotrope.storage import open_store  # slow to load
    from heliotrope.study import Study, StudyConfig

    config = StudyConfig.of(new)
    Study.create_from(new.name, replace(config, like=()), open_store("memory:"))
    return config.to_json()


def create(name: str, description: Mapping[str, Any], exist_ok: bool) -> Calls[StudyCalls]:
    """Create a study from its description as JSON.

    If the answer to an earlier attempt was lost, and the study now exists with exactly this
    description, it counts as created by the earlier attempt.
    """
    reply = yield Call("POST", "studies", {"name": as_name(name), "seed": 0, **description})
    if reply.status == httpx.codes.CONFLICT and (reply.doubtful or exist_ok):
        from heliotrope.study.config import StudyConfig, check_same, is_same  # slow to load

        existing = yield from open_study(name)
        wanted = StudyConfig.from_json(description)
        if exist_ok:
            check_same(wanted, existing.config)
        if is_same(wanted, existing.config):
            return existing
    return StudyCalls(reply.data())


def open_study(name: str) -> Calls[StudyCalls]:
    """Open an existing study."""
    reply = yield Call("GET", f"studies/{as_name(name)}")
    return StudyCalls(reply.data())


def list_studies() -> Calls[list[StudyInfo]]:
    """All studies, by name."""
    listed: list[StudyInfo] = []
    params: dict[str, str | float] = {"limit": _STUDIES}
    while True:
        page = (yield Call("GET", "studies", params=params)).data()
        with valid_answer():
            listed += [StudyInfo(**entry) for entry in page["studies"]]
            if page["next"] is None:
                return listed
            params["after"] = page["next"]


class Repeatable(Protocol):
    """A study at a service, of either client."""

    @property
    def name(self) -> str: ...

    def repeatable(self, command: Command[T]) -> Command[T]: ...


def batch(items: object, kind: type[Repeatable]) -> Calls[list[Any]]:
    """Carry out commands to studies of a kind; return each result, or its exception."""
    checked = _pairs(items, kind)
    results: list[Any] = [_sendable(*pair) for pair in checked]
    valid = [i for i, result in enumerate(results) if isinstance(result, Command)]
    for start in range(0, len(valid), _BATCH):
        sent = valid[start : start + _BATCH]
        entries = [
            {"study": checked[i][0].name, "verb": results[i].verb, "body": results[i].to_json()}
            for i in sent
        ]
        answer = (yield Call("POST", "batch", {"commands": entries})).data()
        with valid_answer():
            for i, outcome in zip(sent, answer["answers"], strict=True):
                results[i] = _outcome(results[i], outcome)
    return results


def _pairs(items: object, kind: type[Repeatable]) -> list[tuple[Repeatable, Command[Any]]]:
    """Return pairs of a study and a command, or raise an InputError before anything is sent."""
    if not isinstance(items, Iterable):
        raise InputError("pairs of a study and a command", short_repr(items), "", "commands")
    pairs = list(items)
    for i, pair in enumerate(pairs):
        match pair:
            case (study, Command()) if isinstance(study, kind):
                continue
        expected = f"a pair of a study ({kind.__name__}) and a command"
        raise InputError(expected, short_repr(pair), "", f"commands.{i}")
    return pairs


def _sendable(study: Repeatable, command: Command[Any]) -> Command[Any] | HeliotropeError:
    """The command to send, or the error of a command that is refused before."""
    try:
        sent = study.repeatable(command)
        as_json(sent.to_json())
    except HeliotropeError as error:
        return error
    return sent


def _outcome(command: Command[Any], answer: Mapping[str, Any]) -> Any:
    """The result of a command of a batch, or its exception."""
    if answer["status"] == httpx.codes.OK:
        return command.result(answer["answer"])
    return error_from(answer["status"], json.dumps({"error": answer["error"]}).encode())


class StudyCalls:
    """The calls of one study."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        with valid_answer():
            self.name, self.uid = str(summary["name"]), str(summary["uid"])
            self._setup = summary["setup"]
        self._path = f"studies/{self.name}"

    @cached_property
    def config(self) -> StudyConfig:
        from heliotrope.study import StudyConfig  # slow to load

        with valid_answer():
            return StudyConfig.from_json(self._setup)

    def do(self, command: Command[T]) -> Calls[T]:
        sent = self.repeatable(command)
        reply = yield Call("POST", f"{self._path}/{sent.verb}", sent.to_json())
        answer = reply.data()
        with valid_answer():
            return sent.result(answer)

    def delete(self) -> Calls[None]:
        reply = yield Call("DELETE", self._path, params={"uid": self.uid})
        if not (reply.status == httpx.codes.NOT_FOUND and reply.doubtful):
            reply.text()

    def events(self, after: int, limit: int | None) -> Calls[list[Event]]:
        after = as_whole(after, "after", least=0)
        most = inf if limit is None else as_whole(limit, "limit", least=0)
        events: list[Event] = []
        last = after + 1
        while after < last and len(events) < most:
            page, last = yield from self._page(after, int(min(_EVENTS, most - len(events))))
            events += page
            after = page[-1].seq if page else last
        return events

    def open_asks(self) -> Calls[list[Evaluation]]:
        summary = yield from self.summary(None)
        with valid_answer():
            return [Evaluation.from_json(entry) for entry in summary["open"]]

    def belief(
        self, t: float | None, context: Mapping[str, Any] | None, metric: str | None
    ) -> Calls[BeliefReport]:
        named: dict[str, str | float] = {} if metric is None else {"metric": str(metric)}
        query = {**self._query(t, context), **named}
        reply = yield Call("GET", f"{self._path}/belief", params=query)
        return BeliefReport(reply.data())

    def front(self, t: float | None, context: Mapping[str, Any] | None) -> Calls[Front]:
        reply = yield Call("GET", f"{self._path}/front", params=self._query(t, context))
        return Front(reply.data())

    def summary(self, context: Mapping[str, Any] | None) -> Calls[Summary]:
        reply = yield Call("GET", self._path, params=self._context_query(context))
        return Summary(reply.data())

    def track(self) -> Calls[Track]:
        reply = yield Call("GET", f"{self._path}/track")
        return Track(reply.data())

    def file(self) -> Calls[bytes]:
        reply = yield Call("GET", f"{self._path}/file")
        return reply.checked()

    def export(self, kind: str) -> Calls[str]:
        reply = yield Call("GET", f"{self._path}/export", params={"kind": str(kind)})
        return reply.text()

    def repeatable(self, command: Command[T]) -> Command[T]:
        """The command for this study alone, with a key that makes it safe to send again."""
        command.check()
        if isinstance(command, Add):
            self._spaces.place_of(command.chosen, command.context)  # raises InputError
        filled = self._keyed(command)
        if "uid" in vars(command):
            filled["uid"] = self.uid
        if isinstance(command, Tell) and command.ask is not None:
            filled["ask"] = replace(command.ask, **self._keyed(command.ask))
        return replace(command, **filled)

    # ---- private

    @cached_property
    def _spaces(self) -> SpaceAdapter:
        from heliotrope.study.space_adapter import SpaceAdapter  # numpy is slow to load

        with valid_answer():
            return SpaceAdapter.from_json(self._setup)

    def _keyed(self, command: Command[Any]) -> Json:
        """The key of a command that may have one, and its context, if it is given."""
        values, filled = vars(command), dict[str, Any]()
        if "key" in values:
            filled["key"] = REAL.uid() if values["key"] is None else values["key"]
        if values.get("context") is not None:  # it may be missing if the key is known
            filled["context"] = self._spaces.check_context(values["context"])
        return filled

    def _query(self, t: float | None, context: Mapping[str, Any] | None) -> dict[str, str | float]:
        time: dict[str, str | float] = {} if t is None else {"t": as_number(t, "t")}
        return {**time, **self._context_query(context)}

    def _context_query(self, context: Mapping[str, Any] | None) -> dict[str, str]:
        if context is None:
            return {}
        return {"context": json.dumps(self._spaces.check_context(context))}

    def _page(self, after: int, limit: int) -> Calls[tuple[list[Event], int]]:
        """A page of events, and the number of the study's last event."""
        params = {"after": after, "limit": limit}
        answer = (yield Call("GET", f"{self._path}/events", params=params)).data()
        with valid_answer():
            events, last = [_event(dict(entry)) for entry in answer["events"]], int(answer["last"])
        if any(event.seq <= after for event in events):
            raise ServiceError(f"events after {after}", "earlier ones")
        return events, last


def _event(entry: dict[str, Any]) -> Event:
    return Event(entry.pop("seq"), entry.pop("at"), entry)
