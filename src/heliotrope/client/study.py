"""A study at a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from heliotrope.client.calls import StudyCalls
from heliotrope.client.reading import ReadsAtService
from heliotrope.client.transport import Calls, Transport
from heliotrope.study.command_fields import Command
from heliotrope.study.everyday import EverydayStudy

if TYPE_CHECKING:
    from heliotrope.study import StudyConfig

T = TypeVar("T")


class AtService:
    """What the studies of both clients share: a study's calls, without a connection."""

    _calls: StudyCalls

    @property
    def name(self) -> str:
        return self._calls.name

    @property
    def uid(self) -> str:
        """The identifier of this study alone, even if a later study gets its name."""
        return self._calls.uid

    @property
    def config(self) -> StudyConfig:
        """The configuration that it was created with."""
        return self._calls.config

    def repeatable(self, command: Command[T]) -> Command[T]:
        """The command for this study alone, with a key that makes it safe to send again."""
        return self._calls.repeatable(command)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class RemoteStudy(AtService, ReadsAtService, EverydayStudy):
    """A study at a service, with the methods, results and errors of :class:`heliotrope.Study`.

    Several threads may share it. It changes this study alone: if another study takes its name
    after a deletion, changes raise UnknownStudyError. Queries use the name.
    """

    def __init__(self, transport: Transport, summary: Mapping[str, Any] | StudyCalls) -> None:
        self._transport = transport
        self._calls = summary if isinstance(summary, StudyCalls) else StudyCalls(summary)

    def do(self, command: Command[T]) -> T:
        return self._run(self._calls.do(command))

    def _run(self, calls: Calls[T]) -> T:
        return self._transport.run(calls)
