"""The studies of a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heliotrope.client import calls
from heliotrope.client.calls import StudyCalls
from heliotrope.client.study import RemoteStudy
from heliotrope.client.transport import Calls, Transport
from heliotrope.storage.protocol import StudyInfo
from heliotrope.study.creating import CreatesAtService

if TYPE_CHECKING:
    from heliotrope.study.command_fields import Command
    from heliotrope.study.creation import NewStudy


class Service(CreatesAtService[RemoteStudy]):
    """The studies of a service; as a context manager it closes its connections at the end."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _create(self, new: NewStudy, exist_ok: bool) -> RemoteStudy:
        return self.create_from(new.name, calls.description(new), exist_ok=exist_ok)

    def create_from(
        self, name: str, description: Mapping[str, Any], *, exist_ok: bool = False
    ) -> RemoteStudy:
        """Create a study from its description as JSON, or with ``exist_ok`` continue it.

        If the answer to an earlier attempt was lost, and the study now exists with exactly this
        description, it counts as created by the earlier attempt.
        """
        return self._study(calls.create(name, description, exist_ok))

    def open(self, name: str) -> RemoteStudy:
        """Open an existing study."""
        return self._study(calls.open_study(name))

    def batch(self, commands: Sequence[tuple[RemoteStudy, Command[Any]]]) -> list[Any]:
        """Carry out commands to many studies, decided together and synced once.

        Returns the result of each, or the exception that it would have raised. Commands are in
        :mod:`heliotrope.study.commands`.
        """
        return self._transport.run(calls.batch(commands, RemoteStudy))

    def studies(self) -> list[StudyInfo]:
        """All studies, by name."""
        return self._transport.run(calls.list_studies())

    def _study(self, made: Calls[StudyCalls]) -> RemoteStudy:
        return RemoteStudy(self._transport, self._transport.run(made))

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
