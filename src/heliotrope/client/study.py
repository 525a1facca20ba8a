"""A study at a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from heliotrope.client.calls import StudyCalls
from heliotrope.client.errors import valid_answer
from heliotrope.client.transport import Transport
from heliotrope.storage.protocol import Event
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Evaluation
from heliotrope.study.everyday import EverydayStudy
from heliotrope.study.results import BeliefReport, Front, Summary, Track

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


class RemoteStudy(AtService, EverydayStudy):
    """A study at a service, with the methods, results and errors of :class:`heliotrope.Study`.

    Several threads may share it. It changes this study alone: if another study takes its name
    after a deletion, changes raise UnknownStudyError. Queries use the name.
    """

    def __init__(self, transport: Transport, summary: Mapping[str, Any] | StudyCalls) -> None:
        self._run = transport.run
        self._calls = summary if isinstance(summary, StudyCalls) else StudyCalls(summary)

    # ---- changing it

    def do(self, command: Command[T]) -> T:
        return self._run(self._calls.do(command))

    def delete(self) -> None:
        """Delete the study with all its events."""
        self._run(self._calls.delete())

    # ---- reading it

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log, or at most ``limit`` events after event number ``after``."""
        return self._run(self._calls.events(after, limit))

    def open_asks(self) -> list[Evaluation]:
        """Open evaluations, oldest first."""
        summary = self.summary()
        with valid_answer():
            return [Evaluation.from_json(entry) for entry in summary["open"]]

    def belief(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        metric: str | None = None,
    ) -> BeliefReport:
        """The belief at a present, future or past time (default: now).

        In a study with contexts it is the belief in one context, by default that of the latest ask.
        With several metrics it is that of one ``metric``, by default the objective. With limits,
        ``safe`` says which of the choices shown keep them, and ``limits`` where they lie.
        """
        return self._run(self._calls.belief(t, context, metric))

    def front(self, t: float | None = None, *, context: Mapping[str, Any] | None = None) -> Front:
        """The best trade-offs between several objectives, now or at a later time."""
        return self._run(self._calls.front(t, context))

    def summary(self, *, context: Mapping[str, Any] | None = None) -> Summary:
        """The configuration, the counts, the present best and the drift in words.

        In a study with contexts the best is that in one context, by default that of the latest ask.
        """
        return self._run(self._calls.summary(context))

    def track(self) -> Track:
        """The results over time with their choices, and the best over time."""
        return self._run(self._calls.track())

    def file(self) -> bytes:
        return self._run(self._calls.file())

    def export(self, kind: str = "csv") -> str:
        """All evaluations with their results, as CSV or JSON."""
        return self._run(self._calls.export(kind))
