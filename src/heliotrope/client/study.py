"""A study at a service."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from heliotrope.client.errors import valid_answer
from heliotrope.client.transport import Transport
from heliotrope.errors import ServiceError
from heliotrope.storage.protocol import Event
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Add, Ask, Evaluation, Tell
from heliotrope.study.verbs import StudyVerbs
from heliotrope.validation import as_number, as_whole

if TYPE_CHECKING:
    from heliotrope.study import StudyConfig
    from heliotrope.study.space_adapter import SpaceAdapter

T = TypeVar("T")
_Keyed = TypeVar("_Keyed", Ask, Add)

_PAGE = 1_000  # events in one answer


class RemoteStudy(StudyVerbs):
    """A study at a service, with the methods, results and errors of :class:`heliotrope.Study`.

    Several threads may share it. It changes this study alone: if another study takes its name
    after a deletion, changes raise UnknownStudyError. Queries use the name.
    """

    def __init__(self, transport: Transport, summary: Mapping[str, Any]) -> None:
        self._transport = transport
        with valid_answer():
            self._name, self._uid = str(summary["name"]), str(summary["uid"])
            self._setup = summary["setup"]
        self._path = f"studies/{self._name}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def uid(self) -> str:
        """The identifier of this study alone, even if a later study gets its name."""
        return self._uid

    @cached_property
    def config(self) -> StudyConfig:
        """The configuration that it was created with."""
        from heliotrope.study import StudyConfig  # slow to load

        with valid_answer():
            return StudyConfig.from_json(self._setup)

    # ---- changing it

    def do(self, command: Command[T]) -> T:
        sent = self.repeatable(command)
        path = f"{self._path}/{sent.verb}"
        answer = self._transport.send("POST", path, sent.to_json()).data()
        with valid_answer():
            return sent.result(answer)

    def delete(self) -> None:
        """Delete the study with all its events."""
        reply = self._transport.send("DELETE", self._path, params={"uid": self._uid})
        if not (reply.status == httpx.codes.NOT_FOUND and reply.doubtful):
            reply.text()

    # ---- reading it

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log, or at most ``limit`` events after event number ``after``."""
        after = as_whole(after, "after", least=0)
        most = inf if limit is None else as_whole(limit, "limit", least=0)
        found: list[Event] = []
        last = after + 1
        while after < last and len(found) < most:
            page, last = self._page(after, int(min(_PAGE, most - len(found))))
            found += page
            after = page[-1].seq if page else last
        return found

    def open_asks(self) -> list[Evaluation]:
        """Open evaluations, oldest first."""
        summary = self.summary()
        with valid_answer():
            return [Evaluation.from_json(entry) for entry in summary["open"]]

    def belief(
        self, t: float | None = None, *, context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The belief at a present, future or past time (default: now), as JSON.

        In a study with contexts it is the belief in one context, by default that of the latest ask.
        """
        time: dict[str, str | float] = {} if t is None else {"t": as_number(t, "t")}
        return self._get("/belief", {**time, **self._context_query(context)})

    def summary(self, *, context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The configuration, the counts, the present best and the drift in words, as JSON.

        In a study with contexts the best is that in one context, by default that of the latest ask.
        """
        return self._get("", self._context_query(context))

    def track(self) -> dict[str, Any]:
        """The results over time with their choices, and the best over time, as JSON."""
        return self._get("/track")

    def export(self, kind: str = "csv") -> str:
        """All evaluations with their results, as CSV or JSON."""
        path = f"{self._path}/export"
        return self._transport.send("GET", path, params={"kind": str(kind)}).text()

    # ---- requests

    @cached_property
    def _spaces(self) -> SpaceAdapter:
        from heliotrope.study.space_adapter import SpaceAdapter  # numpy is slow to load

        with valid_answer():
            return SpaceAdapter.from_json(self._setup)

    def repeatable(self, command: Command[T]) -> Command[T]:
        """The command for this study alone, with a key that makes it safe to send again."""
        result: Any = command
        match command:
            case Ask():
                result = replace(self._keyed(command), uid=self._uid)
            case Tell(ask=Ask()):
                result = replace(command, ask=self._keyed(command.ask))
            case Add():
                self._spaces.place_of(command.chosen, command.context)  # raises InputError
                result = replace(self._keyed(command), uid=self._uid)
        return result  # type: ignore[no-any-return]

    def _keyed(self, command: _Keyed) -> _Keyed:
        key = uuid.uuid4().hex if command.key is None else command.key
        if command.context is None:  # allowed if the key is known
            return replace(command, key=key)
        return replace(command, key=key, context=self._spaces.check_context(command.context))

    def _context_query(self, context: Mapping[str, Any] | None) -> dict[str, str]:
        if context is None:
            return {}
        return {"context": json.dumps(self._spaces.check_context(context))}

    def _get(self, rest: str, params: Mapping[str, str | float] | None = None) -> dict[str, Any]:
        return self._transport.send("GET", f"{self._path}{rest}", params=params).data()

    def _page(self, after: int, limit: int) -> tuple[list[Event], int]:
        """A page of events, and the number of the study's last event."""
        answer = self._get("/events", {"after": after, "limit": limit})
        with valid_answer():
            found, last = [_event(dict(entry)) for entry in answer["events"]], int(answer["last"])
        if any(event.seq <= after for event in found):
            raise ServiceError(f"events after {after}", "earlier ones")
        return found, last


def _event(entry: dict[str, Any]) -> Event:
    return Event(entry.pop("seq"), entry.pop("at"), entry)
